package bucket

import (
	"math"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

// Tick is the unit of a bucket's instants. Local buckets tick in nanoseconds,
// stores in microseconds; the arithmetic does not know the difference.
type Tick uint8

// The two ticks.
const (
	Nanosecond Tick = iota
	Microsecond
)

// Duration is the length of one tick.
func (t Tick) Duration() time.Duration {
	if t == Microsecond {
		return time.Microsecond
	}
	return time.Nanosecond
}

// span is a number of ticks as a Duration, the longest one if it passes that.
func (t Tick) span(ticks int64) time.Duration {
	switch {
	case t == Nanosecond:
		return time.Duration(ticks)
	case ticks > math.MaxInt64/int64(time.Microsecond):
		return math.MaxInt64
	}
	return time.Duration(ticks) * time.Microsecond
}

// rate is one bandwidth in ticks. Greedy and interval refill are one formula:
// over dt ticks
//
//	q, rem = divmod(rem + dt·num, den)
//	tokens += step·q
//
// Greedy has step 1 and num/den its rate in lowest terms, so rem is the part of
// a token already earned. An interval has step tokens, num 1 and its period as
// den, so rem is the part of a period already gone. An aligned interval's rem
// follows from the clock and is not kept.
type rate struct {
	kind           bandwidth.Kind
	adaptive       bool
	capacity       int64
	step, num, den int64
	phase          int64 // aligned: boundaries are congruent to it modulo den
	initial        int64
}

func newRate(b bandwidth.Bandwidth, t Tick) rate {
	refill := b.Refill()
	r := rate{kind: refill.Kind(), capacity: b.Capacity(), step: 1, num: 1}
	r.initial, r.adaptive = b.InitialTokens()
	if r.kind == bandwidth.KindGreedy {
		r.num, r.den = refill.Rate(t.Duration())
		return r
	}
	r.step = refill.Tokens()
	r.den = int64(refill.Period() / t.Duration())
	r.phase = int64(refill.Phase() / t.Duration())
	return r
}

// born is the level of a new bucket.
func (r *rate) born(now int64) Level {
	if !r.adaptive {
		return Level{Tokens: r.initial}
	}
	// What is left of the running period deserves its share of one refill.
	refill := min(r.step, r.capacity)
	hi, lo := bits.Mul64(uint64(r.den-r.gone(now)), uint64(refill))
	share, _ := bits.Div64(hi, lo, uint64(r.den))
	return Level{Tokens: r.capacity - refill + int64(share)}
}

// gone is how much of an aligned period is over at an instant, in [0, den).
func (r *rate) gone(at int64) int64 {
	d := at % r.den
	if d < 0 {
		d += r.den
	}
	if d -= r.phase; d < 0 { // the phase is in [0, den) too
		d += r.den
	}
	return d
}

// remainder is the part of a token or period earned at last.
func (r *rate) remainder(l *Level, last int64) int64 {
	if r.kind == bandwidth.KindAligned {
		return r.gone(last)
	}
	return l.Rem
}

// accrue is settle where nothing becomes whole in the elapsed ticks, as between
// most takes; else it does nothing and is false. It divides nothing, and is small
// enough to be inlined.
func (r *rate) accrue(l *Level, elapsed uint64) bool {
	hi, lo := bits.Mul64(elapsed, uint64(r.num))
	lo, carry := bits.Add64(lo, uint64(l.Rem), 0)
	if hi|carry != 0 || lo >= uint64(r.den) || l.Tokens >= r.capacity || r.kind == bandwidth.KindAligned {
		return false
	}
	l.Rem = int64(lo)
	return true
}

// settle earns what the ticks elapsed since last give. At or above capacity
// nothing is earned, and no remainder or phase is held.
func (r *rate) settle(l *Level, last int64, elapsed uint64) {
	if l.Tokens >= r.capacity {
		l.Rem = 0
		return
	}
	hi, lo := bits.Mul64(elapsed, uint64(r.num))
	lo, carry := bits.Add64(lo, uint64(r.remainder(l, last)), 0)
	hi += carry
	if hi > 0 || lo >= uint64(r.den) {
		fullHi, fullLo := bits.Mul64(r.steps(uint64(r.capacity)-uint64(l.Tokens)), uint64(r.den))
		if hi > fullHi || hi == fullHi && lo >= fullLo {
			*l = Level{Tokens: r.capacity}
			return
		}
		var q uint64
		q, lo = bits.Div64(hi, lo, uint64(r.den))
		l.Tokens += int64(uint64(r.step) * q)
	}
	l.Rem = int64(lo)
	if r.kind == bandwidth.KindAligned {
		l.Rem = 0
	}
}

// steps is how many refills make at least so many tokens.
func (r *rate) steps(tokens uint64) uint64 {
	if r.step == 1 {
		return tokens
	}
	return ceilDiv(tokens, uint64(r.step))
}

// wait is how many ticks after now the level holds n tokens, rounded up, where
// n is at most what it can hold. An instant last that lies ahead of now is
// waited for first. A wait beyond int64 is its greatest value.
func (r *rate) wait(l *Level, last, now, n int64) int64 {
	if l.Tokens >= n {
		return 0
	}
	hi, lo := bits.Mul64(r.steps(uint64(n)-uint64(l.Tokens)), uint64(r.den))
	q, borrow := bits.Sub64(lo, uint64(r.remainder(l, last)), 0)
	hi -= borrow
	if hi >= uint64(r.num) {
		return math.MaxInt64
	}
	if r.num > 1 {
		var rem uint64
		if q, rem = bits.Div64(hi, q, uint64(r.num)); rem > 0 && q < math.MaxUint64 {
			q++
		}
	}
	if last > now {
		var over uint64
		if q, over = bits.Add64(q, uint64(last)-uint64(now), 0); over > 0 {
			return math.MaxInt64
		}
	}
	return int64(min(q, math.MaxInt64))
}

func ceilDiv(a, b uint64) uint64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}
