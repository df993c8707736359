package bandwidth

import (
	"fmt"
	"math"
	"time"
)

// Kind tells how a [Refill] hands out its tokens.
type Kind uint8

// The kinds of refill.
const (
	// KindGreedy spreads the tokens evenly over the period.
	KindGreedy Kind = iota + 1
	// KindInterval adds all tokens at the end of each period, counted from the
	// take that leaves a full bucket.
	KindInterval
	// KindAligned adds all tokens at instants fixed on the clock.
	KindAligned
)

// String is the name of the kind.
func (k Kind) String() string {
	switch k {
	case KindGreedy:
		return "greedy"
	case KindInterval:
		return "interval"
	case KindAligned:
		return "aligned"
	}
	return "no refill"
}

// Refill says how tokens come back. Make one with [Greedy], [Interval] or
// [Aligned]; [New] checks it. The zero value is refused.
type Refill struct {
	kind   Kind
	tokens int64
	period time.Duration
	phase  time.Duration // aligned: first modulo period, in [0, period)
	err    error         // what was wrong with first; told by New
}

// Greedy gives back tokens one by one, spread evenly over the period: 10 a
// second is one every 100 ms. The rate is kept as an exact fraction.
func Greedy(tokens int64, period time.Duration) Refill {
	return Refill{kind: KindGreedy, tokens: tokens, period: period}
}

// Interval gives back all tokens at once when a period ends. The first period
// starts at the take that leaves a full bucket. The period must be a whole
// number of microseconds.
func Interval(tokens int64, period time.Duration) Refill {
	return Refill{kind: KindInterval, tokens: tokens, period: period}
}

// Aligned gives back all tokens at once at the instant first and every period
// before and after it: first only places the grid. The length of a period is
// fixed; a day is 24 hours, whatever a time zone does. Period and first must be
// whole microseconds.
func Aligned(tokens int64, period time.Duration, first time.Time) Refill {
	r := Refill{kind: KindAligned, tokens: tokens, period: period}
	switch us := first.UnixMicro(); {
	case first.IsZero():
		r.err = &ArgumentError{"first refill", "zero time", "an instant"}
	case !time.UnixMicro(us).Equal(first):
		r.err = &ArgumentError{"first refill", first, "a whole microsecond within 290,000 years of 1970"}
	case period >= time.Microsecond:
		p := int64(period / time.Microsecond)
		r.phase = time.Duration(((us%p)+p)%p) * time.Microsecond
	}
	return r
}

// Kind tells how the tokens are handed out; zero for the zero Refill.
func (r Refill) Kind() Kind { return r.kind }

// Tokens is how many come back in one period.
func (r Refill) Tokens() int64 { return r.tokens }

// Period is the time in which Tokens come back.
func (r Refill) Period() time.Duration { return r.period }

// Phase places the grid of an aligned refill: its boundaries are the instants
// whose distance from the Unix epoch is Phase modulo Period. It is zero for
// other kinds.
func (r Refill) Phase() time.Duration { return r.phase }

// Rate is the refill as a fraction in lowest terms: tokens in so many ticks.
// The tick is a nanosecond or a microsecond. A refill that New refuses may have
// none.
func (r Refill) Rate(tick time.Duration) (tokens, ticks int64) {
	if r.tokens < 1 || r.period < 1 || tick < 1 {
		return 0, 0
	}
	g := gcd(r.tokens, int64(r.period))
	tokens, ticks = r.tokens/g, int64(r.period)/g
	g = gcd(int64(tick), ticks)
	return tokens * (int64(tick) / g), ticks / g
}

// check collects what is wrong with the refill.
func (r Refill) check() []error {
	if r.kind == 0 {
		return []error{&ArgumentError{"refill", "zero value", "Greedy, Interval or Aligned"}}
	}
	var faults []error
	if r.err != nil {
		faults = append(faults, r.err)
	}
	if r.tokens < 1 {
		faults = append(faults, &ArgumentError{"refill tokens", r.tokens, "1 or more"})
	}
	if r.period < 1 {
		faults = append(faults, &ArgumentError{"refill period", r.period, "1ns or more"})
	}
	if r.tokens < 1 || r.period < 1 {
		return faults
	}
	if r.tokens > int64(r.period) {
		faults = append(faults, &ArgumentError{
			"refill rate", fmt.Sprintf("%d per %v", r.tokens, r.period), "at most one token a nanosecond",
		})
	}
	if r.kind != KindGreedy {
		if r.period%time.Microsecond != 0 {
			faults = append(faults, &ArgumentError{"refill period", r.period, "whole microseconds for an interval refill"})
		}
		return faults
	}
	// Stores tick in microseconds, so a greedy rate must fit there too.
	g := gcd(r.tokens, int64(r.period))
	if scale := 1000 / gcd(1000, int64(r.period)/g); r.tokens/g > math.MaxInt64/scale {
		faults = append(faults, &ArgumentError{
			"refill tokens", r.tokens,
			fmt.Sprintf("a rate whose lowest terms have at most %d tokens", math.MaxInt64/scale),
		})
	}
	return faults
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
