package proxytest

import (
	"math"
	"time"
)

// Numbers as large as they come.
var magnitudeTests = []bucketTest{
	{"C01 a long idle time fills, and no more", func(s *scene) {
		b := s.bucket(greedy(700_000, 700_000, time.Hour))
		b.takes(700_000)
		s.at(12 * time.Hour)
		b.has(700_000)
		b.takes(1)
		s.at(100 * 365 * 24 * time.Hour)
		b.has(700_000)
		b.takes(1)
		s.end()
		b.has(700_000)
		b.takes(1)
	}},
	{"C12 counts above 2^53 are exact", func(s *scene) {
		for _, c := range []struct{ capacity, take int64 }{
			{1<<53 + 1, 1},
			{1_000_000_000_000_000, 1},
			{math.MaxInt64, 1},
			{math.MaxInt64, 1<<53 + 1},
			{math.MaxInt64, math.MaxInt64},
		} {
			s.at(0)
			b := s.bucket(greedy(c.capacity, 1, time.Second))
			if p := b.takes(c.take); p.RemainingTokens != c.capacity-c.take || p.TokensOf(0) != c.capacity-c.take {
				s.Errorf("took %d of %d: %s", c.take, c.capacity, told(p))
			}
			s.at(time.Second)
			b.has(c.capacity - c.take + 1)
		}
	}},
	{"C64 counts above 32 bits", func(s *scene) {
		// The product of count and period has more than 64 bits, which is no
		// reason to refuse it.
		for _, b := range []*checked{
			s.bucket(greedy(5_000_000_000, 5_000_000_000, 5*time.Second)),
			s.bucket(interval(5_000_000_000, 5_000_000_000, 5*time.Second)),
		} {
			s.at(0)
			b.takes(3_000_000_000)
			b.has(2_000_000_000)
			b.takes(2_000_000_000)
			b.refuses(5_000_000_000, 5*time.Second)
			b.never(5_000_000_001)
			s.at(5 * time.Second)
			b.takes(5_000_000_000)
		}
		s.at(0)
		for _, b := range []*checked{
			s.bucket(greedy(50_000_000_000, 1, time.Nanosecond)),
			s.bucket(interval(50_000_000_000, 1_000_000_000, time.Second)),
		} {
			s.at(0)
			b.resets()
			b.takes(50_000_000_000)
			s.at(7 * time.Second)
			b.has(7_000_000_000)
		}
	}},
	{"the fastest rate", func(s *scene) {
		b := s.bucket(greedy(1_000_000, 1, time.Nanosecond))
		b.takes(1_000_000)
		s.at(7 * time.Microsecond)
		b.takes(7000)
		b.refuses(1, time.Nanosecond)
		s.at(time.Millisecond)
		b.has(993_000)
	}},
	{"the slowest rate", func(s *scene) {
		// 292 years. Longer ones pass what a Duration can tell.
		b := s.bucket(greedy(3, 1, math.MaxInt64))
		b.takes(3)
		s.at(100 * 365 * 24 * time.Hour)
		b.has(0)
	}},
	{"a wait that no duration can tell is the longest one, not never", func(s *scene) {
		for _, b := range []*checked{
			s.bucket(greedy(math.MaxInt64, 1, time.Second)),
			s.bucket(interval(math.MaxInt64, 1, time.Second)),
			s.bucket(greedy(2, 1, math.MaxInt64)),
		} {
			held := b.inspects().RemainingTokens
			b.takes(held)
			p, err := b.Consume(s.ctx, held)
			b.ok("Consume", err)
			if p.Consumed || p.Never || p.Wait != math.MaxInt64 || p.TimeToFull != math.MaxInt64 {
				s.Errorf("asked for all of an empty bucket: %s", told(p))
			}
			if seconds, ok := p.RetryAfter(); !ok || seconds != math.MaxInt64/int64(time.Second)+1 {
				s.Errorf("to retry after %d s, %v", seconds, ok)
			}
			b.has(0)
		}
	}},
	{"C50 adding the greatest number", func(s *scene) {
		b := s.bucket(greedy(math.MaxInt64, 1, time.Second), greedy(10, 1, time.Second))
		b.takes(10)
		b.adds(math.MaxInt64, 10)
		b.holds(math.MaxInt64, 10)
		b.adds(math.MaxInt64, 10)
		b.holds(math.MaxInt64, 10)
	}},
}
