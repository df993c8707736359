package proxytest

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// Arguments and contexts that are no good, and the two extremes.
var argumentTests = []bucketTest{
	{"C28 a negative count is an error", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.takes(4)
		for _, call := range bucketCalls {
			for _, n := range []int64{-1, -5, math.MinInt64} {
				if !call.count {
					continue
				}
				var bad *bucket.ArgumentError
				err := call.do(s.ctx, b, n)
				if !errors.As(err, &bad) || !errors.Is(err, bucket.ErrInvalidArgument) || bad.Field != "tokens" || bad.Value != n {
					s.Errorf("%s(%d): %v; want an ArgumentError for the tokens", call.name, n, err)
				}
			}
		}
		for _, longest := range []time.Duration{-1, math.MinInt64} {
			var bad *bucket.ArgumentError
			if _, err := b.Reserve(s.ctx, 1, longest); !errors.As(err, &bad) || bad.Field != "longest wait" {
				s.Errorf("Reserve within %v: %v; want an ArgumentError for the longest wait", longest, err)
			}
		}
		b.has(6)
	}},
	{"no configuration is an error", func(s *scene) {
		b := s.bucketOf(bucket.Configuration{})
		for _, call := range bucketCalls {
			if err := call.do(s.ctx, b, 1); !errors.Is(err, bucket.ErrInvalidArgument) {
				s.Errorf("%s: %v; want ErrInvalidArgument", call.name, err)
			}
		}
	}},
	{"a context that is done charges nothing", func(s *scene) {
		cancelled, cancel := context.WithCancelCause(s.ctx)
		cancel(errors.New("the caller has left"))
		late, cancelLate := context.WithDeadline(s.ctx, time.Unix(0, 0))
		defer cancelLate()
		for _, c := range []bucket.Configuration{
			bucket.MustConfiguration(greedy(10, 10, 10*time.Second)), bucket.Unlimited(), bucket.DenyAll(),
		} {
			b := s.bucketOf(c)
			before := b.inspects()
			for _, call := range allCalls {
				for _, ctx := range []context.Context{cancelled, late} {
					if err := call.do(ctx, b, 1); err != ctx.Err() {
						s.Errorf("%s: %v; want the context's own %v", call.name, err, ctx.Err())
					}
				}
			}
			if after := b.inspects(); told(after.Probe) != told(before.Probe) || after.Stored != before.Stored {
				s.Errorf("the bucket was\n%s, and is\n%s", told(before.Probe), told(after.Probe))
			}
		}
	}},
	{"a filled bucket stays so when the context is done", func(s *scene) {
		cancelled, cancel := context.WithCancel(s.ctx)
		cancel()
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.takes(6)
		for _, call := range allCalls {
			if err := call.do(cancelled, b, 1); err != context.Canceled {
				s.Errorf("%s: %v; want context.Canceled", call.name, err)
			}
		}
		b.has(4)
	}},
	{"C27 unlimited grants everything", func(s *scene) {
		b := s.bucketOf(bucket.Unlimited())
		for range 3 {
			for _, n := range []int64{0, 1, math.MaxInt64} {
				if p := b.takes(n); p.RemainingTokens != math.MaxInt64 || p.NextToken != 0 || p.TimeToFull != 0 {
					s.Errorf("Consume(%d): %s", n, told(p))
				}
				if p, err := b.ConsumeUpTo(s.ctx, n); err != nil || !p.Consumed || p.Tokens != n {
					s.Errorf("ConsumeUpTo(%d): %s, %v", n, told(p), err)
				}
				if p, err := b.Estimate(s.ctx, n); err != nil || !p.Consumed || p.Tokens != 0 || p.Wait != 0 {
					s.Errorf("Estimate(%d): %s, %v", n, told(p), err)
				}
			}
		}
		b.adds(1, math.MaxInt64)
		b.forces(math.MaxInt64, math.MaxInt64, 0)
		b.forceAdds(1, math.MaxInt64)
		b.cancels(b.reserves(math.MaxInt64, math.MaxInt64, 0), math.MaxInt64)
		b.ok("Wait", b.Wait(s.ctx, math.MaxInt64))
		b.resets()
		b.has(math.MaxInt64)
		if p := b.inspects(); !p.Configuration.IsUnlimited() {
			s.Errorf("the configuration in force is not Unlimited")
		}
	}},
	{"C27 deny all grants nothing", func(s *scene) {
		b := s.bucketOf(bucket.DenyAll())
		for range 2 {
			for _, n := range []int64{0, 1, math.MaxInt64} {
				if p := b.never(n); p.RemainingTokens != 0 || p.NextToken != math.MaxInt64 || p.TimeToFull != math.MaxInt64 {
					s.Errorf("Consume(%d): %s", n, told(p))
				}
				if p, err := b.ConsumeUpTo(s.ctx, n); err != nil || p.Consumed || p.Tokens != 0 || !p.Never {
					s.Errorf("ConsumeUpTo(%d): %s, %v", n, told(p), err)
				}
			}
			b.adds(100, 0)
			b.forceAdds(100, 0)
			if p, err := b.Force(s.ctx, 1); err != nil || p.Consumed || p.Tokens != 0 || !p.Never {
				s.Errorf("Force: %s, %v", told(p), err)
			}
			b.neverThere(1)
			b.resets()
			s.later(1000 * time.Hour)
		}
		if p := b.inspects(); !p.Configuration.IsDenyAll() {
			s.Errorf("the configuration in force is not DenyAll")
		}
	}},
}
