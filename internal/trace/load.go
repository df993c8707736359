package trace

import (
	"math"
	"math/rand/v2"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// load starts the trace from a state in debt or with credit, now and then from
// one a little ahead of the clock, or as far ahead as can be.
func (a *author) load() {
	config := a.pool[0].Configuration
	e := bucket.Entry{Config: config, State: bucket.State{Last: a.now}}
	switch p := a.r.Float64(); {
	case p < 0.2:
		e.State.Last = a.within(plus(a.now, a.r.Int64N(plus(a.start.Lead, 3))))
	case p < 0.3:
		a.now = a.within(math.MinInt64 + logUniform(a.r, math.MaxInt64))
		e.State.Last = a.within(math.MaxInt64 - logUniform(a.r, math.MaxInt64))
		a.start.Now, a.latest = a.now, a.now
	}
	for i, b := range config.Bandwidths() {
		e.State.Levels[i] = randomLevel(a.r, b, a.subject.Tick)
	}
	a.loaded = &e
}

func randomLevel(r *rand.Rand, b bandwidth.Bandwidth, tick bucket.Tick) bucket.Level {
	var l bucket.Level
	switch r.IntN(6) {
	case 0:
		l.Tokens = -logUniform(r, math.MaxInt64)
	case 1, 2:
		l.Tokens = -r.Int64N(b.Capacity()) - 1
	case 3, 4:
		l.Tokens = plus(b.Capacity(), r.Int64N(plus(b.Capacity(), b.Capacity())))
	default:
		l.Tokens = r.Int64N(b.Capacity())
	}
	if l.Tokens >= b.Capacity() {
		return l
	}
	switch refill := b.Refill(); refill.Kind() {
	case bandwidth.KindGreedy:
		_, den := refill.Rate(tick.Duration())
		l.Rem = r.Int64N(den)
	case bandwidth.KindInterval:
		l.Rem = r.Int64N(int64(refill.Period() / tick.Duration()))
	}
	return l
}
