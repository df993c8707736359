package redis_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// The same is tried with exact times on local buckets. Here the clock is the
// server's and real, so times are only bounded where a slow machine cannot break
// the bound.

// drained is a bucket that was emptied just now.
func drained(t *testing.T, mode redis.Option, c bucket.Configuration, options ...proxy.Option) proxy.Bucket {
	t.Helper()
	rdb, prefix := shared(t)
	b := onClient(t, rdb, prefix, mode, options...).Bucket("k", c)
	take(t, b, c.Bandwidth(0).Capacity(), true)
	return b
}

// Ten an hour: five tokens take half an hour, and an hour behind a wait of five
// that was not given back.
func TestACancelledWaitCostsOthersNothing(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		var heard told
		b := drained(t, mode, config(t, 10, bandwidth.Greedy(10, time.Hour)), proxy.WithListener(&heard))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Wait(ctx, 5) }()
		heard.await(t, 10+5)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled wait: %v", err)
		}
		wantAvailable(t, b, 0)
		r, err := b.Reserve(t.Context(), 5, math.MaxInt64)
		if err != nil || r.RemainingTokens != -5 || r.Wait > 30*time.Minute || r.Wait < 25*time.Minute {
			t.Errorf("the next one: %d left, due in %v, %v", r.RemainingTokens, r.Wait, err)
		}
		if got := heard.gone.Load(); got != 15 {
			t.Errorf("a listener heard of %d tokens gone, want 10 and 5", got)
		}
	})
}

func TestWaitsAreServedWhenTheTokensAreThere(t *testing.T) {
	const waits = 3
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := drained(t, mode, config(t, 10, bandwidth.Greedy(10, time.Second)))
		begun := time.Now()
		before, err := b.Available(t.Context()) // what a slow machine has let grow
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
		defer cancel()
		var wg sync.WaitGroup
		for range waits {
			wg.Go(func() {
				if err := b.Wait(ctx, 5); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// Less a token that was nearly there, and a tenth for clocks at odds.
		due := time.Duration(waits*5-before-1) * time.Second / 10
		if waited := time.Since(begun); waited < due*9/10 {
			t.Errorf("%d times 5 tokens within %v, due in %v", waits, waited, due)
		}
	})
}

func TestReservationsAreDueInOrderOfArrival(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := drained(t, mode, config(t, 10, bandwidth.Greedy(1, time.Hour)))
		for i, due := range []int64{5, 6, 16, 17, 20} { // costs 5, 1, 10, 1, 3: a small one does not overtake
			cost := due - []int64{0, 5, 6, 16, 17}[i]
			longest := time.Duration(due) * time.Hour
			r, err := b.Reserve(t.Context(), cost, longest)
			if err != nil || r.Wait > longest || r.Wait < longest-10*time.Minute {
				t.Fatalf("reservation %d: due in %v, %v; want %v", i, r, err, longest)
			}
		}
		var late *bucket.TooLateError
		if _, err := b.Reserve(t.Context(), 1, 20*time.Hour); !errors.As(err, &late) || late.Wait > 21*time.Hour {
			t.Errorf("one that comes too late: %v", err)
		}
		wantAvailable(t, b, -20)
	})
}

// Ten thousand waiters, one token a second, and two seconds. The first two come
// before the crowd and are served; of the crowd one may be, whose token is due as
// the deadline passes. It stands this under compare-and-swap too, since who is
// refused writes nothing and so loses no swap.
func TestC68ManyWaiters(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		var heard told
		b := crowded(t, mode, config(t, 1, bandwidth.Greedy(1, time.Second)), proxy.WithListener(&heard))
		wantAvailable(t, b, 1) // connected
		defer wantNoneLeft(t, goleak.IgnoreCurrent())

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := b.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		second := make(chan error)
		go func() { second <- b.Wait(t.Context(), 1) }()
		heard.await(t, 2)
		served, _ := crowd(t, ctx, b, 10_000)
		if err := <-second; err != nil || served > 1 {
			t.Errorf("the second waiter: %v; %d of the crowd served", err, served)
		}
	})
}

// One token an hour: whoever has only half of one is told at once.
func TestManyWaitersAreToldAtOnce(t *testing.T) {
	const waiters = 2_000
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := crowded(t, mode, perHour(t, 1))
		take(t, b, 1, true)
		defer wantNoneLeft(t, goleak.IgnoreCurrent())
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if served, tooLate := crowd(t, ctx, b, waiters); served != 0 || tooLate != waiters {
			t.Errorf("%d served and %d too late", served, tooLate)
		}
		wantAvailable(t, b, 0)
	})
}

// crowded is a bucket that waiters ask all at once. Their calls queue for a few
// connections, which takes longer than the timeout of 250 ms that managers have by
// default; those that it meets end as errors of the store, and took nothing.
func crowded(t *testing.T, mode redis.Option, c bucket.Configuration, options ...proxy.Option) proxy.Bucket {
	t.Helper()
	rdb := connect(t, redistest.URL(t), func(o *client.Options) { o.PoolTimeout = 10 * patience })
	options = append(options, proxy.WithTimeout(10*patience))
	return onClient(t, rdb, redistest.Prefix(t), mode, options...).Bucket("k", c)
}

// crowd has many wait for one token each. Who is not served learns it by the
// deadline.
func crowd(t *testing.T, ctx context.Context, b proxy.Bucket, waiters int) (served, tooLate int64) {
	t.Helper()
	var ok, late atomic.Int64
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			switch err := b.Wait(ctx, 1); {
			case err == nil:
				ok.Add(1)
			case errors.Is(err, bucket.ErrTooLate):
				late.Add(1)
			case !errors.Is(err, context.DeadlineExceeded):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Logf("of %d waiters %d served, %d too late, the others met the deadline", waiters, ok.Load(), late.Load())
	return ok.Load(), late.Load()
}

// wantNoneLeft waits until only the goroutines are left that there were.
func wantNoneLeft(t *testing.T, ours goleak.Option) {
	t.Helper()
	var left error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if left = goleak.Find(ours); left == nil {
			return
		}
	}
	t.Error(left)
}

// told adds up the tokens that a listener heard gone.
type told struct{ gone atomic.Int64 }

func (l *told) Tell(_ context.Context, e bucket.Event) {
	switch e.Kind {
	case bucket.Consumed, bucket.Reserved, bucket.Forced:
		l.gone.Add(e.Tokens)
	case bucket.Refunded, bucket.Added:
		l.gone.Add(-e.Tokens)
	}
}

// await returns when so many are gone.
func (l *told) await(t *testing.T, tokens int64) {
	t.Helper()
	for end := time.Now().Add(patience); l.gone.Load() < tokens; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d tokens gone, want %d", l.gone.Load(), tokens)
		}
	}
}
