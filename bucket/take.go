package bucket

// TakeOne is what [Entry.Step] does with an OpConsume of n tokens, n at least 1,
// in microseconds, where the bucket has one bandwidth and is stored under c
// itself: for backends that decide millions of times a second for callers who ask
// for no more than whether the tokens were there. If it took them, level and last
// are the next ones, and the effect is a Write. A bucket with credit it leaves
// undecided.
func (c Configuration) TakeOne(level *Level, last *int64, n, now int64) (f Effect, decided bool) {
	r := &c.c.rates[Microsecond][0]
	l, at := *level, *last
	if l.Tokens > r.capacity {
		return Effect{}, false
	}
	if now > at {
		if elapsed := uint64(now) - uint64(at); !r.accrue(&l, elapsed) {
			r.settle(&l, at, elapsed)
		}
		at = now
	}
	if l.Tokens < n {
		return Effect{}, true
	}
	l.Tokens -= n
	*level, *last = l, at
	return Effect{Change: Write, ToFull: r.wait(&l, at, now, r.capacity), Remember: !c.c.startsFull || c.c.version > 0}, true
}
