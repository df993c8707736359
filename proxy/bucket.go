package proxy

import (
	"context"

	"github.com/sluice-go/sluice/bucket"
)

// Bucket is a bucket whose state lives in a store: a small value, safe for
// concurrent use, made by [Manager.Bucket]. Its methods are those of
// [bucket.Bucket]. Each is one round trip to the store, bounded by the context
// and the manager's timeout; how a round trip can fail is told at [StoreError].
// A context that is already done charges nothing and is returned as it is.
type Bucket struct{ bucket.Via[remote] }

var _ bucket.Bucket = Bucket{}

// remote carries out operations on one key.
type remote struct {
	manager *Manager
	key     string
	config  bucket.Configuration
	supply  func(context.Context) (bucket.Configuration, error)
	err     error // what was wrong when the handle was made
}

// Do carries out one operation.
func (r remote) Do(ctx context.Context, op bucket.Operation) (bucket.Result, error) {
	switch {
	case r.manager == nil:
		return bucket.Result{}, &bucket.ArgumentError{Field: "bucket", Value: "zero value", Allowed: "one made by a Manager"}
	case r.err != nil:
		return bucket.Result{}, r.err
	case ctx.Err() != nil:
		return bucket.Result{}, ctx.Err()
	case r.manager.closed.Load():
		return bucket.Result{}, ErrClosed
	}
	if err := op.Validate(); err != nil {
		return bucket.Result{}, err
	}
	if r.supply != nil {
		return r.supplied(ctx, op)
	}
	return r.under(ctx, r.config, op)
}

// Replace puts another configuration in force. One without bandwidths has no
// stored form.
func (r remote) Replace(ctx context.Context, c bucket.Configuration, strategy bucket.Inheritance) (bucket.Result, error) {
	if r.err == nil && c.Len() == 0 {
		r.err = &bucket.ArgumentError{Field: "configuration", Value: "without bandwidths", Allowed: "one made by NewConfiguration"}
	}
	r.config, r.supply = c, nil
	return r.Do(ctx, bucket.Operation{Kind: bucket.OpReplace, Strategy: strategy})
}

// Listener hears what happens to tokens.
func (r remote) Listener() bucket.Listener {
	if r.manager == nil {
		return nil
	}
	return r.manager.listener
}

// Waiters counts those who wait for buckets of the manager.
func (r remote) Waiters() *bucket.Waiters {
	if r.manager == nil {
		return new(bucket.Waiters) // whoever enters is told that there is no manager
	}
	return &r.manager.waiters
}

// supplied tries what is stored, and asks for a configuration only if nothing
// is.
func (r remote) supplied(ctx context.Context, op bucket.Operation) (bucket.Result, error) {
	res, err := r.under(ctx, bucket.Configuration{}, op)
	if err != nil || res.Existed || !res.Measured() {
		return res, err
	}
	c, err := r.supply(ctx)
	if err != nil {
		return bucket.Result{}, err
	}
	if c.IsZero() {
		return bucket.Result{}, &bucket.ArgumentError{Field: "supplied configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}
	}
	return r.under(ctx, c, op)
}

func (r remote) under(ctx context.Context, c bucket.Configuration, op bucket.Operation) (bucket.Result, error) {
	req := bucket.Request{Config: c, StoredRules: r.manager.storedRules || r.supply != nil, Op: op}
	if c.Stateless() {
		return bucket.Step(bucket.Entry{}, req, bucket.Moment{}).Result, nil
	}
	return r.manager.do(ctx, Charge{Key: r.key, Request: req, Rule: r.manager.life}, r.supply != nil && c.IsZero())
}
