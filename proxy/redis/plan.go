package redis

import (
	"math/bits"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// plan is what the scripts need of a configuration, worked out once.
type plan struct {
	take  *Script // the short script, nil for too many bandwidths,
	takes *Script // and the same for several takes at once
	bare  bool    // a full bucket says no more than an absent key does
	exact bool    // all that follows from the configuration fits a double
	bytes string  // what stored buckets begin with
	birth string  // how a new bucket's bytes go on; empty: only Go can make one
	given bool    // the short script is given birth

	// overruled tells that a stored configuration has been met that rules over
	// this one, as in every process of the old release while a new one is rolled
	// out. The short script would hand over each of those calls, so the general
	// one takes its place.
	overruled atomic.Bool
}

// isShort tells whether the short script is for a charge under the plan's
// configuration.
func (p *plan) isShort(c *proxy.Charge) bool {
	return c.Op.Kind == bucket.OpConsume && !c.Op.ReadOnly() && !c.StoredRules && p.take != nil && !p.overruled.Load()
}

// retention is how much longer a state lives that is remembered even when it is
// full, in microseconds: 0 if it is not.
func (p *plan) retention(r expiration.Rule) string {
	if p.bare {
		return "0"
	}
	return decimal(r.RetentionMicros())
}

// least is the version from which on a stored configuration rules over a
// declared one.
func least(declared bucket.Configuration) int64 { return max(declared.Version(), 1) }

// mostUnrolled is up to how many bandwidths the short script is written out.
const mostUnrolled = 3

// plans remembers the plans of the configurations in use. A program that makes
// a configuration for each call loses the benefit, not its memory.
type plans struct {
	mu sync.RWMutex
	m  map[bucket.Configuration]*plan
}

const mostPlans = 1024

func (p *plans) of(c bucket.Configuration, clientClock bool) *plan {
	p.mu.RLock()
	known := p.m[c]
	p.mu.RUnlock()
	if known != nil {
		return known
	}
	made := newPlan(c, clientClock)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil || len(p.m) >= mostPlans {
		p.m = map[bucket.Configuration]*plan{}
	}
	p.m[c] = made
	return made
}

func newPlan(c bucket.Configuration, clientClock bool) *plan {
	p := &plan{exact: true, bytes: codec.Prefix(c), bare: c.Version() == 0 && c.StartsFull()}
	starts := startsGiven
	if c.StartsFull() {
		starts = startsFull
	}
	newborn := bucket.Entry{Config: c}
	for i, b := range c.Bandwidths() {
		tokens, adapts := b.InitialTokens()
		newborn.State.Levels[i].Tokens = tokens
		if adapts {
			starts = startsInGo
		}
		p.exact = p.exact && fitsDouble(b)
	}
	if starts != startsInGo {
		p.birth = string(codec.AppendState(nil, newborn))
	}
	if c.Len() <= mostUnrolled {
		s := shape{file: "take.lua", clientClock: clientClock, versioned: c.Version() > 0, start: starts, bandwidths: letters(c)}
		p.take = s.script()
		s.runs = true
		p.takes = s.script()
	}
	p.given = starts == startsGiven
	return p
}

// Lua's numbers are doubles, which hold integers exactly up to 2^53.
const (
	exactDouble   = 1 << 53
	longestPeriod = 1 << 51
	latestInstant = exactDouble - longestPeriod // the year 2183; so an instant modulo a period is exact too
)

// fitsDouble tells whether every number that the scripts reach for a bandwidth
// that is not in debt is exact: the greatest are the refill missing to a full
// bucket, times its rate, and that rounded up.
func fitsDouble(b bandwidth.Bandwidth) bool {
	capacity, step, num, den := uint64(b.Capacity()), uint64(1), uint64(1), uint64(0)
	if b.Refill().Kind() == bandwidth.KindGreedy {
		tokens, ticks := b.Refill().Rate(time.Microsecond)
		num, den = uint64(tokens), uint64(ticks)
	} else {
		step, den = uint64(b.Refill().Tokens()), uint64(b.Refill().Period()/time.Microsecond)
		if den >= longestPeriod || capacity+step >= exactDouble {
			return false
		}
	}
	if capacity >= exactDouble || num >= exactDouble || den >= exactDouble {
		return false
	}
	hi, lo := bits.Mul64((capacity-1)/step+1, den)
	return hi == 0 && lo < exactDouble && lo+2*num+den < exactDouble
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
