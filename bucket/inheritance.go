package bucket

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/sluice-go/sluice/bandwidth"
)

// Inheritance is how tokens pass from one configuration of a bucket to the
// next. Whatever the strategy, the time that has passed is first settled at the
// old rate, bandwidths are paired by id and unnamed ones by their position
// among the unnamed, and tokens above a new capacity are cut to it. A bandwidth
// without a partner starts with the smaller of its initial tokens and what was
// available before. Fractions are exact and rounded down once.
type Inheritance uint8

// The strategies.
const (
	// AsIs keeps the tokens.
	AsIs Inheritance = iota
	// Proportional keeps the filled share of the capacity: 50 of 100 become
	// 500 of 1,000.
	Proportional
	// Additive adds what the capacity grows by: 50 of 100 become 950 of 1,000. A
	// smaller capacity only cuts.
	Additive
	// Reset starts as a new bucket.
	Reset
)

const strategies = "AsIs, Proportional, Additive or Reset"

func (s Inheritance) valid() bool { return s <= Reset }

// inherit turns a settled state of one configuration into one of another.
func inherit(s *State, from, to Configuration, t Tick, strategy Inheritance) State {
	if strategy == Reset {
		return born(to.rates(t), s.Last)
	}
	before := s.available(from.rates(t))
	next := State{Last: s.Last}
	for i := range to.rates(t) {
		r := &to.rates(t)[i]
		l := &next.Levels[i]
		if j, ok := partner(from, to, i); ok {
			*l = r.takeOver(&from.rates(t)[j], s.Levels[j], strategy)
		} else {
			*l = Level{Tokens: min(r.born(s.Last).Tokens, before)}
		}
		if l.Tokens >= r.capacity {
			*l = Level{Tokens: r.capacity}
		}
	}
	return next
}

// partner finds the bandwidth of from that the i-th one of to continues.
func partner(from, to Configuration, i int) (j int, ok bool) {
	id := to.Bandwidth(i).ID()
	skip := 0 // the unnamed bandwidths before it
	if id == "" {
		for k := range i {
			if to.Bandwidth(k).ID() == "" {
				skip++
			}
		}
	}
	for j := range from.Len() {
		if from.Bandwidth(j).ID() != id {
			continue
		}
		if skip == 0 {
			return j, true
		}
		skip--
	}
	return 0, false
}

// takeOver carries one level over from the bandwidth old.
func (r *rate) takeOver(old *rate, l Level, strategy Inheritance) Level {
	rem := r.takeOverRemainder(old, l.Rem)
	switch strategy {
	case Proportional:
		return r.share(old, l, rem)
	case Additive:
		growth := max(r.capacity-old.capacity, 0)
		return Level{Tokens: addSaturating(l.Tokens, growth), Rem: rem}
	default:
		return Level{Tokens: l.Tokens, Rem: rem}
	}
}

// takeOverRemainder keeps the part of a token between greedy rates, and the
// elapsed part of a period between intervals as far as the new one is long. A
// phase is no fraction, so between the two kinds it starts anew; an aligned
// interval has none of its own.
func (r *rate) takeOverRemainder(old *rate, rem int64) int64 {
	switch {
	case r.kind != old.kind || r.kind == bandwidth.KindAligned:
		return 0
	case r.kind == bandwidth.KindGreedy:
		hi, lo := bits.Mul64(uint64(rem), uint64(r.den))
		q, _ := bits.Div64(hi, lo, uint64(old.den))
		return int64(q)
	default:
		return min(rem, r.den-1)
	}
}

// share scales the tokens by the capacities. It is rare, so big integers do.
func (r *rate) share(old *rate, l Level, rem int64) Level {
	oldDen, newDen := int64(1), int64(1)
	if r.kind == bandwidth.KindGreedy {
		newDen = r.den
	}
	amount := big.NewInt(l.Tokens) // in parts of 1/oldDen
	if old.kind == bandwidth.KindGreedy {
		oldDen = old.den
		amount.Mul(amount, big.NewInt(oldDen))
		amount.Add(amount, big.NewInt(l.Rem))
	}
	amount.Mul(amount, big.NewInt(r.capacity))
	amount.Mul(amount, big.NewInt(newDen))
	amount.Div(amount, new(big.Int).Mul(big.NewInt(oldDen), big.NewInt(old.capacity))) // rounds down
	tokens, part := amount.DivMod(amount, big.NewInt(newDen), new(big.Int))
	if r.kind == bandwidth.KindGreedy {
		rem = part.Int64()
	}
	switch {
	case tokens.IsInt64():
		return Level{Tokens: tokens.Int64(), Rem: rem}
	case tokens.Sign() < 0:
		return Level{Tokens: math.MinInt64}
	default:
		return Level{Tokens: math.MaxInt64}
	}
}

// addSaturating is a+b for b not negative.
func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// notMore cuts the deciding bandwidth so that no more is available than before.
// Between configurations without versions nobody said that a change may hand
// out tokens: growth comes by refill.
func (s *State) notMore(rates []rate, before int64) {
	if s.available(rates) <= before {
		return
	}
	least := 0
	for i := range rates {
		if s.Levels[i].Tokens < s.Levels[least].Tokens {
			least = i
		}
	}
	s.Levels[least] = Level{Tokens: before}
}
