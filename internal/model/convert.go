package model

import (
	"math/big"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// converted is the settled bucket under another configuration.
func (b *Bucket) converted(s *state, to bucket.Configuration, strategy bucket.Inheritance, explicit bool) *state {
	next := b.born(to, s.last)
	if strategy == bucket.Reset {
		return next
	}
	available := s.available()
	for i, fresh := range next.levels {
		if old, ok := s.partner(next.limits, i); ok {
			next.levels[i] = b.inherit(old, fresh.limit, strategy)
		} else {
			next.levels[i] = newLevel(fresh.limit, minimum(fresh.tokens(), available))
		}
	}
	if to.Version() == 0 && !explicit {
		next.withhold(available)
	}
	return next
}

// partner is the level that the i-th of the new limits goes on with: the one of
// the same id, or of the same position among those without.
func (s *state) partner(limits []*limit, i int) (level, bool) {
	id, position := limits[i].ID(), 0
	for _, l := range limits[:i] {
		if l.ID() == "" {
			position++
		}
	}
	for _, lv := range s.levels {
		switch {
		case lv.ID() != id:
		case id != "" || position == 0:
			return lv, true
		default:
			position--
		}
	}
	return level{}, false
}

// inherit is what a level becomes under another limit.
func (b *Bucket) inherit(old level, to *limit, strategy bucket.Inheritance) level {
	next := level{limit: to, elapsed: zero}
	if to.kind == bandwidth.KindInterval && old.kind == bandwidth.KindInterval {
		next.elapsed = minimum(old.elapsed, sub(to.period, b.tick()))
	}
	tokens, part := old.tokens(), new(big.Rat)
	if old.greedy() {
		part.SetFrac(new(big.Int).Mod(old.grains, old.grain), old.grain)
	}
	switch growth := sub(to.capacity, old.capacity); strategy {
	case bucket.Proportional:
		share := new(big.Rat).SetFrac(to.capacity, old.capacity)
		part.Add(part, new(big.Rat).SetInt(tokens)).Mul(part, share)
		tokens = zero
	case bucket.Additive:
		tokens = add(tokens, maximum(growth, new(big.Int)))
	}
	// What counts is kept, rounded down once to what the new limit can express:
	// parts of a token for a greedy one, whole tokens for the others.
	amount := part.Add(part, new(big.Rat).SetInt(tokens))
	amount.Mul(amount, new(big.Rat).SetFrac(to.grain, to.quantum))
	next.grains = mul(floor(amount.Num(), amount.Denom()), to.quantum)

	if next.tokens().Cmp(least) < 0 { // a debt beyond what is stored
		return newLevel(to, least)
	}
	if next.atCapacity() {
		return next.filled()
	}
	return next
}

// withhold sees to it that a change raises nothing: the bandwidth with the
// fewest tokens gets what was available before, where it has more.
func (s *state) withhold(available *big.Int) {
	fewest := 0
	for i, lv := range s.levels {
		if lv.tokens().Cmp(s.levels[fewest].tokens()) < 0 {
			fewest = i
		}
	}
	if s.levels[fewest].tokens().Cmp(available) > 0 {
		s.levels[fewest] = newLevel(s.levels[fewest].limit, available)
	}
}

func (l *limit) greedy() bool { return l.kind == bandwidth.KindGreedy }
