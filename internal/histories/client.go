package histories

import (
	"context"
	"errors"
	"strconv"

	"github.com/sluice-go/sluice/bucket"
)

// kinds are what clients do, as often as they stand here.
var kinds = []bucket.Kind{
	bucket.OpConsume, bucket.OpConsume, bucket.OpConsume, bucket.OpConsume, bucket.OpConsumeUpTo, bucket.OpConsumeUpTo,
	bucket.OpAdd, bucket.OpAdd, bucket.OpForce, bucket.OpReserve, bucket.OpReserve, bucket.OpRefund, bucket.OpRefund,
	bucket.OpEstimate, bucket.OpInspect, bucket.OpReset, bucket.OpRemove,
}

// choose picks the next call. Nothing reserved, nothing to cancel: then it is a look.
func (c *client) choose() call {
	next := call{key: c.random.IntN(c.keys), kind: kinds[c.random.IntN(len(kinds))], n: c.random.Int64N(4)}
	if c.pressing && c.random.IntN(5) > 0 {
		next.kind, next.n = bucket.OpConsume, next.n+1
	}
	switch next.kind {
	case bucket.OpReserve:
		next.n += 1 + 7*c.random.Int64N(2) // up to 11, which is never met
	case bucket.OpRefund:
		r := c.reserved[next.key]
		if r == nil {
			return call{key: next.key, kind: bucket.OpInspect}
		}
		next.n = r.Tokens
	case bucket.OpInspect, bucket.OpReset, bucket.OpRemove:
		next.n = 0
	}
	return next
}

// do makes a call by the method that users call.
func (c *client) do(asked call) (answer, error) {
	ctx, key := context.Background(), strconv.Itoa(asked.key)
	b := c.manager.Bucket(key, limit)
	switch asked.kind {
	case bucket.OpConsume:
		return probed(b.Consume(ctx, asked.n))
	case bucket.OpConsumeUpTo:
		return probed(b.ConsumeUpTo(ctx, asked.n))
	case bucket.OpEstimate:
		return probed(b.Estimate(ctx, asked.n))
	case bucket.OpForce:
		return probed(b.Force(ctx, asked.n))
	case bucket.OpInspect:
		left, err := b.Available(ctx)
		return answer{left: left}, err
	case bucket.OpAdd:
		left, err := b.Add(ctx, asked.n)
		return answer{left: left}, err
	case bucket.OpReserve:
		r, err := b.Reserve(ctx, asked.n, longest)
		if errors.Is(err, bucket.ErrNever) || errors.Is(err, bucket.ErrTooLate) {
			return answer{}, nil
		}
		if err != nil {
			return answer{}, err
		}
		c.reserved[asked.key] = r
		return probed(r.Probe, nil)
	case bucket.OpRefund:
		r := c.reserved[asked.key]
		c.reserved[asked.key] = nil
		return answer{}, r.Cancel(ctx)
	case bucket.OpReset:
		return answer{}, b.Reset(ctx)
	default:
		existed, err := c.manager.Remove(ctx, key)
		return answer{existed: existed}, err
	}
}

func probed(p bucket.Probe, err error) (answer, error) {
	return answer{consumed: p.Consumed, taken: p.Tokens, left: p.RemainingTokens}, err
}
