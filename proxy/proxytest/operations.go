package proxytest

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// What each operation does, on a clock that stands still.
var operationTests = []bucketTest{
	{"consume takes all or none", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			if p := b.takes(7); p.RemainingTokens != 3 || p.TokensOf(0) != 3 || p.NextToken != 0 {
				s.Errorf("after 7 of 10: %s", told(p))
			}
			if got := b.tries(4); got != 0 {
				s.Error("TryConsume took 4 of 3")
			}
			b.has(3)
			if p := b.takes(3); p.RemainingTokens != 0 || p.NextToken <= 0 {
				s.Errorf("after the last of 10: %s", told(p))
			}
			if got := b.tries(1); got != 0 {
				s.Error("TryConsume took 1 of 0")
			}
		})
	}},
	{"consume up to takes what is there", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			for _, step := range []struct{ ask, take, remain int64 }{
				{3, 3, 7}, {0, 0, 7}, {math.MaxInt64, 7, 0}, {1, 0, 0}, {0, 0, 0}, {math.MaxInt64, 0, 0},
			} {
				before, err := b.Available(s.ctx)
				b.ok("Available", err)
				p, err := b.ConsumeUpTo(s.ctx, step.ask)
				b.ok("ConsumeUpTo", err)
				refused := before == 0
				if p.Tokens != step.take || p.RemainingTokens != step.remain || p.Consumed == refused || p.Never {
					s.Errorf("ConsumeUpTo(%d) of %d: %s; want to take %d", step.ask, before, told(p), step.take)
				}
				// Any token would have done, so the wait is for the next one.
				if refused && (p.Wait <= 0 || p.Wait != p.NextToken) || !refused && p.Wait != 0 {
					s.Errorf("ConsumeUpTo(%d) of %d: %s", step.ask, before, told(p))
				}
			}
		})
	}},
	{"estimate tells what consume would", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			b.takes(4)
			for _, n := range []int64{0, 1, 6, 7, 10, 11, math.MaxInt64} {
				estimate, err := b.Estimate(s.ctx, n)
				b.ok("Estimate", err)
				want := bucket.Probe{Consumed: n <= 6, Never: n > 10}
				if estimate.Consumed != want.Consumed || estimate.Never != want.Never || estimate.Tokens != 0 || estimate.RemainingTokens != 6 {
					s.Errorf("Estimate(%d) of 6: %s", n, told(estimate))
				}
				if n <= 6 {
					continue
				}
				p, err := b.Consume(s.ctx, n)
				b.ok("Consume", err)
				if told(p) != told(estimate) {
					s.Errorf("Estimate(%d) says\n%s, but Consume\n%s", n, told(estimate), told(p))
				}
			}
			b.has(6)
		})
	}},
	{"cost 0 asks whether a token is there", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			b.takes(0)
			b.has(10)
			b.takes(9)
			b.takes(0)
			b.takes(1)
			next := b.inspects().NextToken
			b.refuses(0, next)
			if next <= 0 {
				s.Errorf("the next token of an empty bucket is due in %v", next)
			}
			if there, err := b.TryConsume(s.ctx, 0); there || err != nil {
				s.Errorf("TryConsume(0) of 0: %v, %v", there, err)
			}
			b.has(0)
		})
	}},
	{"C50 add stops at capacity", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			b.takes(10)
			b.adds(0, 0)
			b.adds(5, 5)
			b.adds(100, 10)
			b.adds(1, 10)
			b.adds(math.MaxInt64, 10)
			b.takes(1)
			b.adds(math.MaxInt64, 10)
			b.takes(10)
			b.adds(10, 10)
		})
	}},
	{"add is for each bandwidth", func(s *scene) {
		b := s.bucket(interval(10, 1, time.Second), interval(4, 1, time.Minute))
		b.takes(4)
		b.adds(2, 2)
		b.holds(8, 2)
		b.adds(3, 4)
		b.holds(10, 4)
	}},
	{"reset fills", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			b.takes(10)
			b.resets()
			b.has(10)
			b.resets()
			b.takes(10)
			b.has(0)
			// Also to a capacity that the bucket did not start with.
			b = s.bucket(limit(10, r, bandwidth.WithInitialTokens(2)))
			b.takes(1)
			b.resets()
			b.has(10)
		})
	}},
	{"inspect tells everything", func(s *scene) {
		c := bucket.MustConfiguration(
			greedy(10, 10, time.Second, bandwidth.WithID("second")),
			interval(20, 5, time.Minute, bandwidth.WithID("minute")),
		)
		b := s.bucketOf(c)
		if p := b.inspects(); p.RemainingTokens != 10 || p.TokensOf(1) != 20 || p.TimeToFull != 0 || p.NextToken != 0 || p.Deciding != 0 {
			s.Errorf("when full: %s", told(p.Probe))
		}
		b.takes(10)
		p := b.inspects()
		if p.Consumed || p.Never || p.Tokens != 0 || p.Wait != 0 {
			s.Errorf("asked nothing: %s", told(p.Probe))
		}
		if p.RemainingTokens != 0 || p.TokensOf(1) != 10 || p.NextToken != 100*time.Millisecond || p.TimeToFull != 2*time.Minute {
			s.Errorf("after 10 tokens: %s", told(p.Probe))
		}
		if !p.Configuration.Equal(c) || p.Configuration.Bandwidth(1).ID() != "minute" {
			s.Errorf("the configuration in force is %v, want the declared one", p.Configuration.Bandwidths())
		}
	}},
	{"a bucket starts with its initial tokens", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			for _, initial := range []int64{0, 3, 10} {
				b := s.bucket(limit(10, r, bandwidth.WithInitialTokens(initial)))
				b.has(initial)
				if initial > 0 {
					b.takes(initial)
				}
				b.has(0)
			}
		})
	}},
	{"a refusal is a first use too", func(s *scene) {
		// A bucket that starts empty is refilled from its first refusal on; else
		// nobody would ever be served.
		s.each(5, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(5, r, bandwidth.WithInitialTokens(0)))
			p, err := b.Consume(s.ctx, 1)
			b.ok("Consume", err)
			s.later(p.Wait)
			b.takes(1)
		})
	}},
}
