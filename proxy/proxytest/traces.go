package proxytest

import (
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
)

// What an operation leaves behind under its key.
var traceTests = []storeTest{
	{"C49 looking at a key creates none", func(s *store) {
		m := s.manager()
		for _, c := range []bucket.Configuration{
			bucket.MustConfiguration(greedy(10, 10, 10*time.Second)),
			// A bucket that starts empty is born by what may write, not by a look.
			bucket.MustConfiguration(greedy(10, 10, 10*time.Second, bandwidth.WithInitialTokens(0))),
			bucket.MustConfiguration(aligned(10, 10, time.Hour, start, bandwidth.WithAdaptiveInitialTokens())),
		} {
			b := s.on(m, "key", c)
			initial, adaptive := c.Bandwidth(0).InitialTokens()
			if adaptive {
				s.at(time.Hour - s.step())
				initial = 0
			}
			for range 3 {
				b.has(initial)
				look(s.scene, b)
				if got := b.inspects(); got.Stored || got.RemainingTokens != initial {
					s.Errorf("Inspect: stored %v, %s; want the bucket that a first use creates", got.Stored, told(got.Probe))
				}
				s.stored(m, "key", false)
			}
			s.at(0)
		}
	}},
	{"C28 a refused first call leaves no key", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", bucket.MustConfiguration(greedy(10, 10, 10*time.Second)))
		b.never(11)
		s.stored(m, "key", false)
		b.adds(5, 10)
		s.stored(m, "key", false)
		b.resets()
		s.stored(m, "key", false)
		b.takes(10)
		s.stored(m, "key", true)
	}},
	{"C49 looking at a bucket leaves no trace", func(s *store) {
		m := s.manager()
		c := bucket.MustConfiguration(greedy(10, 10, 10*time.Second), interval(20, 7, 3*time.Second))
		seen, alone := s.on(m, "seen", c), s.on(m, "alone", c)
		for _, b := range []*checked{seen, alone} {
			b.takes(10)
		}
		for range s.either(1000, 100) {
			s.later(1237 * time.Microsecond)
			look(s.scene, seen)
		}
		s.at(5 * time.Second)
		seen.has(5)
		if a, b := told(seen.takes(3)), told(alone.takes(3)); a != b {
			s.Errorf("after many looks\n%s, without\n%s", a, b)
		}
		// What was seen at a later instant is not known at an earlier one.
		look(s.scene, seen)
		s.at(4 * time.Second)
		if a, b := told(seen.inspects().Probe), told(alone.inspects().Probe); a != b {
			s.Errorf("after many looks\n%s, without\n%s", a, b)
		}
	}},
	{"a look converts nothing", func(s *store) {
		m := s.manager()
		was := bucket.MustConfiguration(greedy(10, 10, 10*time.Second))
		next := bucket.MustConfiguration(greedy(4, 4, 10*time.Second))
		s.on(m, "key", was).takes(3)
		look(s.scene, s.on(m, "key", next))
		if got := s.stored(m, "key", true); !got.Equal(was) {
			s.Errorf("a look at a bucket under another configuration has stored that one")
		}
		s.on(m, "key", was).has(7)
	}},
	{"a full bucket needs no key", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", bucket.MustConfiguration(greedy(10, 10, 10*time.Second), interval(10, 1, time.Second)))
		for _, fill := range []func(){func() { b.adds(10, 10) }, b.resets} {
			b.takes(10)
			s.stored(m, "key", true)
			fill()
			if s.factory.InProcess { // clocks of processes may differ: full by one is not full by all
				s.stored(m, "key", false)
			}
			b.has(10)
		}
	}},
	{"a bucket that starts less than full keeps its key", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", bucket.MustConfiguration(greedy(10, 10, 10*time.Second, bandwidth.WithInitialTokens(3))))
		b.takes(1)
		b.resets()
		s.stored(m, "key", true)
		b.has(10)
	}},
	{"C50 credit is remembered for the retention", func(s *store) {
		m := s.manager(proxy.WithExpiration(expiration.Rule{Retention: time.Hour}))
		b := s.on(m, "key", bucket.MustConfiguration(greedy(10, 10, 10*time.Second)))
		b.forceAdds(100, 110)
		s.at(time.Hour - time.Millisecond)
		s.stored(m, "key", true)
		b.has(110)
		if s.factory.InProcess { // elsewhere lives are longer by the skew
			s.at(time.Hour + time.Millisecond)
			s.stored(m, "key", false)
			b.has(10)
		}
	}},
	{"remove forgets", func(s *store) {
		m, other := s.manager(), s.manager()
		c := bucket.MustConfiguration(greedy(10, 10, 10*time.Second))
		b := s.on(m, "key", c)
		removes(s, m, "key", false)
		b.takes(10)
		removes(s, other, "key", true)
		removes(s, m, "key", false)
		s.stored(m, "key", false)
		b.has(10)
		b.takes(10)
		b.has(0)
	}},
	{"configuration tells what is stored", func(s *store) {
		m := s.manager()
		hours := time.Date(2026, time.January, 1, 0, 30, 0, 0, time.UTC)
		c := bucket.Must(bucket.MustConfiguration(
			greedy(120, 100, time.Minute, bandwidth.WithID("burst")),
			interval(1000, 7, 3*time.Hour),
			aligned(5_000_000_000, 1, time.Hour, hours, bandwidth.WithID("hour"), bandwidth.WithInitialTokens(5)),
		).WithVersion(1_767_225_600, bucket.Additive))
		if got := s.stored(m, "key", false); !got.IsZero() {
			s.Errorf("an absent key has the configuration %v", got.Bandwidths())
		}
		s.on(m, "key", c).takes(2)
		got := s.stored(m, "key", true)
		if !got.Equal(c) || got.Version() != c.Version() || got.Len() != 3 {
			s.Fatalf("got version %d, %v; want version %d, %v", got.Version(), got.Bandwidths(), c.Version(), c.Bandwidths())
		}
		for i := range 3 {
			got, want := got.Bandwidth(i), c.Bandwidth(i)
			if got.ID() != want.ID() || got.Capacity() != want.Capacity() || got.Refill().Kind() != want.Refill().Kind() || got.Refill().Phase() != want.Refill().Phase() {
				s.Errorf("bandwidth %d: got %v, want %v", i, got, want)
			}
		}
	}},
}

// look asks a bucket all that must leave no trace.
func look(s *scene, b *checked) {
	s.Helper()
	for _, call := range bucketCalls {
		if call.name == "Reset" || call.name == "Wait" { // which writes, and which sleeps
			continue
		}
		n := int64(0) // a cost or count of 0 changes nothing
		if call.name == "Estimate" {
			n = 1
		}
		b.ok(call.name, call.do(s.ctx, b, n))
	}
}

// removes forgets a key, which must be there or not.
func removes(s *store, m *proxy.Manager, key string, want bool) {
	s.Helper()
	got, err := m.Remove(s.ctx, key)
	if err != nil || got != want {
		s.Fatalf("Remove(%q): %v, %v; want %v", key, got, err, want)
	}
}
