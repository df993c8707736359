package redis_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Twenty callers want one of five tokens while a trip is under way, so that most
// of them share the next one.
func TestC61SharedTripsAreExact(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		server := redistest.Start(t)
		rdb := connect(t, server.URL())
		var heard ear
		m := manage(t, on(t, rdb, mode), "", proxy.WithObserver(&heard))
		b := m.Bucket("k", perHour(t, 5))
		wantAvailable(t, b, 5) // the client is connected
		server.Pause()
		var granted, refused atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				switch ok, err := b.TryConsume(t.Context(), 1); {
				case err != nil:
					t.Error(err)
				case ok:
					granted.Add(1)
				default:
					refused.Add(1)
				}
			})
		}
		time.Sleep(50 * time.Millisecond) // for them to come; it is exact anyway
		server.Resume()
		wg.Wait()
		if granted.Load() != 5 || refused.Load() != 15 {
			t.Errorf("%d granted and %d refused, want 5 and 15", granted.Load(), refused.Load())
		}
		shared := 0
		for _, e := range heard.events {
			if e.Kind == proxy.DecisionMade && e.Result.Source == bucket.SourceCoalesced {
				shared++
			}
		}
		t.Logf("%d of 20 shared a trip", shared)
		wantAvailable(t, b, 0)
	})
}

// A hundred callers leave while the server is silent. That is no failure of the
// store: no policy answers, and the breaker stays closed.
func TestC78CancellationIsNoFailure(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		server := redistest.Start(t)
		rdb := connect(t, server.URL())
		var heard ear
		backend := proxy.FallBack(on(t, rdb, mode), memory.New(), proxy.WithBreaker(1, time.Hour))
		m := manage(t, backend, "", proxy.WithObserver(&heard))
		b := m.Bucket("k", perHour(t, 1000))
		take(t, b, 1, true)
		heard.forget()
		server.Pause()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := b.TryConsume(ctx, 1); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		time.AfterFunc(50*time.Millisecond, cancel)
		wg.Wait()
		server.Resume()
		for _, e := range heard.events {
			if e.Kind != proxy.StoreFailed || !errors.Is(e.Err, context.Canceled) {
				t.Errorf("heard %v, %v", e.Kind, e.Err)
			}
		}
		p, err := b.Estimate(t.Context(), 1)
		if err != nil || p.Source == bucket.SourceFallback {
			t.Errorf("after that: %v, %v; want an answer of the server", p.Source, err)
		}
		// What was sent before its caller left may be charged, and nothing twice.
		if left := p.RemainingTokens; left < 899 || left > 999 {
			t.Errorf("%d left of 1,000", left)
		}
	})
}
