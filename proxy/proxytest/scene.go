package proxytest

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// start is when every scene begins: in the middle of a second, an hour and
// whatever else people align to.
var start = time.Date(2026, time.February, 3, 4, 5, 6, 123_456_000, time.UTC)

// clock stands still until it is moved.
type clock struct{ now atomic.Pointer[time.Time] }

func (c *clock) Now() time.Time { return *c.now.Load() }

func (c *clock) set(t time.Time) { c.now.Store(&t) }

// scene is where a test plays: buckets on one clock.
type scene struct {
	*testing.T
	ctx    context.Context
	tick   bucket.Tick
	clock  *clock
	remote bool // calls leave the process, so long loops are cut short
	create func(*testing.T, bucket.Configuration) bucket.Bucket
	heard  *ledger // what happens to tokens, if somebody tells
}

func newScene(t *testing.T, tick bucket.Tick) *scene {
	s := &scene{T: t, ctx: t.Context(), tick: tick, clock: new(clock)}
	s.clock.set(start)
	return s
}

// at moves the clock to an instant of the scene, counted from its start.
func (s *scene) at(d time.Duration) { s.clock.set(start.Add(d)) }

// later moves the clock on.
func (s *scene) later(d time.Duration) { s.clock.set(s.clock.Now().Add(d)) }

// end moves the clock to the last instant that a bucket can tell.
func (s *scene) end() {
	if s.tick == bucket.Nanosecond {
		s.clock.set(time.Unix(0, math.MaxInt64))
	} else {
		s.clock.set(time.UnixMicro(math.MaxInt64))
	}
}

// step is the shortest time that passes.
func (s *scene) step() time.Duration { return s.tick.Duration() }

// ticks rounds a wait up to whole ticks.
func (s *scene) ticks(d time.Duration) time.Duration {
	if part := d % s.step(); part > 0 {
		d += s.step() - part
	}
	return d
}

// either is how often to do something that a round trip would make slow.
func (s *scene) either(local, remote int) int {
	if s.remote {
		return remote
	}
	return local
}

// each runs a part of the test for each kind of refill, n tokens in a period.
func (s *scene) each(n int64, period time.Duration, run func(*scene, bandwidth.Refill)) {
	for _, kind := range []struct {
		name   string
		refill bandwidth.Refill
	}{
		{"greedy", bandwidth.Greedy(n, period)},
		{"interval", bandwidth.Interval(n, period)},
		{"aligned", bandwidth.Aligned(n, period, start)},
	} {
		s.Run(kind.name, func(t *testing.T) {
			part := *s
			part.T = t
			part.at(0)
			run(&part, kind.refill)
		})
	}
}

func limit(capacity int64, refill bandwidth.Refill, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, refill, opts...))
}

func greedy(capacity, tokens int64, period time.Duration, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return limit(capacity, bandwidth.Greedy(tokens, period), opts...)
}

func interval(capacity, tokens int64, period time.Duration, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return limit(capacity, bandwidth.Interval(tokens, period), opts...)
}

// bucket makes a bucket whose answers are checked.
func (s *scene) bucket(bandwidths ...bandwidth.Bandwidth) *checked {
	return s.bucketOf(bucket.MustConfiguration(bandwidths...))
}

func (s *scene) bucketOf(c bucket.Configuration) *checked {
	return &checked{s.create(s.T, c), s}
}
