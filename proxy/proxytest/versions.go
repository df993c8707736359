package proxytest

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

func version(n int64, strategy bucket.Inheritance, bandwidths ...bandwidth.Bandwidth) bucket.Configuration {
	return bucket.Must(of(bandwidths...).WithVersion(n, strategy))
}

// Configurations with versions: the greatest one met is in force.
var versionTests = []storeTest{
	{"C13 a newer version takes over by its strategy", func(s *store) {
		for _, c := range []struct {
			strategy bucket.Inheritance
			left     int64 // of 10
			capacity int64
			want     int64
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
		} {
			s.at(0)
			m := s.manager()
			s.on(m, "key", version(1, bucket.AsIs, interval(10, 1, 15*time.Minute))).takes(10 - c.left)
			b := s.on(m, "key", version(2, c.strategy, interval(c.capacity, 3, 15*time.Minute)))
			b.has(c.want)
			if c.want > 0 {
				b.takes(c.want)
			} else {
				b.refuses(1, 15*time.Minute)
			}
			b.has(0)
			s.at(15 * time.Minute) // and refill follows the new rate
			b.takes(3)
			removes(s, m, "key", true)
		}
	}},
	{"a strategy is applied once", func(s *store) {
		c := changed(s, version(1, bucket.AsIs, greedy(10, 10, 10*time.Second)), version(2, bucket.Reset, greedy(20, 10, 10*time.Second)))
		c.was.takes(10)
		c.is.takes(20)
		c.is.refuses(1, time.Second)
		c.is.refuses(1, time.Second)
	}},
	{"a share is exact", func(s *store) {
		c := changed(s, version(1, bucket.AsIs, greedy(3, 1, time.Second)), version(2, bucket.Proportional, greedy(10, 1, time.Second)))
		c.was.takes(2)
		s.at(400 * time.Millisecond)
		// 1.4 of 3 is 4 and 2/3 of 10.
		p := c.is.refuses(5, 333_333_334*time.Nanosecond)
		if p.RemainingTokens != 4 {
			s.Errorf("1.4 of 3, of 10: %s", told(p))
		}
	}},
	{"reset starts as a new bucket", func(s *store) {
		c := changed(s, version(1, bucket.AsIs, greedy(10, 1, time.Second)), version(2, bucket.Reset, greedy(10, 1, time.Second, bandwidth.WithInitialTokens(7))))
		c.was.takes(10)
		c.is.has(7)
		c.is.takes(7)
		c.is.has(0)
	}},
	{"a newer version may pair bandwidths that moved", func(s *store) {
		c := changed(s,
			version(1, bucket.AsIs, interval(10, 1, time.Second, bandwidth.WithID("s")), interval(500, 1, time.Minute, bandwidth.WithID("m")), interval(10_000, 1, time.Hour, bandwidth.WithID("h"))),
			version(2, bucket.AsIs, interval(300, 1, 24*time.Hour, bandwidth.WithID("d")), interval(20_000, 1, time.Hour, bandwidth.WithID("h"))))
		c.was.takes(8)
		c.is.holds(2, 9_992) // what was available, and what the hour had left
		c.is.takes(2)
		c.is.has(0)
	}},
	{"an older version does not override", func(s *store) {
		current := version(3, bucket.AsIs, greedy(20, 20, 10*time.Second))
		m := s.manager()
		s.on(m, "key", current).takes(5)
		for _, c := range []bucket.Configuration{
			version(2, bucket.Reset, greedy(100, 1, time.Hour)),
			of(greedy(100, 1, time.Hour)),
		} {
			b := s.on(m, "key", c)
			b.has(15)
			if p := b.takes(1); p.RemainingTokens != 14 || !p.Configuration.Equal(current) {
				s.Errorf("an override by version %d: %s under version %d", c.Version(), told(p), p.Configuration.Version())
			}
			b.never(21)
			if got := s.stored(m, "key", true); !got.Equal(current) {
				s.Errorf("version %d has stored itself over version 3", c.Version())
			}
			b.adds(1, 15)
		}
	}},
	{"a first version takes over from none", func(s *store) {
		c := changed(s, of(greedy(10, 10, 10*time.Second)), version(1, bucket.Additive, greedy(30, 10, 10*time.Second)))
		c.was.takes(4)
		c.is.takes(26)
		c.was.refuses(1, time.Second)
	}},
	{"a refusal carries out a newer version", func(s *store) {
		c := changed(s, version(1, bucket.AsIs, greedy(1, 1, 100*time.Second)), version(2, bucket.AsIs, greedy(1, 1, time.Second)))
		c.was.takes(1)
		c.is.refuses(1, time.Second)
		s.at(time.Second)
		c.was.takes(1)
	}},
	{"of one version the stored configuration stays, and an observer hears of it", func(s *store) {
		heard := new(listener)
		m := s.manager(proxy.WithObserver(heard))
		first := version(7, bucket.AsIs, greedy(10, 10, 10*time.Second))
		other := version(7, bucket.Reset, greedy(50, 50, 10*time.Second))
		for _, call := range bucketCalls {
			s.on(m, call.name, first).takes(4)
			heard.kinds()
			b := s.on(m, call.name, other)
			b.ok(call.name, call.do(s.ctx, b, 11))
			if got := heard.kinds(); !slices.Equal(got, []proxy.EventKind{proxy.ConfigurationConflict, proxy.DecisionMade}) {
				s.Errorf("%s: the observer heard %v", call.name, got)
			}
			if got := s.stored(m, call.name, true); !got.Equal(first) {
				s.Errorf("%s: another configuration of the same version is stored now", call.name)
			}
			b.never(18) // which the other one would not refuse for ever
		}
	}},
}
