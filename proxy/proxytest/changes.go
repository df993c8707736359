package proxytest

import (
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// change is a key that is used under one configuration and then under another.
type change struct {
	*store
	was, is *checked
}

// changed makes the two buckets of a new key, as two processes have them before
// and after a deploy.
func changed(s *store, was, is bucket.Configuration) change {
	return change{s, s.on(s.manager(), "key", was), s.on(s.manager(), "key", is)}
}

func of(bandwidths ...bandwidth.Bandwidth) bucket.Configuration {
	return bucket.MustConfiguration(bandwidths...)
}

// Changes between configurations without versions: what a caller declares is in
// force at once, on the tokens as they are, and hands out none.
var changeTests = []storeTest{
	{"C13 a declared limit is in force at once", func(s *store) {
		c := changed(s, of(greedy(1000, 5, 15*time.Minute)), of(greedy(10, 5, 15*time.Minute)))
		c.was.takes(1)
		c.is.has(10)
		c.is.never(12)
		c.is.takes(10)
		c.is.refuses(1, 3*time.Minute)
	}},
	{"C13 a raised limit hands out nothing", func(s *store) {
		// The case would have 90 by the additive strategy and 100 by reset. Those
		// are for versions and for Replace, which somebody asked for.
		c := changed(s, of(greedy(10, 10, 10*time.Second)), of(greedy(100, 100, 10*time.Second)))
		c.was.takes(10)
		c.is.has(0)
		c.is.refuses(1, 100*time.Millisecond)
		s.at(time.Second)
		c.is.takes(10)
		s.at(11 * time.Second)
		c.is.has(100)
	}},
	{"C46 a lowered limit cuts what is there", func(s *store) {
		c := changed(s, of(greedy(5, 5, 5*time.Millisecond)), of(greedy(2, 2, 5*time.Millisecond)))
		c.was.takes(1)
		s.at(time.Millisecond)
		c.is.has(2)
		c.is.takes(0)
		s.at(20 * time.Millisecond)
		for range 100 {
			c.is.takes(2)
			s.later(5 * time.Millisecond)
			c.is.has(2)
			s.later(20 * time.Millisecond)
			c.is.has(2)
		}
	}},
	{"the time that has passed is settled at the old rate", func(s *store) {
		c := changed(s, of(greedy(10, 1, time.Second)), of(greedy(10, 1, 10*time.Second)))
		c.was.takes(10)
		s.at(5 * time.Second)
		c.is.has(5)
		c.is.takes(1)
		s.at(15 * time.Second)
		c.is.takes(5)
		c.is.refuses(1, 10*time.Second)
	}},
	{"a part of a token stays a part of a token", func(s *store) {
		c := changed(s, of(greedy(10, 1, 10*time.Second)), of(greedy(10, 1, 100*time.Second)))
		c.was.takes(10)
		s.at(7 * time.Second)
		c.is.refuses(1, 30*time.Second)
		s.at(37 * time.Second)
		c.is.takes(1)
	}},
	{"a refusal carries out a change", func(s *store) {
		// If it did not, a drained bucket would be settled at the old, slow rate
		// by each call and nobody would ever be served.
		c := changed(s, of(greedy(1, 1, 100*time.Second)), of(greedy(1, 1, time.Second)))
		c.was.takes(1)
		s.at(time.Second)
		p := c.is.refuses(1, 990*time.Millisecond)
		s.later(p.Wait)
		c.is.takes(1)
	}},
	{"an interval keeps its phase as far as the new period is long", func(s *store) {
		c := changed(s, of(interval(10, 10, 10*time.Second)), of(interval(10, 10, 20*time.Second)))
		c.was.takes(10)
		s.at(9 * time.Second)
		c.is.refuses(1, 11*time.Second)
		c.was.refuses(1, time.Second) // back again
		s.at(10 * time.Second)
		c.was.takes(10)
		s.at(19 * time.Second)
		s.on(s.manager(), "key", of(interval(10, 10, 5*time.Second))).refuses(1, s.step())
	}},
	{"another kind of refill starts a new period", func(s *store) {
		c := changed(s, of(greedy(10, 1, 10*time.Second)), of(interval(10, 1, 10*time.Second)))
		c.was.takes(10)
		s.at(9 * time.Second)
		c.is.refuses(1, 10*time.Second)
		s.at(12 * time.Second)
		c.was.refuses(1, 10*time.Second)
	}},
	{"an aligned limit keeps its own grid", func(s *store) {
		c := changed(s, of(greedy(10, 1, 10*time.Second)), of(aligned(10, 10, time.Minute, start.Add(25*time.Second))))
		c.was.takes(10)
		s.at(9 * time.Second)
		c.is.refuses(1, 16*time.Second)
	}},
	{"bandwidths are paired by id", func(s *store) {
		minute, hour := bandwidth.WithID("minute"), bandwidth.WithID("hour")
		c := changed(s,
			of(interval(10, 10, time.Minute, minute), interval(100, 100, time.Hour, hour)),
			of(interval(200, 200, time.Hour, hour), interval(20, 20, time.Minute, minute)))
		c.was.takes(7)
		c.is.holds(93, 3)
		c.is.takes(1)
		c.was.holds(2, 92)
	}},
	{"unnamed bandwidths are paired by position", func(s *store) {
		c := changed(s,
			of(interval(10, 10, time.Minute), interval(50, 50, time.Hour, bandwidth.WithID("hour")), interval(100, 100, 24*time.Hour)),
			of(interval(50, 50, time.Hour, bandwidth.WithID("hour")), interval(20, 20, time.Minute), interval(200, 200, 24*time.Hour)))
		c.was.takes(7)
		c.is.holds(43, 3, 93)
	}},
	{"a new bandwidth starts with what was available", func(s *store) {
		c := changed(s, of(greedy(100, 1, time.Second)), of(
			greedy(100, 1, time.Second), interval(50, 1, time.Hour, bandwidth.WithID("new")), interval(5, 1, time.Hour),
			interval(60, 1, time.Hour, bandwidth.WithID("poor"), bandwidth.WithInitialTokens(2)),
		))
		c.was.takes(80)
		c.is.holds(20, 20, 5, 2)
	}},
	{"leaving out a bandwidth hands out nothing", func(s *store) {
		day, burst := bandwidth.WithID("day"), bandwidth.WithID("burst")
		c := changed(s, of(interval(100, 100, 24*time.Hour, day), greedy(10, 10, 10*time.Second, burst)), of(interval(100, 100, 24*time.Hour, day)))
		c.was.takes(7)
		c.is.has(3)
		c.is.takes(3)
		c.is.refuses(1, 24*time.Hour)
	}},
	{"initial tokens are for new buckets", func(s *store) {
		c := changed(s, of(greedy(10, 1, 10*time.Second)), of(greedy(10, 1, 10*time.Second, bandwidth.WithInitialTokens(5))))
		c.was.takes(10)
		c.is.has(0)
		s.at(7 * time.Second)
		c.is.refuses(1, 3*time.Second)
	}},
	{"a rate written differently is no change", func(s *store) {
		c := changed(s, of(greedy(10, 100, time.Minute)), of(greedy(10, 5, 3*time.Second)))
		c.was.takes(10)
		s.at(time.Second)
		c.is.takes(1)
		c.is.refuses(1, 200*time.Millisecond)
		c.was.refuses(1, 200*time.Millisecond)
	}},
	{"configurations that take turns lose and gain nothing", func(s *store) {
		// Two releases side by side, as in a rolling deploy.
		c := changed(s, of(greedy(10, 10, 10*time.Second)), of(greedy(20, 10, 10*time.Second)))
		c.was.takes(10)
		var taken int64
		for i := range 300 {
			s.later(100 * time.Millisecond)
			taken += []*checked{c.was, c.is}[i%2].tries(1)
		}
		if taken != 30 {
			s.Errorf("took %d in 30 s at 1 a second, want 30", taken)
		}
	}},
}
