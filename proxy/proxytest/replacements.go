package proxytest

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// Configurations put in force by Replace. Each has a version, so that it stays in
// force although the bucket of a store was made with another one.
var replacementTests = []bucketTest{
	{"C13 replace takes over by the strategy", func(s *scene) {
		for _, c := range []struct {
			strategy             bucket.Inheritance
			left, capacity, want int64
		}{
			{bucket.AsIs, 0, 100, 0},
			{bucket.Proportional, 0, 100, 0},
			{bucket.Additive, 0, 100, 90},
			{bucket.Reset, 0, 100, 100},
			{bucket.AsIs, 6, 100, 6},
			{bucket.Proportional, 6, 100, 60},
			{bucket.Additive, 6, 100, 96},
			{bucket.Reset, 6, 100, 100},
			{bucket.AsIs, 6, 4, 4},
			{bucket.Proportional, 6, 4, 2},
			{bucket.Additive, 6, 4, 4},
			{bucket.Reset, 6, 4, 4},
			{bucket.AsIs, -3, 100, -3},
			{bucket.Proportional, -3, 100, -30},
			{bucket.Additive, -3, 100, 87},
			{bucket.Reset, -3, 100, 100},
			{bucket.AsIs, 15, 12, 12},
			{bucket.AsIs, 15, 100, 15},
		} {
			s.at(0)
			b := s.bucket(interval(10, 1, 15*time.Minute))
			b.forceAdds(10, 20)
			if _, err := b.Force(s.ctx, 20-c.left); err != nil {
				s.Fatal(err)
			}
			b.replaces(version(1, bucket.AsIs, interval(c.capacity, 3, 15*time.Minute)), c.strategy)
			b.has(c.want)
			if p := b.inspects(); p.Configuration.Bandwidth(0).Capacity() != c.capacity {
				s.Errorf("in force is %v", p.Configuration.Bandwidths())
			}
			s.at(15 * time.Minute) // and refill follows the new rate
			b.has(min(c.want+3, c.capacity))
		}
	}},
	{"C47 whatever the strategy, the new limit is what is granted", func(s *scene) {
		for _, strategy := range []bucket.Inheritance{bucket.AsIs, bucket.Proportional, bucket.Additive, bucket.Reset} {
			for _, refill := range []func(int64, time.Duration) bandwidth.Refill{
				bandwidth.Greedy, bandwidth.Interval,
				func(n int64, d time.Duration) bandwidth.Refill { return bandwidth.Aligned(n, d, start) },
			} {
				s.at(0)
				b := s.bucket(limit(5, refill(5, time.Minute)))
				b.takes(5)
				b.replaces(version(1, bucket.AsIs, limit(10, refill(10, time.Minute))), strategy)
				s.at(61 * time.Second)
				b.takes(10)
				if got := b.tries(1); got != 0 {
					s.Errorf("strategy %d, %v: granted an 11th", strategy, refill(10, time.Minute))
				}
			}
		}
	}},
	{"C47 the number of bandwidths may change, and ids pair them", func(s *scene) {
		id := bandwidth.WithID
		three := []bandwidth.Bandwidth{
			greedy(10, 10, time.Second, id("second")), greedy(500, 500, time.Minute, id("minute")), greedy(10_000, 10_000, time.Hour, id("hour")),
		}
		day, hour := greedy(300, 300, 24*time.Hour, id("day")), three[2]
		b := s.bucket(three...)
		b.takes(7)
		b.replaces(version(1, bucket.AsIs, day), bucket.AsIs)
		b.holds(3) // one without a partner has no more than was available
		b.replaces(version(2, bucket.AsIs, three...), bucket.AsIs)
		b.holds(3, 3, 3)

		b = s.bucket(three...)
		b.takes(7)
		b.replaces(version(1, bucket.AsIs, day, hour), bucket.AsIs)
		b.holds(3, 9_993)
		b.replaces(version(2, bucket.AsIs, three...), bucket.AsIs)
		b.holds(3, 3, 9_993)
		b.replaces(version(3, bucket.AsIs, hour), bucket.AsIs)
		b.has(9_993) // somebody said so, hence it may hand out tokens
	}},
	{"a replaced configuration was in force until now", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Second))
		b.takes(10)
		s.at(5500 * time.Millisecond)
		b.replaces(version(1, bucket.AsIs, greedy(10, 1, 10*time.Second)), bucket.AsIs)
		b.has(5)
		b.refuses(6, 5*time.Second) // half a token is still half a token
	}},
	{"replacing by the same configuration applies the strategy", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Second))
		c := version(1, bucket.AsIs, greedy(20, 1, time.Second, bandwidth.WithInitialTokens(7)))
		b.takes(10)
		b.replaces(c, bucket.AsIs)
		b.has(0)
		b.replaces(c, bucket.Additive) // it grows by nothing
		b.has(0)
		for range 2 {
			b.replaces(c, bucket.Reset)
			b.has(7)
			b.takes(7)
		}
	}},
	{"a newer version, or another configuration of its version, is not replaced", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Second))
		current := version(3, bucket.AsIs, greedy(20, 1, time.Second))
		b.replaces(current, bucket.Reset)
		b.takes(5)
		for _, c := range []bucket.Configuration{
			version(2, bucket.Reset, greedy(100, 1, time.Second)),
			version(3, bucket.Reset, greedy(100, 1, time.Second)),
			of(greedy(100, 1, time.Second)),
		} {
			if err := b.Replace(s.ctx, c, bucket.Reset); err != bucket.ErrOlderConfiguration {
				s.Errorf("Replace by version %d: %v; want ErrOlderConfiguration", c.Version(), err)
			}
			if p := b.inspects(); p.RemainingTokens != 15 || !p.Configuration.Equal(current) {
				s.Errorf("%s, under version %d", told(p.Probe), p.Configuration.Version())
			}
		}
	}},
	{"a reservation outlives a replacement and gains nothing by it", func(s *scene) {
		for _, c := range []struct {
			strategy              bucket.Inheritance
			capacity, then, after int64 // available when replaced, and when cancelled
		}{
			{bucket.AsIs, 3, 3, 3},
			{bucket.AsIs, 100, 4, 10},
			{bucket.Reset, 3, 3, 3},
			{bucket.Reset, 100, 100, 100},
			{bucket.Additive, 100, 94, 100},
			{bucket.Proportional, 5, 2, 5},
		} {
			b := s.bucket(greedy(10, 1, time.Hour))
			r := b.reserves(6, 4, 0)
			b.replaces(version(1, bucket.AsIs, greedy(c.capacity, 1, time.Hour)), c.strategy)
			b.has(c.then)
			b.cancels(r, c.after)
			b.cancels(r, c.after)
		}
	}},
	{"replace without a configuration or with an unknown strategy is an error", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Hour))
		b.takes(4)
		if err := b.Replace(s.ctx, bucket.Configuration{}, bucket.AsIs); !errors.Is(err, bucket.ErrInvalidArgument) {
			s.Errorf("no configuration: %v; want ErrInvalidArgument", err)
		}
		var bad *bucket.ArgumentError
		if err := b.Replace(s.ctx, of(greedy(20, 1, time.Hour)), bucket.Reset+1); !errors.As(err, &bad) || bad.Field != "inheritance" {
			s.Errorf("an unknown strategy: %v; want an ArgumentError for the inheritance", err)
		}
		cancelled, cancel := context.WithCancel(s.ctx)
		cancel()
		if err := b.Replace(cancelled, of(greedy(20, 1, time.Hour)), bucket.Reset); err != context.Canceled {
			s.Errorf("a context that is done: %v; want its own error", err)
		}
		b.has(6)
	}},
}

