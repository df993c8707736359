package bucket

import (
	"math"

	"github.com/sluice-go/sluice/bandwidth"
)

// Level is what one bandwidth of a bucket holds.
type Level struct {
	Tokens int64 // negative: debt
	Rem    int64 // the part of a token (greedy) or period (interval) earned
}

// State is what a bucket remembers: one instant for all bandwidths, in ticks
// since the Unix epoch, and the level of each at that instant. Only as many
// levels count as the configuration has bandwidths; the others are zero.
type State struct {
	Last   int64
	Levels [MaxBandwidths]Level
}

// Entry is a bucket as a store holds it: its state and the configuration that
// the state was written under. The zero Entry means that there is none.
type Entry struct {
	Config Configuration
	State  State
}

// Moment is an instant on a store's clock, in ticks since the Unix epoch.
type Moment struct {
	Now  int64
	Tick Tick
	// Lead, where it is not 0, is how far ahead of Now a stored instant is
	// believed: one further ahead is read as Now plus Lead. It bounds the harm
	// of one fast clock among many writers.
	Lead int64
}

// Valid tells whether the levels are ones that a bucket of the configuration
// can have. Stores use it to tell damage.
func (s *State) Valid(c Configuration) bool {
	for i, r := range c.rates(Microsecond) {
		l := s.Levels[i]
		none := r.kind == bandwidth.KindAligned || l.Tokens >= r.capacity
		if l.Rem < 0 || l.Rem >= r.den || none && l.Rem != 0 {
			return false
		}
	}
	return true
}

func born(rates []rate, now int64) State {
	s := State{Last: now}
	for i := range rates {
		s.Levels[i] = rates[i].born(now)
	}
	return s
}

// believe bounds how far ahead of now the state's instant may lie, and tells
// whether it did lie further.
func (s *State) believe(at Moment) bool {
	if at.Lead == 0 || at.Now > math.MaxInt64-at.Lead || s.Last <= at.Now+at.Lead {
		return false
	}
	s.Last = at.Now + at.Lead
	return true
}

// settle brings all levels to now and returns the least. An earlier now changes
// nothing.
func (s *State) settle(rates []rate, now int64) (available int64) {
	if now <= s.Last {
		return s.available(rates)
	}
	elapsed := uint64(now) - uint64(s.Last)
	levels := s.Levels[:len(rates)]
	available = math.MaxInt64
	for i := range rates {
		r, l := &rates[i], &levels[i]
		if !r.accrue(l, elapsed) {
			r.settle(l, s.Last, elapsed)
		}
		available = min(available, l.Tokens)
	}
	s.Last = now
	return available
}

// available is the least of the levels.
func (s *State) available(rates []rate) int64 {
	least := int64(math.MaxInt64)
	for i := range rates {
		least = min(least, s.Levels[i].Tokens)
	}
	return least
}

// full tells whether every bandwidth holds exactly its capacity.
func (s *State) full(rates []rate) bool {
	for i := range rates {
		if s.Levels[i].Tokens != rates[i].capacity {
			return false
		}
	}
	return true
}

// overfull tells whether a bandwidth holds more than its capacity.
func (s *State) overfull(rates []rate) bool {
	for i := range rates {
		if s.Levels[i].Tokens > rates[i].capacity {
			return true
		}
	}
	return false
}

// waitFor is how many ticks after now n tokens can be taken; false if never.
func (s *State) waitFor(rates []rate, n, now int64) (ticks int64, possible bool) {
	for i := range rates {
		r, l := &rates[i], &s.Levels[i]
		if n > max(r.capacity, l.Tokens) {
			return 0, false
		}
		ticks = max(ticks, r.wait(l, s.Last, now, n))
	}
	return ticks, true
}

// repaid is how many ticks after now no bandwidth is in debt.
func (s *State) repaid(rates []rate, now int64) (ticks int64) {
	for i := range rates {
		ticks = max(ticks, rates[i].wait(&s.Levels[i], s.Last, now, 0))
	}
	return ticks
}

// take takes n tokens from every bandwidth, into debt if need be.
func (s *State) take(rates []rate, n int64) error {
	for i := range rates {
		if s.Levels[i].Tokens < math.MinInt64+n {
			return &ArgumentError{Field: "tokens", Value: n, Allowed: "a debt of at most 2^63"}
		}
	}
	s.charge(rates, n)
	return nil
}

// charge takes n tokens that are there from every bandwidth.
func (s *State) charge(rates []rate, n int64) {
	levels := s.Levels[:len(rates)]
	for i := range levels {
		levels[i].Tokens -= n
	}
}

// add puts back n tokens, stopping at capacity; more than that stays as it is.
func (s *State) add(rates []rate, n int64) (changed bool) {
	for i := range rates {
		l, capacity := &s.Levels[i], rates[i].capacity
		switch {
		case l.Tokens >= capacity || n == 0:
			continue
		case uint64(n) >= uint64(capacity)-uint64(l.Tokens):
			*l = Level{Tokens: capacity}
		default:
			l.Tokens += n
		}
		changed = true
	}
	return changed
}

// forceAdd adds n tokens, stopping only where int64 does. At or above capacity
// no remainder is held.
func (s *State) forceAdd(rates []rate, n int64) (changed bool) {
	for i := range rates {
		l := &s.Levels[i]
		was := l.Tokens
		if l.Tokens > math.MaxInt64-n {
			l.Tokens = math.MaxInt64
		} else {
			l.Tokens += n
		}
		if l.Tokens >= rates[i].capacity {
			l.Rem = 0
		}
		changed = changed || l.Tokens != was
	}
	return changed
}

// fill brings every bandwidth to exactly its capacity.
func (s *State) fill(rates []rate) (changed bool) {
	for i := range rates {
		changed = changed || s.Levels[i].Tokens != rates[i].capacity
		s.Levels[i] = Level{Tokens: rates[i].capacity}
	}
	return changed
}
