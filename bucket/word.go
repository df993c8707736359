package bucket

import (
	"math/bits"
	"sync/atomic"

	"github.com/sluice-go/sluice/bandwidth"
)

// word is the state of one greedy bandwidth in one machine word, on a clock that
// never goes back. It says when the bucket will be full: with the rate num/den,
// and time in units of 1/num tick, a token takes den units, so a bucket that lacks
// d units is full d units from now. That is (tokens, rem, last) in another form:
//
//	d    = (capacity - tokens)·den - rem     at last
//	full = last·num + d                      the same at every later instant
//
// since refilling takes from d exactly what passes, and stops at 0. Taking n
// tokens adds n·den to what is lacking, if that stays within capacity·den. So a
// take moves one word, and a refusal only reads it.
//
// The word keeps full modulo 2^63, and its difference to the present is told right
// while that is in [-2^62, 2^62). It is: what may lack is less than 2^62, and after
// a release at base full is not before base, of which the present is at most a
// window of 2^60 units ahead. Beyond the window a take goes to the slow path, which
// holds the lock and moves base. A word that is the same again after that means the
// same: full is absolute.
//
// The clock is read after the word, so the instant of a take is not before that
// of the one it builds on. base is read before both: the window is then never
// measured from an instant that the word does not know.
//
// The lowest bit tells that the state is elsewhere: as long as it does not fit, as
// with credit, or while somebody holds the lock.
type word struct {
	clock    clock
	capacity int64 // 0: the word is not in use
	num, den int64
	most     int64  // capacity·den, what may lack after a take
	window   uint64 // in ticks
	base     atomic.Int64
	full     atomic.Uint64
}

const (
	elsewhere  = 1
	mostLack   = 1 << 61 // of a take; debt may reach twice as much
	mostDebt   = 1 << 62
	idleUnits  = 1 << 60
	fullModulo = 1<<63 - 1
)

// use makes the word for a configuration, if that fits. The state is elsewhere
// until the first release.
func (w *word) use(c Configuration) bool {
	if c.Len() != 1 || c.Bandwidth(0).Refill().Kind() != bandwidth.KindGreedy {
		return false
	}
	r := &c.rates(Nanosecond)[0]
	hi, most := bits.Mul64(uint64(r.capacity), uint64(r.den))
	if hi != 0 || most >= mostLack || r.num > idleUnits {
		return false
	}
	w.capacity, w.num, w.den, w.most = r.capacity, r.num, r.den, int64(most)
	w.window = idleUnits / uint64(r.num)
	w.full.Store(elsewhere)
	return true
}

// take takes n tokens, or not; or else it has not decided.
func (w *word) take(n int64) (taken, decided bool) {
	if n < 1 || n > w.capacity {
		return false, false
	}
	cost := n * w.den
	for {
		base := w.base.Load()
		full := w.full.Load()
		now := w.clock.now()
		if full&elsewhere != 0 || uint64(now-base) > w.window {
			return false, false
		}
		present := uint64(now) * uint64(w.num)
		lack := max(0, int64(full-present<<1)>>1) + cost
		if lack > w.most {
			return false, true
		}
		if w.full.CompareAndSwap(full, (present+uint64(lack))<<1) {
			return true, true
		}
	}
}

// hold takes the state out of the word, which is elsewhere until release. The
// caller holds the lock.
func (w *word) hold(s *State) (now int64) {
	if w.capacity == 0 {
		return w.clock.now()
	}
	full := w.full.Or(elsewhere)
	now = w.clock.now()
	if full&elsewhere != 0 {
		return now
	}
	base := w.base.Load()
	now = max(now, base)                                        // should the clock go back after all, nothing is refilled
	lack := (full>>1 - uint64(base)*uint64(w.num)) & fullModulo // at base
	if hi, gone := bits.Mul64(uint64(now-base), uint64(w.num)); hi != 0 || gone >= lack {
		lack = 0
	} else {
		lack -= gone
	}
	tokens := ceilDiv(lack, uint64(w.den))
	s.Last = now
	s.Levels[0] = Level{Tokens: w.capacity - int64(tokens), Rem: int64(tokens*uint64(w.den) - lack)}
	return now
}

// release puts the state back, if it fits.
func (w *word) release(s *State) {
	l := &s.Levels[0]
	if l.Tokens > w.capacity {
		return
	}
	hi, lack := bits.Mul64(uint64(w.capacity)-uint64(l.Tokens), uint64(w.den))
	if hi != 0 || lack >= mostDebt {
		return
	}
	w.base.Store(s.Last)
	w.full.Store((uint64(s.Last)*uint64(w.num) + lack - uint64(l.Rem)) << 1)
}
