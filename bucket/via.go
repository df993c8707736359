package bucket

import (
	"context"
	"time"
)

// Executor carries out operations on one bucket.
type Executor interface {
	// Do carries out an operation.
	Do(ctx context.Context, op Operation) (Result, error)
	// Replace puts another configuration in force.
	Replace(ctx context.Context, c Configuration, strategy Inheritance) (Result, error)
	// Waiters counts those who wait.
	Waiters() *Waiters
	// Listener hears what happens to tokens; nil if nobody does.
	Listener() Listener
}

// do carries out an operation and tells of it.
func do[E Executor](ctx context.Context, e E, op Operation) (Result, error) {
	r, err := e.Do(ctx, op)
	if l := e.Listener(); l != nil && err == nil && r.Measured() {
		tell(ctx, l, op, r.Probe)
	}
	return r, err
}

// Via is the [Bucket] all of whose methods go through one executor. It is how
// every kind of bucket gets the same methods.
type Via[E Executor] struct{ executor E }

// NewVia returns the bucket that e carries out.
func NewVia[E Executor](e E) Via[E] { return Via[E]{e} }

// TryConsume takes n tokens, all or none, and tells whether it did.
func (v Via[E]) TryConsume(ctx context.Context, n int64) (bool, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpConsume, Tokens: n})
	return r.Consumed, err
}

// Consume takes n tokens, all or none, and tells what is left and how long to
// wait. Cost 0 takes nothing: it tells whether a token is there.
func (v Via[E]) Consume(ctx context.Context, n int64) (Probe, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpConsume, Tokens: n})
	return r.Probe, err
}

// ConsumeUpTo takes as many of n tokens as there are.
func (v Via[E]) ConsumeUpTo(ctx context.Context, n int64) (Probe, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpConsumeUpTo, Tokens: n})
	return r.Probe, err
}

// Estimate tells what Consume would answer and takes nothing.
func (v Via[E]) Estimate(ctx context.Context, n int64) (Probe, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpEstimate, Tokens: n})
	return r.Probe, err
}

// Available is how many tokens could be taken now; negative: debt.
func (v Via[E]) Available(ctx context.Context) (int64, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpInspect})
	return r.RemainingTokens, err
}

// Add puts n tokens into each bandwidth, stopping at its capacity, and returns
// what is then available.
func (v Via[E]) Add(ctx context.Context, n int64) (int64, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpAdd, Tokens: n})
	return r.RemainingTokens, err
}

// Reset fills every bandwidth to its capacity.
func (v Via[E]) Reset(ctx context.Context) error {
	_, err := do(ctx, v.executor, Operation{Kind: OpReset})
	return err
}

// Inspect tells everything about the bucket and leaves no trace.
func (v Via[E]) Inspect(ctx context.Context) (Snapshot, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpInspect})
	return SnapshotOf(r), err
}

// Force takes n tokens, into debt if need be, and tells how long the take would
// have had to wait.
func (v Via[E]) Force(ctx context.Context, n int64) (Probe, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpForce, Tokens: n})
	return r.Probe, err
}

// ForceAdd adds n tokens, above the capacity if need be, and returns what is
// then available.
func (v Via[E]) ForceAdd(ctx context.Context, n int64) (int64, error) {
	r, err := do(ctx, v.executor, Operation{Kind: OpForceAdd, Tokens: n})
	return r.RemainingTokens, err
}

// Reserve takes n tokens that may be used after a wait of at most longest.
func (v Via[E]) Reserve(ctx context.Context, n int64, longest time.Duration) (*Reservation, error) {
	return reserve(ctx, v.executor, n, longest)
}

// Wait takes n tokens and returns when they may be used, in order of arrival.
func (v Via[E]) Wait(ctx context.Context, n int64) error {
	w := v.executor.Waiters()
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	err := wait(ctx, v.executor, n)
	if l := v.executor.Listener(); l != nil && err == nil {
		l.Tell(ctx, Event{Kind: Waited, Tokens: n})
	}
	return err
}

// Replace puts another configuration in force; the tokens pass to it by the
// strategy.
func (v Via[E]) Replace(ctx context.Context, c Configuration, strategy Inheritance) error {
	r, err := v.executor.Replace(ctx, c, strategy)
	if err == nil {
		tell(ctx, v.executor.Listener(), Operation{Kind: OpReplace}, r.Probe)
	}
	return err
}

// ExecutorOf is what carries a bucket out, for those who make buckets of their own
// kind of it.
func ExecutorOf[E Executor](v Via[E]) E { return v.executor }
