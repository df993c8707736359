package redis_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC49LookingLeavesNoTrace(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		c := newClock()
		m := manage(t, on(t, rdb, mode, redis.WithClientClock(c.now, time.Second)), prefix)
		b := m.Bucket("k", config(t, 10, bandwidth.Greedy(10, 100*time.Second)))
		look := func(want int64) {
			t.Helper()
			wantAvailable(t, b, want)
			for _, cost := range []int64{0, 1, 10, 11} {
				p, err := b.Estimate(t.Context(), cost)
				if err != nil || p.Consumed != (want >= max(cost, 1)) || p.RemainingTokens != want || p.Tokens != 0 {
					t.Fatalf("estimate of %d: %+v, %v; want %d there", cost, p, err, want)
				}
			}
			if p, err := b.Consume(t.Context(), 0); err != nil || p.RemainingTokens != want || p.Consumed != (want > 0) {
				t.Fatalf("take of 0: %+v, %v; want %d there", p, err, want)
			}
			if s, err := b.Inspect(t.Context()); err != nil || s.RemainingTokens != want {
				t.Fatalf("inspect: %+v, %v; want %d there", s, err, want)
			}
		}

		look(10)
		wantAbsent(t, rdb, prefix+"k")

		take(t, b, 10, true)
		c.advance(50 * time.Second)
		was, expiry := rdb.Dump(t.Context(), prefix+"k").Val(), rdb.PExpireTime(t.Context(), prefix+"k").Val()
		for range 125 { // a thousand looks
			look(5)
		}
		if now := rdb.Dump(t.Context(), prefix+"k").Val(); now != was {
			t.Error("the bytes changed")
		}
		if now := rdb.PExpireTime(t.Context(), prefix+"k").Val(); now != expiry {
			t.Error("the time to live changed")
		}
		take(t, b, 6, false)
		take(t, b, 5, true)
	})
}

func TestC50AddingStopsAtCapacity(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		m := on.manager(t, rdb, prefix, mode)
		b := m.Bucket("k", perHour(t, 10))
		take(t, b, 5, true)
		for _, add := range []struct{ n, want int64 }{{0, 5}, {2, 7}, {100, 10}, {100, 10}} {
			if got, err := b.Add(t.Context(), add.n); err != nil || got != add.want {
				t.Errorf("add %d: %d, %v; want %d", add.n, got, err, add.want)
			}
		}
		wantAbsent(t, rdb, prefix+"k") // a full bucket needs no key

		// One bandwidth of two is full, the other is not.
		two := bucket.MustConfiguration(
			bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Hour))),
			bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(1, time.Hour), bandwidth.WithInitialTokens(50))),
		)
		take(t, m.Bucket("two", two), 5, true)
		if got, err := m.Bucket("two", two).Add(t.Context(), 20); err != nil || got != 10 {
			t.Errorf("add 20: %d, %v; want 10", got, err)
		}
		if l := stored(t, rdb, prefix+"two").State.Levels; l[0].Tokens != 10 || l[1].Tokens != 65 {
			t.Errorf("add 20: %d and %d are stored, want 10 and 65", l[0].Tokens, l[1].Tokens)
		}

		most := m.Bucket("most", config(t, math.MaxInt64, bandwidth.Greedy(1, time.Hour)))
		for _, taken := range []int64{0, 1, math.MaxInt64} {
			take(t, most, taken, true)
			if got, err := most.Add(t.Context(), math.MaxInt64); err != nil || got != math.MaxInt64 {
				t.Errorf("add to the greatest less %d: %d, %v", taken, got, err)
			}
		}
	})
}
