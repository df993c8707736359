package bucket_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

func TestC60ReservationSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(interval(5, 5, 5*time.Second)))
		for i, want := range []struct {
			left int64
			due  time.Duration
		}{{2, 0}, {-1, 5 * time.Second}, {-4, 5 * time.Second}, {-7, 10 * time.Second}} {
			r, err := b.Reserve(3, math.MaxInt64)
			if err != nil || r.RemainingTokens != want.left || r.Wait != want.due || r.Delay() != want.due {
				t.Fatalf("caller %d: %d left, due in %v, %v; want %d and %v", i, r.RemainingTokens, r.Wait, err, want.left, want.due)
			}
		}
		late := bucket.New(bucket.MustConfiguration(interval(5, 5, 5*time.Second)))
		for i := range 4 {
			_, err := late.Reserve(3, 4*time.Second)
			var tooLate *bucket.TooLateError
			if i > 0 && (!errors.As(err, &tooLate) || tooLate.Wait != 5*time.Second || late.Available() != 2) {
				t.Errorf("caller %d: %v, %d left", i, err, late.Available())
			}
		}
	})
}

func TestC20WaitKnowsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(1, 1, 10*time.Second)))
		b.TryConsume(1)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := b.Wait(ctx, 1)
		if !errors.Is(err, bucket.ErrTooLate) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 0 {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		if err := b.Wait(t.Context(), 1); err != nil || time.Since(begun) != 10*time.Second {
			t.Errorf("got %v after %v, want 10s", err, time.Since(begun))
		}
	})
}

func TestC21C76WaitingForWhatCanNeverBe(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(3, 3, 2*time.Second)))
	for _, longest := range []time.Duration{0, time.Hour, math.MaxInt64} {
		if _, err := b.Reserve(4, longest); !errors.Is(err, bucket.ErrNever) {
			t.Errorf("a longest wait of %v: %v", longest, err)
		}
	}
	if err := b.Wait(t.Context(), 4); !errors.Is(err, bucket.ErrNever) || b.Available() != 3 {
		t.Errorf("got %v, %d left", err, b.Available())
	}
	slow := bucket.New(bucket.MustConfiguration(greedy(1, 1, 200*365*24*time.Hour)))
	slow.TryConsume(1)
	if p := slow.Consume(1); p.Never || p.Wait <= 199*365*24*time.Hour || p.Wait > 200*365*24*time.Hour {
		t.Errorf("200 years are told as %v, never %v", p.Wait, p.Never)
	}
}

func TestACancelledWaitCostsOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(10, 10, time.Second)))
		b.TryConsume(10)
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.Wait(ctx, 5); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled one: %v", err)
			}
		})
		time.Sleep(100 * time.Millisecond)
		cancel()
		synctest.Wait()
		if err := b.Wait(t.Context(), 5); err != nil || time.Since(begun) != 500*time.Millisecond {
			t.Errorf("the next one: %v after %v, want 500ms", err, time.Since(begun))
		}
		wg.Wait()
	})
}

// The bubble ends only when no goroutine is left.
func TestC68ManyWaiters(t *testing.T) {
	const waiters = 10_000
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(1, 1, time.Second)))
		begun := time.Now()
		var served, tooLate atomic.Int64
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				err := b.Wait(ctx, 1)
				switch {
				case err == nil:
					served.Add(1)
				case errors.Is(err, bucket.ErrTooLate) && time.Since(begun) == 0: // at once
					tooLate.Add(1)
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// One now, one after a second; the third is due just as its deadline passes.
		if n := served.Load(); n < 2 || n > 3 || tooLate.Load() != waiters-3 || time.Since(begun) > 2*time.Second {
			t.Errorf("%d served and %d too late within %v", n, tooLate.Load(), time.Since(begun))
		}
	})
}

func TestWaitersAreServedInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(10, 10, time.Second)))
		b.TryConsume(10)
		begun := time.Now()
		costs := []int64{5, 1, 10, 1, 3} // a small cost does not overtake a large one
		due := []time.Duration{500, 600, 1600, 1700, 2000}
		var wg sync.WaitGroup
		for i, n := range costs {
			wg.Go(func() {
				err := b.Wait(t.Context(), n)
				if waited := time.Since(begun); err != nil || waited != due[i]*time.Millisecond {
					t.Errorf("waiter %d: %v after %v, want %v", i, err, waited, due[i]*time.Millisecond)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(1, 1, time.Second)), bucket.WithMaxWaiters(2))
		b.TryConsume(1)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := b.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := b.Wait(t.Context(), 1); !errors.Is(err, bucket.ErrTooManyWaiters) {
			t.Errorf("the third waiter: %v", err)
		}
		wg.Wait()
		if err := b.Wait(t.Context(), 1); err != nil {
			t.Errorf("after the others: %v", err)
		}
	})
}

func TestC73NoSlackAfterIdling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(1, 1, time.Second)))
		b.TryConsume(1)
		time.Sleep(2 * time.Second)
		begun := time.Now()
		for i := range 23 {
			if err := b.Wait(t.Context(), 1); err != nil || time.Since(begun) != time.Duration(i)*time.Second {
				t.Fatalf("take %d: %v after %v", i, err, time.Since(begun))
			}
		}
	})
}

func TestSettle(t *testing.T) {
	for _, tc := range []struct {
		used, left int64
	}{{0, 10}, {2, 8}, {4, 6}, {9, 1}, {14, -4}} {
		b := bucket.New(bucket.MustConfiguration(greedy(10, 1, time.Hour)))
		r, err := b.Reserve(4, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second changes nothing
			if err := r.Settle(t.Context(), tc.used); err != nil {
				t.Error(err)
			}
		}
		if err := r.Cancel(t.Context()); err != nil || b.Available() != tc.left {
			t.Errorf("used %d of 4 reserved: %d left, want %d; %v", tc.used, b.Available(), tc.left, err)
		}
		if err := r.Settle(t.Context(), -1); !errors.Is(err, bucket.ErrInvalidArgument) {
			t.Errorf("a negative use: %v", err)
		}
	}
}

func TestC48CancelNeverLiftsAboveCapacity(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(10, 1, time.Hour)))
	r, err := b.Reserve(5, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Cancel(done); err != nil || b.Available() != 10 {
		t.Errorf("after a reset: %v, %d left", err, b.Available())
	}
}

func TestC50Credit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(10, 10, time.Second)))
		if got := b.ForceAdd(100); got != 110 {
			t.Errorf("%d, want 110", got)
		}
		time.Sleep(time.Minute)
		if b.Available() != 110 || b.Add(5) != 110 || !b.TryConsume(105) || b.Available() != 5 {
			t.Errorf("%d left", b.Available())
		}
		for range 2 {
			if got := b.ForceAdd(math.MaxInt64); got != math.MaxInt64 {
				t.Errorf("credit ends at %d", got)
			}
		}
	})
}

func TestForceGoesIntoDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(10, 10, time.Second)))
		if p := b.Force(25); !p.Consumed || p.RemainingTokens != -15 || p.Wait != 1500*time.Millisecond {
			t.Errorf("got %+v", p)
		}
		if n := b.ConsumeUpTo(5); n != 0 {
			t.Errorf("took %d out of a debt", n)
		}
		if _, err := b.Bucket().Force(t.Context(), math.MaxInt64-100); err != nil {
			t.Error(err)
		}
		before := b.Available()
		if _, err := b.Bucket().Force(t.Context(), math.MaxInt64); !errors.Is(err, bucket.ErrInvalidArgument) || b.Available() != before {
			t.Errorf("a debt beyond int64: %v, %d left of %d", err, b.Available(), before)
		}
	})
}

