package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
)

// Of is the target that a bucket is by its own methods, for a [Subject] that is
// Local; set moves the clock of the bucket to an instant, in ticks. What a method
// does not tell is completed by an inspection at the same instant.
func Of(b bucket.Bucket, set func(now int64)) Target { return &methods{b, set} }

type methods struct {
	bucket.Bucket
	set func(now int64)
}

func (m *methods) Do(req bucket.Request, _ expiration.Rule, now int64) (bucket.Result, error) {
	m.set(now)
	ctx := context.Background()
	var p bucket.Probe
	var err error
	switch n := req.Op.Tokens; req.Op.Kind {
	case bucket.OpConsume:
		p, err = m.Consume(ctx, n)
	case bucket.OpConsumeUpTo:
		p, err = m.ConsumeUpTo(ctx, n)
	case bucket.OpEstimate:
		p, err = m.Estimate(ctx, n)
	case bucket.OpForce:
		p, err = m.Force(ctx, n)
	case bucket.OpReserve:
		p, err = m.reserved(ctx, n, req.Op.LongestWait)
	case bucket.OpAdd:
		p, err = m.added(ctx, n, m.Add)
	case bucket.OpForceAdd:
		p, err = m.added(ctx, n, m.ForceAdd)
	case bucket.OpReset:
		p, err = m.seen(ctx, m.Reset(ctx))
	default:
		p, err = m.seen(ctx, nil)
	}
	return bucket.Result{Probe: p, Existed: true}, err
}

// Forget is never called: the bucket lasts.
func (m *methods) Forget(int64) error { return errors.New("a local bucket is never forgotten") }

// reserved is the answer to a reservation; a refusal is that of the same cost.
func (m *methods) reserved(ctx context.Context, n int64, longest time.Duration) (bucket.Probe, error) {
	r, err := m.Reserve(ctx, n, longest)
	if errors.Is(err, bucket.ErrNever) || errors.Is(err, bucket.ErrTooLate) {
		p, err := m.Estimate(ctx, n)
		if err == nil && p.Consumed {
			err = errors.New("refused to reserve what is there")
		}
		return p, err
	}
	if err != nil {
		return bucket.Probe{}, err
	}
	return r.Probe, nil
}

func (m *methods) added(ctx context.Context, n int64, add func(context.Context, int64) (int64, error)) (bucket.Probe, error) {
	available, err := add(ctx, n)
	p, err := m.seen(ctx, err)
	if err == nil && available != p.RemainingTokens {
		err = fmt.Errorf("%d are told to be available, inspect tells %d", available, p.RemainingTokens)
	}
	return p, err
}

func (m *methods) seen(ctx context.Context, err error) (bucket.Probe, error) {
	if err != nil {
		return bucket.Probe{}, err
	}
	s, err := m.Inspect(ctx)
	if err == nil && !s.Stored {
		err = errors.New("inspect tells of no state")
	}
	return s.Probe, err
}
