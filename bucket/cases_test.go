package bucket_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy/proxytest"
)

// TestLocalConformance is the part of the stores' suite that is about one bucket.
func TestLocalConformance(t *testing.T) {
	proxytest.RunBuckets(t, bucket.Nanosecond, func(c bucket.Configuration, clock func() time.Time) bucket.Bucket {
		return bucket.New(c, bucket.WithClock(clock)).Bucket()
	})
}

func TestLocalCases(t *testing.T) {
	t.Run("C27 nothing is made of zero and less", func(t *testing.T) {
		first := time.Unix(0, 0)
		for kind, refill := range map[string]func(int64, time.Duration) bandwidth.Refill{
			"greedy":   bandwidth.Greedy,
			"interval": bandwidth.Interval,
			"aligned":  func(n int64, p time.Duration) bandwidth.Refill { return bandwidth.Aligned(n, p, first) },
		} {
			for _, c := range []struct {
				capacity, tokens int64
				period           time.Duration
				field            string
				value            any
			}{
				{0, 1, time.Second, "capacity", int64(0)},
				{-1, 1, time.Second, "capacity", int64(-1)},
				{math.MinInt64, 1, time.Second, "capacity", int64(math.MinInt64)},
				{1, 0, time.Second, "refill tokens", int64(0)},
				{1, -7, time.Second, "refill tokens", int64(-7)},
				{1, 1, 0, "refill period", time.Duration(0)},
				{1, 1, -time.Second, "refill period", -time.Second},
			} {
				_, err := bandwidth.New(c.capacity, refill(c.tokens, c.period))
				var bad *bucket.ArgumentError
				if !errors.As(err, &bad) || bad.Field != c.field || bad.Value != c.value {
					t.Errorf("%s: capacity %d, %d per %v: %v; want an ArgumentError for the %s", kind, c.capacity, c.tokens, c.period, err, c.field)
				}
			}
		}
	})

	t.Run("C29 a rate above one token a nanosecond is refused", func(t *testing.T) {
		_, err := bandwidth.New(1, bandwidth.Greedy(1_000_000_001, time.Second))
		var bad *bucket.ArgumentError
		if !errors.As(err, &bad) || bad.Field != "refill rate" {
			t.Errorf("got %v, want an ArgumentError for the rate", err)
		}
		if _, err := bandwidth.New(1, bandwidth.Greedy(1_000_000_000, time.Second)); err != nil {
			t.Errorf("one token a nanosecond: %v", err)
		}
	})

	t.Run("C28 a negative count changes nothing", func(t *testing.T) {
		now := time.Unix(0, 0)
		limit := bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Second)))
		l := bucket.New(bucket.MustConfiguration(limit), bucket.WithClock(func() time.Time { return now }))
		l.TryConsume(4)
		for _, n := range []int64{-1, -5, math.MinInt64} {
			if l.TryConsume(n) {
				t.Errorf("TryConsume(%d) is true", n)
			}
			for name, p := range map[string]bucket.Probe{"Consume": l.Consume(n), "Estimate": l.Estimate(n)} {
				if p.Consumed || !p.Never || p.Tokens != 0 {
					t.Errorf("%s(%d): consumed %v, never %v, %d tokens", name, n, p.Consumed, p.Never, p.Tokens)
				}
			}
			if took := l.ConsumeUpTo(n); took != 0 {
				t.Errorf("ConsumeUpTo(%d) took %d", n, took)
			}
			if got := l.Add(n); got != 6 {
				t.Errorf("Add(%d) is %d", n, got)
			}
		}
		if got := l.Available(); got != 6 {
			t.Errorf("has %d of 6", got)
		}
	})

	t.Run("C27 a bucket without a configuration refuses", func(t *testing.T) {
		l := bucket.New(bucket.Configuration{})
		if l.TryConsume(0) || l.TryConsume(1) || l.ConsumeUpTo(1) != 0 || l.Available() != 0 || l.Add(1) != 0 {
			t.Error("it grants something")
		}
		l.Reset()
		if p := l.Consume(1); p.Consumed || !p.Never {
			t.Errorf("Consume: consumed %v, never %v", p.Consumed, p.Never)
		}
		if p := l.Inspect(); p.RemainingTokens != 0 {
			t.Errorf("Inspect: %d tokens", p.RemainingTokens)
		}
	})

	t.Run("both faces are one bucket", func(t *testing.T) {
		now := time.Unix(0, 0)
		limit := bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Second)))
		l := bucket.New(bucket.MustConfiguration(limit), bucket.WithClock(func() time.Time { return now }))
		if p, err := l.Bucket().Consume(t.Context(), 3); err != nil || p.RemainingTokens != l.Available() || l.Available() != 7 {
			t.Errorf("%d and %d remain, %v", p.RemainingTokens, l.Available(), err)
		}
		if took := l.ConsumeUpTo(99); took != 7 {
			t.Errorf("took %d of 7", took)
		}
		if p := l.Estimate(2); p.Wait != 2*time.Second || p.Consumed {
			t.Errorf("Estimate: a wait of %v", p.Wait)
		}
		if got, err := l.Bucket().Add(t.Context(), 4); err != nil || got != 4 || l.Inspect().RemainingTokens != 4 {
			t.Errorf("Add: %d, %v", got, err)
		}
		if got := l.Add(1); got != 5 {
			t.Errorf("Add: %d", got)
		}
		l.Reset()
		if got := l.Available(); got != 10 {
			t.Errorf("after Reset %d", got)
		}
	})
}