// Keys whose configuration is replaced.
var replacedTests = []storeTest{
	{"what was put in force is remembered, full or not", func(s *store) {
		m := s.manager()
		small, great := of(greedy(10, 10, time.Second)), of(greedy(100, 100, time.Second))
		s.on(m, "key", small).replaces(great, bucket.Reset)
		if got := s.stored(m, "key", true); !got.Equal(great) {
			s.Errorf("stored is %v", got.Bandwidths())
		}
		// It is in force where stored configurations are, and gives way to
		// another one that a caller declares.
		rules := s.on(s.manager(proxy.WithStoredRules()), "key", small)
		rules.takes(100)
		rules.resets()
		s.on(m, "key", small).has(10)
		s.on(m, "key", small).takes(1)
		if got := s.stored(m, "key", true); !got.Equal(small) {
			s.Errorf("stored is %v", got.Bandwidths())
		}
	}},
	{"a bucket with a supplier goes on under what was put in force", func(s *store) {
		f := supplier{config: of(greedy(10, 10, time.Second))}
		m := s.manager()
		b := &checked{m.BucketFunc("key", f.supply), s.scene}
		b.takes(4)
		b.replaces(of(greedy(20, 20, time.Second)), bucket.Additive)
		b.has(16)
		b.takes(16)
		if f.asked != 1 {
			s.Errorf("the supplier was asked %d times", f.asked)
		}
		b = &checked{m.BucketFunc("absent", f.supply), s.scene}
		b.replaces(of(greedy(20, 20, time.Second)), bucket.AsIs)
		b.takes(20)
		if f.asked != 1 {
			s.Errorf("the supplier was asked %d times", f.asked)
		}
	}},
	{"what has no stored form replaces nothing", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", of(greedy(10, 10, 10*time.Second)))
		b.takes(4)
		for _, c := range []bucket.Configuration{bucket.Unlimited(), bucket.DenyAll()} {
			var bad *bucket.ArgumentError
			if err := b.Replace(s.ctx, c, bucket.Reset); !errors.As(err, &bad) || bad.Field != "configuration" {
				s.Errorf("%v; want an ArgumentError for the configuration", err)
			}
		}
		b.has(6)
	}},
}
