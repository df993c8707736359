package bucket

import (
	"math/bits"
	"sync/atomic"

	"github.com/sluice-go/sluice/bandwidth"
)

// word is the state of one greedy bandwidth in one machine word, on a clock that
// never goes back. It says when the bucket will be full: with the rate num/den,
// and time in units of 1/2·num of a tick, a token takes 2·den units, so a bucket that
// lacks d units is full d units from now. That is (tokens, rem, last) in another form:
//
//	d    = ((capacity - tokens)·den - rem)·2     at last
//	full = last·2·num + d                        the same at every later instant
//
// since refilling takes from d exactly what passes, and stops at 0. Taking n
// tokens adds n·2·den to what is lacking, if that stays within capacity·2·den. So a
// take moves one word, and a refusal only reads it.
//
// The word keeps full modulo 2^64, and its difference to the present is told right
// while that is in [-2^63, 2^63). It is: what may lack is less than 2^63, and after
// a release at base full is not before base, of which the present is at most a
// window of 2^61 units ahead. Beyond the window a take goes to the slow path, which
// holds the lock and moves base. A word that is the same again after that means the
// same: full is absolute.
//
// The clock is read after the word, so the instant of a take is not before that
// of the one it builds on. base is read before both: the window is then never
// measured from an instant that the word does not know.
//
// A take that loses its swap keeps its instant, since reading the clock is most of
// what it costs. Another take may then have come in between at a later instant, of
// which full is ahead: so the grant, which adds to full, is the one of that instant.
// A refusal might not be, so it reads the clock again, and so does a take that finds
// another base.
//
// All units are even. The lowest bit tells that the state is elsewhere: as long as it
// does not fit, as with credit, or while somebody holds the lock.
type word struct {
	clock    clock
	capacity int64  // 0: the word is not in use
	tick     uint64 // 2·num: how many units a tick has,
	token    uint64 // 2·den: how many one token takes,
	most     int64  // and how many may lack after a take: capacity·token
	window   uint64 // in ticks
	base     atomic.Int64
	full     atomic.Uint64
}

const (
	elsewhere = 1
	mostLack  = 1 << 62 // of a take; debt may reach twice as much
	mostDebt  = 1 << 63
	idleUnits = 1 << 61
)

// use makes the word for a configuration, if that fits. The state is elsewhere
// until the first release.
func (w *word) use(c Configuration) bool {
	if c.Len() != 1 || c.Bandwidth(0).Refill().Kind() != bandwidth.KindGreedy {
		return false
	}
	r := &c.rates(Nanosecond)[0]
	tick, token := 2*uint64(r.num), 2*uint64(r.den)
	hi, most := bits.Mul64(uint64(r.capacity), token)
	if hi != 0 || most >= mostLack || tick > idleUnits {
		return false
	}
	w.capacity, w.tick, w.token, w.most = r.capacity, tick, token, int64(most)
	w.window = idleUnits / tick
	w.full.Store(elsewhere)
	return true
}

// take takes n tokens, or not, or else has l decide. As little as possible waits
// for the clock, and l is handed in so that all of [Local.TryConsume] is one call.
func (w *word) take(n int64, l *Local) bool {
	if n < 1 || n > w.capacity {
		return l.take(n)
	}
	cost := uint64(n) * w.token
	room := w.most - int64(cost)
	for {
		base := w.base.Load()
		full := w.full.Load()
		now := w.clock.now()
		for fresh := true; ; fresh = false {
			if full&elsewhere != 0 || uint64(now-base) > w.window {
				return l.take(n)
			}
			present := uint64(now) * w.tick
			lack := int64(full - present)
			if lack > room {
				if fresh {
					return false
				}
				break
			}
			next := full + cost
			if lack < 0 {
				next = present + cost
			}
			if w.full.CompareAndSwap(full, next) {
				return true
			}
			if full = w.full.Load(); w.base.Load() != base {
				break
			}
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
	now = max(now, base)               // should the clock go back after all, nothing is refilled
	lack := full - uint64(base)*w.tick // at base
	if hi, gone := bits.Mul64(uint64(now-base), w.tick); hi != 0 || gone >= lack {
		lack = 0
	} else {
		lack -= gone
	}
	tokens := ceilDiv(lack, w.token)
	s.Last = now
	s.Levels[0] = Level{Tokens: w.capacity - int64(tokens), Rem: int64((tokens*w.token - lack) / 2)}
	return now
}

// release puts the state back, if it fits.
func (w *word) release(s *State) {
	l := &s.Levels[0]
	if l.Tokens > w.capacity {
		return
	}
	hi, lack := bits.Mul64(uint64(w.capacity)-uint64(l.Tokens), w.token)
	if hi != 0 || lack >= mostDebt {
		return
	}
	w.base.Store(s.Last)
	w.full.Store(uint64(s.Last)*w.tick + lack - 2*uint64(l.Rem))
}
