package bucket

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// Local is a bucket in this process's memory. It ticks in nanoseconds on the
// monotonic clock, so that a step of the wall clock changes nothing. All methods
// are safe for concurrent use and never block for long. Make one with [New].
//
// [Local.TryConsume] is the method that most callers want, and never allocates;
// nor do the others with up to four bandwidths, except those that reserve. Local
// has neither contexts nor errors on its own methods; [Local.Bucket] is the same
// bucket as the interface that remote ones share.
type Local struct {
	word     word
	forward  bool // the clock never goes back
	quiet    bool // besides, of a take nobody is told: there is neither a listener nor an err
	waiters  Waiters
	listener Listener
	err      error         // a bad option, told by Bucket's methods
	worded   Configuration // that the word is made for; zero: it is not in use
	mu       sync.Mutex
	entry    Entry // under the lock; its state is in the word unless that is elsewhere
}

// LocalOption changes what [New] makes.
type LocalOption func(*Local)

// WithClock replaces the clock of a local bucket, for tests and simulations.
// The instants are used to the nanosecond; those that int64 nanoseconds cannot
// hold count as the nearest that they can. A nil clock is the default one.
func WithClock(now func() time.Time) LocalOption {
	return func(l *Local) {
		if now != nil {
			l.word.clock, l.forward = counting(func() int64 { return nanos(now()) }), false
		}
	}
}

// WithMonotonicClock replaces the clock of a local bucket by one that counts
// nanoseconds from any instant and never goes back. Then the bucket is as fast as
// on its own clock. A nil clock is the default one.
func WithMonotonicClock(now func() int64) LocalOption {
	return func(l *Local) {
		if now != nil {
			l.word.clock, l.forward = counting(now), true
		}
	}
}

// WithMaxWaiters bounds how many callers may be in Wait at a time; others get
// [ErrTooManyWaiters] at once. The default is no bound. A bound below 1 is the
// error of every operation that has one.
func WithMaxWaiters(n int) LocalOption {
	return func(l *Local) { l.err = l.waiters.SetMost(n) }
}

// WithListener sets who hears what happens to tokens; the default is nobody.
func WithListener(h Listener) LocalOption {
	return func(l *Local) { l.listener = h }
}

// New returns a bucket of the configuration, as it is created. With the zero
// Configuration the bucket refuses everything.
func New(c Configuration, opts ...LocalOption) *Local {
	l := &Local{word: word{clock: monotonic()}, forward: true}
	for _, opt := range opts {
		if opt != nil {
			opt(l)
		}
	}
	l.create(c, l.word.clock.now())
	l.quiet = l.forward && l.listener == nil && l.err == nil
	if l.quiet && l.word.use(c) {
		l.worded = c
		l.release()
	}
	return l
}

// TryConsume takes n tokens, all or none, and tells whether it did. A negative
// n takes nothing and is false; for 0 it tells whether a token is there.
func (l *Local) TryConsume(n int64) bool { return l.word.take(n, l) }

// take decides what the word does not. For a bucket whose clock never goes back and
// that tells nobody it leaves out all that an answer would describe. A refusal settles
// the state too, which on such a clock is the same bucket. A deferred unlock would be
// felt.
func (l *Local) take(n int64) (taken bool) {
	if !l.quiet || n < 1 {
		return l.Consume(n).Consumed
	}
	l.mu.Lock()
	if c, s := l.entry.Config, &l.entry.State; c.Len() > 0 {
		now, rates := l.word.hold(s), c.rates(Nanosecond)
		if taken = s.settle(rates, now) >= n; taken {
			s.charge(rates, n)
		}
		l.release()
	} else {
		taken = c.IsUnlimited()
	}
	l.mu.Unlock()
	return taken
}

// Consume takes n tokens, all or none, and tells what is left and how long to
// wait. A negative n is refused for ever.
func (l *Local) Consume(n int64) Probe {
	return l.do(Operation{Kind: OpConsume, Tokens: n}).Probe
}

// ConsumeUpTo takes as many of n tokens as there are and returns how many.
func (l *Local) ConsumeUpTo(n int64) int64 {
	return l.do(Operation{Kind: OpConsumeUpTo, Tokens: n}).Tokens
}

