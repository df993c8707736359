package bucket_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// Waiting to the nanosecond, in time that passes only when everybody waits.

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

// Blocking waits keep up with the rate, whatever the granularity of timers: who
// sleeps too long finds what has come back meanwhile.
func TestC63WaitsKeepUpWithTheRate(t *testing.T) {
	const filling = 10 * time.Millisecond // of the empty bucket
	b := bucket.New(bucket.MustConfiguration(greedy(200, 20_000, time.Second)))
	var granted, lost int
	begun := time.Now()
	for last := begun; ; granted++ {
		if err := b.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if now.Sub(begun) > 2*time.Second {
			break
		}
		// What comes back while a busy machine stops the caller for longer than
		// that, no bucket of this capacity can hold.
		lost += int(max(0, now.Sub(last)-filling) / (50 * time.Microsecond))
		last = now
	}
	if granted < 38_000-lost || granted > 40_200 {
		t.Errorf("%d granted in 2 s and %d lost to a busy machine, want 38,000 to 40,200", granted, lost)
	}
}

func TestC63WaitsKeepUpOnCoarseTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(200, 20_000, time.Second)))
		granted := 0
		for begun := time.Now(); ; granted++ {
			called := time.Now()
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if slept := time.Since(called); slept > 0 {
				time.Sleep(5*time.Millisecond - slept)
			}
			if time.Since(begun) > 2*time.Second {
				break
			}
		}
		if granted != 40_200 {
			t.Errorf("%d granted in 2 s, want 40,200", granted)
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

func TestWaitUnderAContextAlreadyDoneTakesNothing(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(10, 1, time.Hour)))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(done, 1); !errors.Is(err, context.Canceled) || b.Available() != 10 {
		t.Errorf("got %v, %d left of 10", err, b.Available())
	}
}
