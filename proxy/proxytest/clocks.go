package proxytest

import (
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// Clocks that step, and that go back.
var clockTests = []bucketTest{
	{"C34 time goes on across a second", func(s *scene) {
		s.clock.set(time.Unix(1_700_000_000, 999_000))
		b := s.bucket(greedy(10_000_000, 1, time.Microsecond))
		b.takes(10_000_000)
		b.has(0)
		s.clock.set(time.Unix(1_700_000_000, 1_000_000))
		b.has(1)
		s.clock.set(time.Unix(1_700_000_001, 5_000))
		b.has(999_006)
	}},
	{"time goes on across 1970", func(s *scene) {
		epoch := time.Unix(0, 0)
		s.clock.set(epoch.Add(-1500 * time.Millisecond))
		a, b := s.bucket(greedy(10, 1, time.Second)), s.bucket(interval(10, 1, time.Second))
		a.takes(10)
		b.takes(10)
		s.clock.set(epoch)
		a.takes(1)
		a.refuses(1, 500*time.Millisecond)
		b.takes(1)
		b.refuses(1, 500*time.Millisecond)
		s.clock.set(epoch.Add(500 * time.Millisecond))
		a.takes(1)
		b.takes(1)
	}},
	{"C52 a clock set back", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		s.at(100 * time.Second)
		b.takes(10)
		s.at(40 * time.Second)
		if p := b.refuses(1, 61*time.Second); p.RemainingTokens != 0 || p.TimeToFull != 70*time.Second {
			s.Errorf("60 s before: %s", told(p))
		}
		s.at(100 * time.Second)
		b.refuses(1, time.Second)
		s.at(101 * time.Second)
		b.has(1)
		s.at(110 * time.Second)
		b.has(10)
	}},
	{"C52 a take does not move a bucket back", func(s *scene) {
		for _, limit := range []*checked{
			s.bucket(greedy(10, 10, 10*time.Second)),
			s.bucket(interval(10, 1, time.Second)),
			s.bucket(aligned(10, 1, time.Second, start)),
		} {
			s.at(100 * time.Second)
			limit.takes(5)
			s.at(40 * time.Second)
			limit.takes(5)
			limit.refuses(1, 61*time.Second)
			s.at(70 * time.Second)
			limit.refuses(1, 31*time.Second)
			s.at(102 * time.Second)
			limit.has(2)
		}
	}},
	{"a look leaves no trace of its instant", func(s *scene) {
		s.each(5, 5*time.Second, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			b.takes(10)
			s.at(5 * time.Second)
			b.has(5)
			b.inspects()
			b.takes(0)
			b.adds(0, 5)
			for _, look := range []func() (bucket.Probe, error){
				func() (bucket.Probe, error) { return b.Estimate(s.ctx, 5) },
				func() (bucket.Probe, error) { return b.ConsumeUpTo(s.ctx, 0) },
			} {
				if p, err := look(); err != nil || !p.Consumed || p.Tokens != 0 || p.RemainingTokens != 5 {
					s.Errorf("at 5 s: %s, %v", told(p), err)
				}
			}
			s.at(time.Second)
			b.has(map[bandwidth.Kind]int64{bandwidth.KindGreedy: 1}[r.Kind()])
		})
	}},
	{"nor does a refusal", func(s *scene) {
		b := s.bucket(greedy(10, 10, 10*time.Second))
		b.takes(10)
		s.at(5 * time.Second)
		b.refuses(6, time.Second)
		s.at(2 * time.Second)
		b.takes(2)
		s.at(3 * time.Second)
		b.takes(1)
		b.refuses(1, time.Second)
	}},
	{"C12 instants closer than a tick", func(s *scene) {
		// One token a microsecond; a call each 100 ns. A coarser clock rounds
		// the instants down and grants as many.
		b := s.bucket(greedy(1, 1, time.Microsecond))
		calls := s.either(10_000, 2_000)
		var taken int64
		for range calls {
			taken += b.tries(1)
			s.later(100 * time.Nanosecond)
		}
		if want := int64(calls / 10); taken != want {
			s.Errorf("took %d in %d calls, want %d", taken, calls, want)
		}
	}},
}