// Estimate tells what Consume would answer and takes nothing.
func (l *Local) Estimate(n int64) Probe {
	return l.do(Operation{Kind: OpEstimate, Tokens: n}).Probe
}

// Available is how many tokens could be taken now; negative: debt.
func (l *Local) Available() int64 {
	return l.do(Operation{Kind: OpInspect}).RemainingTokens
}

// Add puts n tokens into each bandwidth, stopping at its capacity, and returns
// what is then available. A negative n changes nothing.
func (l *Local) Add(n int64) int64 {
	return l.do(Operation{Kind: OpAdd, Tokens: max(n, 0)}).RemainingTokens
}

// Force takes n tokens, into debt if need be, and tells how long the take would
// have had to wait. A negative n, or a debt that int64 cannot hold, changes
// nothing and is answered as refused for ever.
func (l *Local) Force(n int64) Probe {
	return l.do(Operation{Kind: OpForce, Tokens: n}).Probe
}

// ForceAdd adds n tokens, above the capacity if need be, and returns what is
// then available. A negative n changes nothing.
func (l *Local) ForceAdd(n int64) int64 {
	return l.do(Operation{Kind: OpForceAdd, Tokens: max(n, 0)}).RemainingTokens
}

// Reserve takes n tokens that may be used after a wait of at most longest; see
// [Bucket].
func (l *Local) Reserve(n int64, longest time.Duration) (*Reservation, error) {
	return reserve(context.Background(), localBucket{l}, n, longest)
}

// Wait takes n tokens and returns when they may be used; see [Bucket].
func (l *Local) Wait(ctx context.Context, n int64) error {
	return l.Bucket().Wait(ctx, n)
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

// do answers one operation; what has no answer is refused for ever.
func (l *Local) do(op Operation) Result {
	r, err := l.try(op, Configuration{})
	if err == nil {
		tell(context.Background(), l.listener, op, r.Probe)
		return r
	}
	if r, err = l.try(Operation{Kind: OpInspect}, Configuration{}); err != nil {
		return Result{Probe: stateless(DenyAll(), op)}
	}
	r.Never, r.Wait = true, math.MaxInt64
	return r
}

// try carries out one operation under the lock, under its own configuration or
// the declared one. The clock is read inside, so that instants arrive in order.
func (l *Local) try(op Operation, declared Configuration) (r Result, err error) {
	if err := errors.Join(l.err, op.Validate()); err != nil {
		return Result{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	config := l.entry.Config
	if declared.IsZero() {
		declared = config
	}
	if declared.IsZero() {
		return Result{}, &ArgumentError{Field: "configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}
	}
	now := l.word.hold(&l.entry.State)
	defer l.release()
	if op.Kind == OpReplace && (config.Stateless() || declared.Stateless()) {
		l.create(declared, now)
		return Result{Replaced: true}, nil
	}
	next := l.entry
	f, err := next.Step(&r, &Request{Config: declared, Op: op}, Moment{Now: now})
	if f.Change != Keep { // a local bucket lasts, even when full
		l.entry = next
	}
	return r, err
}

// create starts anew under a configuration.
func (l *Local) create(c Configuration, now int64) {
	l.entry = Entry{Config: c}
	if c.Len() > 0 {
		l.entry.State = born(c.rates(Nanosecond), now)
	}
}

// release puts the state back into the word, if there is one.
func (l *Local) release() {
	if l.word.capacity > 0 {
		l.pack()
	}
}

// pack does so under the configuration that the word is made for.
func (l *Local) pack() {
	if l.entry.Config.Equal(l.worded) {
		l.word.release(&l.entry.State)
	}
}

// localBucket puts contexts and errors around a Local.
type localBucket struct{ l *Local }

// Do answers one operation.
func (b localBucket) Do(ctx context.Context, op Operation) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return b.l.try(op, Configuration{})
}

// Replace puts another configuration in force.
func (b localBucket) Replace(ctx context.Context, c Configuration, strategy Inheritance) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if c.IsZero() {
		return Result{}, &ArgumentError{Field: "configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}
	}
	return b.l.try(Operation{Kind: OpReplace, Strategy: strategy}, c)
}

// Listener hears what happens to tokens.
func (b localBucket) Listener() Listener { return b.l.listener }

// Waiters counts those who wait.
func (b localBucket) Waiters() *Waiters { return &b.l.waiters }
