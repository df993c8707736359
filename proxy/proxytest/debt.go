package proxytest

import (
	"errors"
	"math"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// Tokens that are taken whether they are there or not.
var debtTests = []bucketTest{
	{"force goes into debt and tells when it is repaid", func(s *scene) {
		s.each(5, 5*time.Second, func(s *scene, r bandwidth.Refill) {
			// Greedy repays as time goes on, the others at the boundaries.
			after := func(greedy, boundary time.Duration) time.Duration {
				if r.Kind() == bandwidth.KindGreedy {
					return greedy
				}
				return boundary
			}
			b := s.bucket(limit(10, r))
			b.forces(4, 6, 0)
			b.forces(6, 0, 0)
			b.forces(0, 0, 0)
			b.forces(10, -10, 10*time.Second)
			b.refuses(1, after(11*time.Second, 15*time.Second))
			s.at(5 * time.Second)
			b.has(-5)
			b.forces(1, -6, after(6*time.Second, 10*time.Second))
			s.at(10 * time.Second)
			b.has(-1)
			s.at(15 * time.Second)
			b.takes(4)
			b.has(0)
		})
	}},
	{"nothing is there while in debt", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.forces(25, -15, 15*time.Second)
		for _, n := range []int64{0, 5, math.MaxInt64} {
			p, err := b.ConsumeUpTo(s.ctx, n)
			b.ok("ConsumeUpTo", err)
			if p.Consumed || p.Tokens != 0 || p.RemainingTokens != -15 || p.Wait != 16*time.Second || p.Never {
				s.Errorf("ConsumeUpTo(%d) of -15: %s", n, told(p))
			}
		}
		b.refuses(0, 16*time.Second)
		b.refuses(10, 25*time.Second)
		b.never(11)
		b.adds(5, -10)
		b.adds(100, 10)
		b.forces(11, -1, time.Second)
		b.resets()
		b.has(10)
	}},
	{"force takes from every bandwidth", func(s *scene) {
		b := s.bucket(greedy(10, 10, time.Second), interval(4, 2, time.Minute))
		b.forces(7, -3, 2*time.Minute)
		b.holds(3, -3)
		if p := b.forces(5, -8, 4*time.Minute); p.Deciding != 1 || p.NextToken != 5*time.Minute {
			s.Errorf("in debt by the second: %s", told(p))
		}
		b.holds(-2, -8)
	}},
	{"a debt beyond int64 is an error and changes nothing", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Hour))
		for _, n := range []int64{math.MaxInt64, 11} { // down to the least number
			if _, err := b.Force(s.ctx, n); err != nil {
				s.Fatalf("Force(%d): %v", n, err)
			}
		}
		before := b.inspects()
		if before.RemainingTokens != math.MinInt64 {
			s.Errorf("after a debt as great as can be: %s", told(before.Probe))
		}
		for _, n := range []int64{1, math.MaxInt64} {
			var bad *bucket.ArgumentError
			if _, err := b.Force(s.ctx, n); !errors.As(err, &bad) || bad.Field != "tokens" || bad.Value != n {
				s.Errorf("Force(%d) beyond int64: %v; want an ArgumentError for the tokens", n, err)
			}
		}
		if after := b.inspects(); told(after.Probe) != told(before.Probe) {
			s.Errorf("the bucket was\n%s, and is\n%s", told(before.Probe), told(after.Probe))
		}
	}},
}

// Tokens above the capacity.
var creditTests = []bucketTest{
	{"C50 credit is kept and does not grow", func(s *scene) {
		s.each(10, 10*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			b.forceAdds(100, 110)
			s.at(time.Minute)
			b.has(110)
			b.adds(5, 110)
			b.forceAdds(0, 110)
			full := 10 * time.Second
			if r.Kind() == bandwidth.KindGreedy {
				full = 5 * time.Second
			}
			if p := b.takes(105); p.RemainingTokens != 5 || p.TimeToFull != full {
				s.Errorf("took 105 of 110: %s", told(p))
			}
			s.at(70 * time.Second)
			b.has(10)
		})
	}},
	{"C50 credit makes costs above the capacity possible", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.never(11)
		b.forceAdds(10, 20)
		b.never(21)
		b.reserves(11, 9, 0)
		b.never(11)
		b.forceAdds(6, 15)
		if p := b.takes(15); p.RemainingTokens != 0 {
			s.Errorf("took 15 of 15: %s", told(p))
		}
	}},
	{"C50 forced additions go on from what is there", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.takes(8)
		s.at(500 * time.Millisecond)
		b.forceAdds(3, 5)
		b.refuses(6, 500*time.Millisecond)
		b.forces(20, -15, 14500*time.Millisecond)
		b.forceAdds(40, 25) // from debt to above the capacity
		s.at(time.Hour)
		b.takes(25)
		b.refuses(1, time.Second)
	}},
	{"C50 credit ends where int64 does", func(s *scene) {
		b := s.bucket(greedy(10, 10, time.Second), greedy(math.MaxInt64, 1, time.Second))
		for range 2 {
			b.forceAdds(math.MaxInt64, math.MaxInt64)
			b.holds(math.MaxInt64, math.MaxInt64)
		}
		b.takes(math.MaxInt64)
		b.holds(0, 0)
	}},
	{"reset takes credit away", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.forceAdds(7, 17)
		b.resets()
		b.has(10)
	}},
}
