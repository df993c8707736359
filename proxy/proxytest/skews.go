package proxytest

import (
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
)

// fast is the manager of a process whose clock is ahead, and of one whose clock
// is right.
func fast(s *store, ahead time.Duration) (wrong, right *proxy.Manager) {
	s.Helper()
	if s.factory.InProcess {
		s.Skip("buckets in a process have one clock")
	}
	// Keys must not be forgotten by the store's own clock, which does not wait
	// for the test's.
	keep := proxy.WithExpiration(expiration.TimeToFull(time.Hour))
	clock := func() time.Time { return s.clock.Now().Add(ahead) }
	wrong = s.managerOf(s.factory.Open(s.T, Clock{clock, usualSkew}), keep)
	right = s.managerOf(s.factory.Open(s.T, Clock{s.clock.Now, usualSkew}), keep)
	return wrong, right
}

// Clocks of processes that differ by more than they may.
var skewTests = []storeTest{
	{"C53 a fast clock delays others by the skew", func(s *store) {
		for _, refill := range []bandwidth.Refill{
			bandwidth.Greedy(10, 10*time.Second), bandwidth.Interval(1, time.Second), bandwidth.Aligned(1, time.Second, start),
		} {
			s.at(0)
			wrong, right := fast(s, time.Hour)
			c := of(limit(10, refill))
			s.on(wrong, "key", c).takes(10)
			b := s.on(right, "key", c)
			// The instant of the last take is believed to be a skew ahead.
			p := b.refuses(1, usualSkew+time.Second)
			s.later(p.Wait)
			b.takes(1)
			s.later(9 * time.Second)
			b.takes(9)
			removes(s, right, "key", true)
		}
	}},
	{"C53 a grant sets the clock right", func(s *store) {
		wrong, right := fast(s, time.Hour)
		c := of(greedy(10, 10, 10*time.Second))
		s.on(wrong, "key", c).takes(5)
		b := s.on(right, "key", c)
		b.takes(5)
		b.refuses(1, usualSkew+time.Second)
		s.at(20 * time.Second)
		b.has(10)
	}},
	{"C53 what is added to stays so", func(s *store) {
		wrong, right := fast(s, time.Hour)
		c := version(1, bucket.AsIs, greedy(10, 10, 10*time.Second))
		s.on(wrong, "key", c).takes(10)
		b := s.on(right, "key", c)
		b.adds(3, 3)
		b.takes(3)
		s.at(2 * time.Second)
		b.takes(1)
	}},
	{"a clock that is within the skew is believed", func(s *store) {
		wrong, right := fast(s, usualSkew/2)
		c := of(greedy(10, 10, 10*time.Second))
		s.on(wrong, "key", c).takes(10)
		b := s.on(right, "key", c)
		b.refuses(1, time.Second+usualSkew/2)
		s.at(time.Second)
		b.refuses(1, usualSkew/2)
		s.at(time.Second + usualSkew/2)
		b.takes(1)
	}},
}
