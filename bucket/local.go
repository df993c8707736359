package bucket

import (
	"context"
	"math"
	"sync"
	"time"
)

// Local is a bucket in this process's memory. It ticks in nanoseconds on the
// monotonic clock, so that a step of the wall clock changes nothing, and with up
// to four bandwidths it allocates nothing. All methods are safe for concurrent use and never block
// for long. Make one with [New].
//
// [Local.TryConsume] is the method that most callers want. Local has neither
// contexts nor errors on its own methods; [Local.Bucket] is the same bucket as
// the interface that remote ones share.
type Local struct {
	clock func() int64
	mu    sync.Mutex
	entry Entry
}

// LocalOption changes what [New] makes.
type LocalOption func(*Local)

// WithClock replaces the clock of a local bucket, for tests and simulations.
// The instants are used to the nanosecond; those that int64 nanoseconds cannot
// hold count as the nearest that they can. A nil clock is the default one.
func WithClock(now func() time.Time) LocalOption {
	return func(l *Local) {
		if now != nil {
			l.clock = func() int64 { return nanos(now()) }
		}
	}
}

// New returns a bucket of the configuration, as it is created. With the zero
// Configuration the bucket refuses everything.
func New(c Configuration, opts ...LocalOption) *Local {
	l := &Local{clock: monotonic(time.Now())}
	for _, opt := range opts {
		if opt != nil {
			opt(l)
		}
	}
	l.entry.Config = c
	if c.Len() > 0 {
		l.entry.State = born(c.rates(Nanosecond), l.clock())
	}
	return l
}

// monotonic is a clock that starts at base and goes on whatever happens to the
// wall clock.
func monotonic(base time.Time) func() int64 {
	start := nanos(base)
	return func() int64 { return start + int64(time.Since(base)) }
}

// nanos is UnixNano, saturating.
func nanos(t time.Time) int64 {
	switch {
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	}
	return t.UnixNano()
}

// TryConsume takes n tokens, all or none, and tells whether it did. A negative
// n takes nothing and is false; for 0 it tells whether a token is there.
func (l *Local) TryConsume(n int64) bool {
	return l.Consume(n).Consumed
}

// Consume takes n tokens, all or none, and tells what is left and how long to
// wait. A negative n is refused for ever.
func (l *Local) Consume(n int64) Probe {
	return l.do(Operation{OpConsume, n}).Probe
}

// ConsumeUpTo takes as many of n tokens as there are and returns how many.
func (l *Local) ConsumeUpTo(n int64) int64 {
	return l.do(Operation{OpConsumeUpTo, n}).Tokens
}

// Estimate tells what Consume would answer and takes nothing.
func (l *Local) Estimate(n int64) Probe {
	return l.do(Operation{OpEstimate, n}).Probe
}

// Available is how many tokens could be taken now; negative: debt.
func (l *Local) Available() int64 {
	return l.do(Operation{Kind: OpInspect}).RemainingTokens
}

// Add puts n tokens into each bandwidth, stopping at its capacity, and returns
// what is then available. A negative n changes nothing.
func (l *Local) Add(n int64) int64 {
	return l.do(Operation{OpAdd, max(n, 0)}).RemainingTokens
}

// Reset fills every bandwidth to its capacity.
func (l *Local) Reset() { l.do(Operation{Kind: OpReset}) }

// Inspect tells everything about the bucket.
func (l *Local) Inspect() Snapshot {
	return SnapshotOf(l.do(Operation{Kind: OpInspect}))
}

// Bucket is the same bucket as the interface that remote ones share. Its
// methods report bad input, and a context that is already done, as errors.
func (l *Local) Bucket() Bucket { return NewVia(localBucket{l}) }

// do answers one operation under the lock. The clock is read inside, so that
// instants arrive in order.
func (l *Local) do(op Operation) Result {
	if l.entry.Config.IsZero() {
		return Result{Probe: stateless(DenyAll(), op)}
	}
	if op.Tokens < 0 { // no such thing can ever be
		r := l.do(Operation{Kind: OpInspect})
		r.Never, r.Wait = true, math.MaxInt64
		return r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o := Step(l.entry, Request{Config: l.entry.Config, Op: op}, Moment{Now: l.clock()})
	if o.Change != Keep { // a local bucket lasts, even when full
		l.entry.State = o.Next.State
	}
	return o.Result
}

// localBucket puts contexts and errors around a Local.
type localBucket struct{ l *Local }

// Do answers one operation.
func (b localBucket) Do(ctx context.Context, op Operation) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if b.l.entry.Config.IsZero() {
		return Result{}, &ArgumentError{Field: "configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}
	}
	if err := op.Validate(); err != nil {
		return Result{}, err
	}
	return b.l.do(op), nil
}
