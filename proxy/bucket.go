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

// TryConsume takes n tokens, all or none, and tells whether it did. Where only
// that is asked for, the whole answer need not be handed up, and a backend may have
// a shorter way.
func (b Bucket) TryConsume(ctx context.Context, n int64) (bool, error) {
	r := bucket.ExecutorOf(b.Via)
	if n < 1 || r.check(ctx) != nil || !r.plain() {
		return b.Via.TryConsume(ctx, n)
	}
	m := r.origin.manager
	if m.taker != nil {
		return m.taker.TryConsume(r.key, r.config, n, m.storedRules, m.life.Jittered())
	}
	return m.take(ctx, r.key, r.config, n)
}

// remote carries out operations on one key. It is passed by value all the way:
// with more than four words that would not be in registers.
type remote struct {
	origin *origin
	key    string
	config bucket.Configuration
}

// origin is where a handle comes from. All plain ones of a manager share one.
type origin struct {
	manager *Manager
	supply  func(context.Context) (bucket.Configuration, error)
	err     error // what was wrong when the handle was made
}

func (m *Manager) failed(err error) remote { return remote{origin: &origin{manager: m, err: err}} }

// check tells why no operation can be carried out.
func (r remote) check(ctx context.Context) error {
	switch {
	case r.origin == nil:
		return &bucket.ArgumentError{Field: "bucket", Value: "zero value", Allowed: "one made by a Manager"}
	case r.origin.err != nil:
		return r.origin.err
	case r.origin.manager.closed.Load():
		if err := ctx.Err(); err != nil {
			return err
		}
		return ErrClosed
	}
	return ctx.Err()
}

// plain tells that nothing has to be done but to take.
func (r remote) plain() bool {
	m := r.origin.manager
	return m.listener == nil && r.origin.supply == nil && !r.config.Stateless()
}

// Do carries out one operation.
func (r remote) Do(ctx context.Context, op bucket.Operation) (bucket.Result, error) {
	if err := r.check(ctx); err != nil {
		return bucket.Result{}, err
	}
	if err := op.Validate(); err != nil {
		return bucket.Result{}, err
	}
	if r.origin.supply != nil {
		return r.supplied(ctx, op)
	}
	return r.under(ctx, op)
}

// Replace puts another configuration in force. One without bandwidths has no
// stored form.
func (r remote) Replace(ctx context.Context, c bucket.Configuration, strategy bucket.Inheritance) (bucket.Result, error) {
	if r.origin != nil && r.origin.err == nil {
		m := r.origin.manager
		r.origin, r.config = &m.origin, c
		if c.Len() == 0 {
			r = m.failed(&bucket.ArgumentError{Field: "configuration", Value: "without bandwidths", Allowed: "one made by NewConfiguration"})
		}
	}
	return r.Do(ctx, bucket.Operation{Kind: bucket.OpReplace, Strategy: strategy})
}

// Listener hears what happens to tokens.
func (r remote) Listener() bucket.Listener {
	if r.origin == nil {
		return nil
	}
	return r.origin.manager.listener
}

// Waiters counts those who wait for buckets of the manager.
func (r remote) Waiters() *bucket.Waiters {
	if r.origin == nil {
		return new(bucket.Waiters) // whoever enters is told that there is no manager
	}
	return &r.origin.manager.waiters
}

// supplied tries what is stored, and asks for a configuration only if nothing
// is.
func (r remote) supplied(ctx context.Context, op bucket.Operation) (bucket.Result, error) {
	res, err := r.origin.manager.do(ctx, r.key, bucket.Configuration{}, op, true)
	if err != nil || res.Existed || !res.Measured() {
		return res, err
	}
	c, err := r.origin.supply(ctx)
	if err != nil {
		return bucket.Result{}, err
	}
	if c.IsZero() {
		return bucket.Result{}, &bucket.ArgumentError{Field: "supplied configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}
	}
	r.config = c
	return r.under(ctx, op)
}

// under carries out an operation under the configuration of the handle.
func (r remote) under(ctx context.Context, op bucket.Operation) (bucket.Result, error) {
	if r.config.Stateless() {
		return bucket.Step(bucket.Entry{}, bucket.Request{Config: r.config, Op: op}, bucket.Moment{}).Result, nil
	}
	return r.origin.manager.do(ctx, r.key, r.config, op, r.origin.supply != nil)
}
