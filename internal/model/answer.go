package model

import (
	"math/big"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
)

// Answer is every field that an operation's result shows, and what the
// operation did to the stored key.
type Answer struct {
	Consumed, Never             bool
	Tokens, RemainingTokens     int64
	Wait, NextToken, TimeToFull time.Duration
	Deciding                    int
	Held                        [bucket.MaxBandwidths]int64 // tokens of each bandwidth
	Configuration               bucket.Configuration
	Existed, Replaced, Conflict bool
	Effect

	// Err tells that there is no answer, and nothing changes.
	Err bool

	// Refused tells that the tokens were asked for in vain.
	Refused bool
	// Strategy is how tokens passed to the declared configuration if Replaced.
	Strategy bucket.Inheritance
	// Crossed tells that a bandwidth became full since it was stored, Ahead that
	// the stored instant was still to come, and Clamped that it was too far ahead
	// to be believed.
	Crossed, Ahead, Clamped bool

	asked  *big.Int // the tokens whose wait is told if they were refused
	toFull *big.Int // ticks
}

// Effect is what becomes of the stored key. A written one lives Life, which
// includes the lead, and is absent from ForgottenAt on: microseconds, for
// stores that tick in them.
type Effect struct {
	Change      bucket.Change
	Life        int64
	ForgottenAt int64
}

// apply carries out the operation and tells whether any tokens changed.
func (a *Answer) apply(b *Bucket, s *state, op bucket.Operation, present *big.Int) (*state, bool) {
	n, available := big.NewInt(op.Tokens), s.available()
	switch op.Kind {
	case bucket.OpConsume, bucket.OpEstimate, bucket.OpConsumeUpTo:
		a.asked = n
		if op.Tokens == 0 || op.Kind == bucket.OpConsumeUpTo {
			a.asked = one // a peek, and whoever takes what there is, wants any token
		}
		a.Refused = available.Cmp(a.asked) < 0
		a.Consumed = !a.Refused
		if a.Refused || op.Kind == bucket.OpEstimate {
			return s, false
		}
		granted := minimum(n, available)
		a.Tokens = granted.Int64()
		return s.each(func(lv level) level { return lv.plus(new(big.Int).Neg(granted)) })
	case bucket.OpReserve:
		a.asked = maximum(n, one)
		possible := true
		for _, lv := range s.levels {
			possible = possible && a.asked.Cmp(maximum(lv.capacity, lv.tokens())) <= 0
		}
		wait := b.duration(s.longest(b, present, func(level) *big.Int { return a.asked }))
		if a.Refused = !possible || wait > op.LongestWait; a.Refused {
			return s, false
		}
		a.Consumed, a.Tokens = true, op.Tokens
		return a.take(s, n)
	case bucket.OpForce:
		a.Consumed, a.Tokens = true, op.Tokens
		return a.take(s, n)
	case bucket.OpForceAdd:
		return s.each(func(lv level) level {
			more := lv.plus(n)
			if more.tokens().Cmp(greatest) > 0 {
				return newLevel(lv.limit, greatest)
			}
			if more.atCapacity() {
				return newLevel(lv.limit, more.tokens())
			}
			return more
		})
	case bucket.OpReplace:
		return s, true
	case bucket.OpAdd, bucket.OpRefund:
		return s.each(func(lv level) level {
			more := lv.plus(n)
			switch {
			case lv.atCapacity():
				return lv
			case more.atCapacity():
				return lv.filled()
			default:
				return more
			}
		})
	case bucket.OpReset:
		return s.each(level.filled)
	default:
		return s, false
	}
}

// take takes tokens whether they are there or not, as far as a debt is kept.
func (a *Answer) take(s *state, n *big.Int) (*state, bool) {
	next, changed := s.each(func(lv level) level { return lv.plus(new(big.Int).Neg(n)) })
	for _, lv := range next.levels {
		a.Err = a.Err || lv.tokens().Cmp(least) < 0
	}
	return next, changed
}

// describe tells how things stand after the operation.
func (a *Answer) describe(b *Bucket, s *state, present *big.Int) {
	a.Configuration = s.config
	a.RemainingTokens = saturated(s.available())
	a.NextToken = b.duration(s.longest(b, present, func(level) *big.Int { return one }))
	a.toFull = s.longest(b, present, func(lv level) *big.Int { return lv.capacity })
	a.TimeToFull = b.duration(a.toFull)
	for i, lv := range s.levels {
		a.Held[i] = saturated(lv.tokens())
		if a.Held[i] < a.Held[a.Deciding] {
			a.Deciding = i
		}
	}
	if a.Tokens > 0 && a.RemainingTokens < 0 {
		a.Wait = b.duration(s.longest(b, present, func(level) *big.Int { return zero }))
	}
	if !a.Refused {
		return
	}
	for i, lv := range s.levels {
		if a.asked.Cmp(maximum(lv.capacity, lv.tokens())) > 0 {
			a.Never, a.Deciding, a.Wait = true, i, time.Duration(greatest.Int64())
			return
		}
	}
	wait := zero
	for i, lv := range s.levels {
		if w := s.ticks(b, present, lv.wait(a.asked, s.last)); w.Cmp(wait) > 0 {
			wait, a.Deciding = w, i
		}
	}
	a.Wait = b.duration(wait)
}

// each is the state with every level passed through f; changed tells whether
// any whole tokens differ.
func (s *state) each(f func(level) level) (next *state, changed bool) {
	n := *s
	n.levels = nil
	for _, lv := range s.levels {
		to := f(lv)
		changed = changed || to.tokens().Cmp(lv.tokens()) != 0
		n.levels = append(n.levels, to)
	}
	return &n, changed
}

// available is the least of all bandwidths.
func (s *state) available() *big.Int {
	least := s.levels[0].tokens()
	for _, lv := range s.levels[1:] {
		least = minimum(least, lv.tokens())
	}
	return least
}

// longest is how many ticks from now every bandwidth has the tokens asked of it.
func (s *state) longest(b *Bucket, present *big.Int, tokens func(level) *big.Int) *big.Int {
	wait := zero
	for _, lv := range s.levels {
		wait = maximum(wait, s.ticks(b, present, lv.wait(tokens(lv), s.last)))
	}
	return wait
}

// ticks turns a wait counted from the state's instant into one counted from the
// present, in whole ticks. A wait beyond int64 is its greatest value.
func (s *state) ticks(b *Bucket, present, wait *big.Int) *big.Int {
	if wait.Sign() == 0 {
		return zero
	}
	if s.last.Cmp(present) > 0 {
		wait = add(wait, sub(s.last, present))
	}
	return minimum(greatest, ceil(wait, b.tick()))
}

// duration is a number of ticks, saturated.
func (b *Bucket) duration(ticks *big.Int) time.Duration {
	return time.Duration(saturated(mul(ticks, b.tick())))
}

func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

func retention(r expiration.Rule) int64 {
	if r.Retention == 0 {
		return micros(expiration.DefaultRetention)
	}
	return micros(r.Retention)
}
