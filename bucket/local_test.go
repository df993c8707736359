package bucket_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

func TestLocalAllocatesNothing(t *testing.T) {
	for name, c := range map[string]bucket.Configuration{
		"one bandwidth":   bucket.MustConfiguration(greedy(1000, 1000, time.Second)),
		"four bandwidths": bucket.MustConfiguration(greedy(1000, 1000, time.Second), interval(9, 9, time.Hour), aligned(5, 5, time.Hour), greedy(7, 1, time.Hour)),
	} {
		b := bucket.New(c)
		if n := testing.AllocsPerRun(1000, func() {
			b.TryConsume(1)
			b.Consume(1)
			b.Estimate(5)
			b.Available()
			b.Add(1)
			b.ConsumeUpTo(2)
			b.Force(1)
			b.ForceAdd(1)
			b.Reset()
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestTryConsumeAllocatesNothing(t *testing.T) {
	for kind, b := range map[string]bandwidth.Bandwidth{
		"greedy": greedy(500, 1000, time.Second), "odd": greedy(1<<50, 1<<40+1, time.Hour), "interval": interval(500, 7, time.Millisecond), "aligned": aligned(500, 7, time.Millisecond),
	} {
		var all []bandwidth.Bandwidth
		for n := 1; n <= bucket.MaxBandwidths; n++ {
			all = append(all, b)
			l := bucket.New(bucket.MustConfiguration(all...))
			if allocs := testing.AllocsPerRun(1000, func() { l.TryConsume(1) }); allocs != 0 {
				t.Errorf("%d %s: %v allocations", n, kind, allocs)
			}
		}
	}
}

func TestLocalGrantsNoMoreThanThereIs(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(1000, 1, 24*time.Hour), interval(1500, 1, 24*time.Hour)))
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if b.TryConsume(1) {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if granted.Load() != 1000 || b.Available() != 0 {
		t.Errorf("granted %d of 1000, %d left", granted.Load(), b.Available())
	}
}

func TestLocalBucketOfNoConfigurationRefuses(t *testing.T) {
	b := bucket.New(bucket.Configuration{})
	if b.TryConsume(1) || b.TryConsume(0) || b.ConsumeUpTo(5) != 0 || b.Available() != 0 || b.Add(5) != 0 {
		t.Error("a bucket without a configuration gave something")
	}
	b.Reset()
	if _, err := b.Bucket().Consume(t.Context(), 1); !errors.Is(err, bucket.ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
}

func TestLocalBucketReportsBadInput(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(10, 1, time.Hour)))
	if b.TryConsume(-1) || b.TryConsume(math.MinInt64) || b.Add(-5) != 10 || b.ConsumeUpTo(-1) != 0 {
		t.Error("a negative count did something")
	}
	if p := b.Consume(-1); p.Consumed || !p.Never {
		t.Errorf("got %+v", p)
	}
	i := b.Bucket()
	for name, err := range map[string]error{
		"TryConsume":  last(i.TryConsume(t.Context(), -1)),
		"Consume":     last(i.Consume(t.Context(), math.MinInt64)),
		"ConsumeUpTo": last(i.ConsumeUpTo(t.Context(), -1)),
		"Estimate":    last(i.Estimate(t.Context(), -1)),
		"Add":         last(i.Add(t.Context(), -1)),
	} {
		var arg *bucket.ArgumentError
		if !errors.As(err, &arg) || arg.Field != "tokens" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := i.TryConsume(done, 1); err != context.Canceled {
		t.Errorf("a context that is done: %v", err)
	}
	if b.Available() != 10 {
		t.Errorf("%d left of 10", b.Available())
	}
}

func last[T any](_ T, err error) error { return err }

func TestLocalClockOutsideInt64(t *testing.T) {
	now := time.Unix(0, 0)
	b := bucket.New(bucket.MustConfiguration(greedy(3, 1, time.Hour)), bucket.WithClock(func() time.Time { return now }))
	b.TryConsume(3)
	for _, now = range []time.Time{{}, time.Unix(math.MaxInt64/2, 0)} {
		b.Consume(1)
	}
	if got := b.Available(); got != 2 {
		t.Errorf("%d available at the end of time, want 2", got)
	}
}

func TestExtremesKeepNoState(t *testing.T) {
	free, shut := bucket.New(bucket.Unlimited()), bucket.New(bucket.DenyAll())
	if p := free.Consume(math.MaxInt64); !p.Consumed || p.Tokens != math.MaxInt64 || p.RemainingTokens != math.MaxInt64 || p.Never {
		t.Errorf("unlimited: %+v", p)
	}
	if p := shut.Consume(1); p.Consumed || !p.Never || p.Wait != math.MaxInt64 || p.RemainingTokens != 0 {
		t.Errorf("deny all: %+v", p)
	}
	if _, ok := shut.Estimate(0).RetryAfter(); ok {
		t.Error("deny all promised a retry")
	}
}

func TestMoreThanFourBandwidths(t *testing.T) {
	var limits []bandwidth.Bandwidth
	for i := range int64(bucket.MaxBandwidths) {
		limits = append(limits, greedy(20-i, 1, time.Hour))
	}
	p := bucket.New(bucket.MustConfiguration(limits...)).Consume(3)
	for i := range int64(bucket.MaxBandwidths) {
		if got := p.TokensOf(int(i)); got != 17-i {
			t.Errorf("bandwidth %d has %d, want %d", i, got, 17-i)
		}
	}
	if p.Deciding != 7 || p.RemainingTokens != 10 {
		t.Errorf("got %+v", p)
	}
}

func TestRetryAfter(t *testing.T) {
	for wait, want := range map[time.Duration]int64{
		1: 1, 200 * time.Millisecond: 1, 999 * time.Millisecond: 1, time.Second: 1,
		1000100 * time.Microsecond: 2, 1900 * time.Millisecond: 2, math.MaxInt64: 9223372037,
	} {
		if got, ok := (&bucket.Probe{Wait: wait}).RetryAfter(); got != want || !ok {
			t.Errorf("a wait of %v: got %d, %v, want %d", wait, got, ok, want)
		}
	}
	for name, p := range map[string]bucket.Probe{
		"consumed": {Consumed: true}, "never": {Never: true, Wait: math.MaxInt64}, "no cost": {},
	} {
		if got, ok := p.RetryAfter(); ok || got != 0 {
			t.Errorf("%s: got %d, %v", name, got, ok)
		}
	}
}

// The two extremes have no stored form, but a local bucket needs none.
func TestReplaceByTheExtremes(t *testing.T) {
	b := bucket.New(bucket.MustConfiguration(greedy(10, 10, time.Hour)))
	b.TryConsume(4)
	i := b.Bucket()
	if err := i.Replace(t.Context(), bucket.DenyAll(), bucket.AsIs); err != nil || b.TryConsume(1) {
		t.Errorf("deny all: %v", err)
	}
	if err := i.Replace(t.Context(), bucket.Unlimited(), bucket.AsIs); err != nil || !b.TryConsume(1000) {
		t.Errorf("unlimited: %v", err)
	}
	big := bucket.MustConfiguration(greedy(100, 10, time.Hour))
	if err := i.Replace(t.Context(), big, bucket.AsIs); err != nil || b.Available() != 100 {
		t.Errorf("and back: %v, %d left", err, b.Available())
	}
}
