package bucket

import "context"

// Executor carries out operations on one bucket.
type Executor interface {
	Do(ctx context.Context, op Operation) (Result, error)
}

// Via is the [Bucket] all of whose methods go through one executor. It is how
// every kind of bucket gets the same methods.
type Via[E Executor] struct{ executor E }

// NewVia returns the bucket that e carries out.
func NewVia[E Executor](e E) Via[E] { return Via[E]{e} }

// TryConsume takes n tokens, all or none, and tells whether it did.
func (v Via[E]) TryConsume(ctx context.Context, n int64) (bool, error) {
	r, err := v.executor.Do(ctx, Operation{OpConsume, n})
	return r.Consumed, err
}

// Consume takes n tokens, all or none, and tells what is left and how long to
// wait. Cost 0 takes nothing: it tells whether a token is there.
func (v Via[E]) Consume(ctx context.Context, n int64) (Probe, error) {
	r, err := v.executor.Do(ctx, Operation{OpConsume, n})
	return r.Probe, err
}

// ConsumeUpTo takes as many of n tokens as there are.
func (v Via[E]) ConsumeUpTo(ctx context.Context, n int64) (Probe, error) {
	r, err := v.executor.Do(ctx, Operation{OpConsumeUpTo, n})
	return r.Probe, err
}

// Estimate tells what Consume would answer and takes nothing.
func (v Via[E]) Estimate(ctx context.Context, n int64) (Probe, error) {
	r, err := v.executor.Do(ctx, Operation{OpEstimate, n})
	return r.Probe, err
}

// Available is how many tokens could be taken now; negative: debt.
func (v Via[E]) Available(ctx context.Context) (int64, error) {
	r, err := v.executor.Do(ctx, Operation{Kind: OpInspect})
	return r.RemainingTokens, err
}

// Add puts n tokens into each bandwidth, stopping at its capacity, and returns
// what is then available.
func (v Via[E]) Add(ctx context.Context, n int64) (int64, error) {
	r, err := v.executor.Do(ctx, Operation{OpAdd, n})
	return r.RemainingTokens, err
}

// Reset fills every bandwidth to its capacity.
func (v Via[E]) Reset(ctx context.Context) error {
	_, err := v.executor.Do(ctx, Operation{Kind: OpReset})
	return err
}

// Inspect tells everything about the bucket and leaves no trace.
func (v Via[E]) Inspect(ctx context.Context) (Snapshot, error) {
	r, err := v.executor.Do(ctx, Operation{Kind: OpInspect})
	return SnapshotOf(r), err
}