func TestReplaceALocalBucket(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(10, 10, time.Hour)))
	b.TryConsume(4)
	i := b.Bucket()
	big := bucket.MustConfiguration(greedy(100, 10, time.Hour))
	v2, v1 := bucket.Must(big.WithVersion(2, bucket.AsIs)), bucket.Must(big.WithVersion(1, bucket.AsIs))
	if err := i.Replace(t.Context(), big, bucket.Proportional); err != nil || b.Available() != 60 {
		t.Errorf("proportional: %v, %d left", err, b.Available())
	}
	if err := i.Replace(t.Context(), v2, bucket.Reset); err != nil || b.Available() != 100 {
		t.Errorf("reset: %v, %d left", err, b.Available())
	}
	if err := i.Replace(t.Context(), v1, bucket.Reset); !errors.Is(err, bucket.ErrOlderConfiguration) {
		t.Errorf("an older version: %v", err)
	}
	if err := i.Replace(t.Context(), bucket.DenyAll(), bucket.AsIs); err != nil || b.TryConsume(1) {
		t.Errorf("deny all: %v", err)
	}
	if err := i.Replace(t.Context(), big, bucket.AsIs); err != nil || b.Available() != 100 {
		t.Errorf("and back: %v, %d left", err, b.Available())
	}
	if err := i.Replace(t.Context(), bucket.Configuration{}, bucket.AsIs); !errors.Is(err, bucket.ErrInvalidArgument) {
		t.Errorf("no configuration: %v", err)
	}
}

func TestWaitUnderAContextAlreadyDoneTakesNothing(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(10, 1, time.Hour)))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(done, 1); !errors.Is(err, context.Canceled) || b.Available() != 10 {
		t.Errorf("got %v, %d left of 10", err, b.Available())
	}
}

func TestListenerHearsThatDenyAllRefusesForce(t *testing.T) {
	var heard ledger
	b := bucket.New(bucket.DenyAll(), bucket.WithListener(&heard))
	b.Force(7)
	b.TryConsume(7)
	if heard.gone != 0 || heard.kinds[bucket.Refused] != 2 {
		t.Errorf("%d told gone, events %v", heard.gone, heard.kinds)
	}
}

// ledger adds up what a listener hears.
type ledger struct {
	mu    sync.Mutex
	gone  int64
	kinds map[bucket.EventKind]int
}

func (l *ledger) Tell(_ context.Context, e bucket.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = map[bucket.EventKind]int{}
	}
	l.kinds[e.Kind]++
	switch e.Kind {
	case bucket.Consumed, bucket.Reserved, bucket.Forced:
		l.gone += e.Tokens
	case bucket.Refunded, bucket.Added:
		l.gone -= e.Tokens
	}
}

func TestC59ListenerHearsEachTokenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard ledger
		b := bucket.New(bucket.MustConfiguration(greedy(100, 1, 1000*time.Hour)), bucket.WithListener(&heard))
		b.TryConsume(10)
		b.ConsumeUpTo(5)
		b.TryConsume(1000)
		b.TryConsume(0)
		b.Estimate(5)
		b.Force(7)
		b.Add(2)
		for _, used := range []int64{0, 3, 9} {
			r, err := b.Reserve(6, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Settle(t.Context(), used); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Wait(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
		if left := b.Available(); heard.gone != 100-left {
			t.Errorf("%d told gone, %d left of 100", heard.gone, left)
		}
		for kind, want := range map[bucket.EventKind]int{
			bucket.Consumed: 2, bucket.Refused: 1, bucket.Forced: 2, bucket.Added: 1, bucket.Reserved: 4,
			bucket.Refunded: 2, bucket.Cancelled: 1, bucket.Settled: 2, bucket.Waited: 1,
		} {
			if heard.kinds[kind] != want {
				t.Errorf("%v told %d times, want %d", kind, heard.kinds[kind], want)
			}
		}
	})
}
