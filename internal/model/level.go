package model

import (
	"math/big"

	"github.com/sluice-go/sluice/bandwidth"
)

// limit is one bandwidth in numbers that cannot overflow. Times are
// nanoseconds.
type limit struct {
	bandwidth.Bandwidth
	kind     bandwidth.Kind
	capacity *big.Int
	refill   *big.Int // tokens a period
	period   *big.Int
	phase    *big.Int // where the boundaries of an aligned one lie
	grain    *big.Int // grains in a token
	full     *big.Int // the capacity in grains
	quantum  *big.Int // grains in the least part of a token that is kept when a configuration changes
}

// newLimit reads a bandwidth for a bucket whose tick has so many nanoseconds.
// A token of a greedy one is as many grains as its period has nanoseconds, so
// that each nanosecond brings as many grains as the period brings tokens.
func newLimit(b bandwidth.Bandwidth, tick *big.Int) *limit {
	r := b.Refill()
	l := &limit{
		Bandwidth: b,
		kind:      r.Kind(),
		capacity:  big.NewInt(b.Capacity()),
		refill:    big.NewInt(r.Tokens()),
		period:    big.NewInt(int64(r.Period())),
		phase:     big.NewInt(int64(r.Phase())),
		grain:     one,
		quantum:   one,
	}
	if l.kind == bandwidth.KindGreedy {
		l.grain = l.period
		// The rate a tick in lowest terms has this denominator; what one tick
		// brings is a multiple of it, and so is everything ever earned.
		l.quantum = new(big.Int).GCD(nil, nil, mul(l.refill, tick), l.period)
	}
	l.full = mul(l.capacity, l.grain)
	return l
}

// initial is how many tokens a bucket made at the instant starts with.
func (l *limit) initial(at *big.Int) *big.Int {
	tokens, adaptive := l.InitialTokens()
	if !adaptive {
		return big.NewInt(tokens)
	}
	share := minimum(l.refill, l.capacity)
	left := sub(l.boundary(add(l.boundaries(at), one)), at)
	return add(sub(l.capacity, share), floor(mul(share, left), l.period))
}

// boundaries numbers the last boundary at or before the instant, and boundary
// is the instant of a number.
func (l *limit) boundaries(at *big.Int) *big.Int { return floor(sub(at, l.phase), l.period) }
func (l *limit) boundary(n *big.Int) *big.Int    { return add(mul(n, l.period), l.phase) }

// level is what one bandwidth of a bucket holds.
type level struct {
	*limit
	grains  *big.Int // negative: debt
	elapsed *big.Int // nanoseconds of the running period, for intervals that are not aligned
}

// newLevel holds so many whole tokens and nothing more.
func newLevel(l *limit, tokens *big.Int) level {
	return level{l, mul(tokens, l.grain), zero}
}

// tokens is what the level holds, rounded down.
func (l level) tokens() *big.Int { return floor(l.grains, l.grain) }

func (l level) atCapacity() bool { return l.grains.Cmp(l.full) >= 0 }

// filled is the level at exactly its capacity. It has earned no part of a token
// and its period has not begun.
func (l level) filled() level { return level{l.limit, l.full, zero} }

// refilled is the level at a later instant. Above capacity nothing is earned
// and nothing is lost.
func (l level) refilled(from, to *big.Int) level {
	if l.atCapacity() {
		return level{l.limit, l.grains, zero}
	}
	switch span := sub(to, from); l.kind {
	case bandwidth.KindGreedy:
		l.grains = add(l.grains, mul(span, l.refill))
	case bandwidth.KindInterval:
		periods, elapsed := new(big.Int).DivMod(add(l.elapsed, span), l.period, new(big.Int))
		l.grains, l.elapsed = add(l.grains, mul(periods, l.refill)), elapsed
	case bandwidth.KindAligned:
		l.grains = add(l.grains, mul(sub(l.boundaries(to), l.boundaries(from)), l.refill))
	}
	if l.atCapacity() {
		return l.filled()
	}
	return l
}

// plus is the level with n tokens more, or fewer if n is negative.
func (l level) plus(n *big.Int) level {
	l.grains = add(l.grains, mul(n, l.grain))
	return l
}

// wait is how many nanoseconds after the instant the level has n tokens.
func (l level) wait(n, at *big.Int) *big.Int {
	missing := sub(mul(n, l.grain), l.grains)
	if missing.Sign() <= 0 {
		return zero
	}
	times := ceil(missing, l.refill)
	switch l.kind {
	case bandwidth.KindInterval:
		return sub(mul(times, l.period), l.elapsed)
	case bandwidth.KindAligned:
		return sub(l.boundary(add(l.boundaries(at), times)), at)
	default:
		return times // a greedy one refills every nanosecond
	}
}
