package proxy

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// AllowOnFailure serves those who ask for tokens while b is in trouble: consuming,
// forcing, estimating and reserving are answered as by a full bucket, so a cost
// above the capacity is still never possible; of a bucket with a supplier nobody
// knows the capacity, and any cost is served. Nothing is counted then. Other
// operations keep the error.
//
// Trouble is [ErrUnavailable] and [ErrOutcomeUnknown]: no answer came, also because
// the manager's timeout or the caller's deadline passed. A call that failed so may
// still have been charged. A caller who cancelled keeps his error, and so does one
// whose key is contended or holds something foreign: the store is well.
//
// The answer says that it was not measured ([bucket.SourcePolicy]), and an observer
// hears of the failure behind it as [StoreFailed].
func AllowOnFailure(b Backend) Backend {
	return &policy{b, func(c *Charge) (bucket.Probe, bool) {
		if !asks(c.Op.Kind) {
			return bucket.Probe{}, false
		}
		n, most := c.Op.Tokens, leastCapacity(c.Config)
		switch {
		case n <= most || c.Op.Kind == bucket.OpForce:
		case c.Op.Kind == bucket.OpConsumeUpTo:
			n = most
		default:
			return bucket.Probe{Never: true, Wait: math.MaxInt64}, true
		}
		if c.Op.Kind == bucket.OpEstimate {
			n = 0 // takes none
		}
		return bucket.Probe{Consumed: true, Tokens: n}, true
	}}
}

// leastCapacity is what a bucket can hold at most; without a configuration
// anything.
func leastCapacity(c bucket.Configuration) int64 {
	most := int64(math.MaxInt64)
	for _, b := range c.Bandwidths() {
		most = min(most, b.Capacity())
	}
	return most
}

// DefaultDenyWait is the wait that refusals of [DenyOnFailure] tell of.
const DefaultDenyWait = time.Second

// DenyOnFailure refuses consuming and estimating while b is in trouble, with
// [DefaultDenyWait]. Other operations keep the error: a forced one cannot be
// refused, and a reservation is refused by its error. Otherwise it is as
// [AllowOnFailure].
func DenyOnFailure(b Backend) Backend {
	return &policy{b, func(c *Charge) (bucket.Probe, bool) {
		denies := asks(c.Op.Kind) && c.Op.Kind != bucket.OpForce && c.Op.Kind != bucket.OpReserve
		return bucket.Probe{Wait: DefaultDenyWait}, denies
	}}
}

// asks tells whether an operation asks for tokens.
func asks(k bucket.Kind) bool {
	switch k {
	case bucket.OpConsume, bucket.OpConsumeUpTo, bucket.OpEstimate, bucket.OpForce, bucket.OpReserve:
		return true
	}
	return false
}

// policy answers in place of a backend that fails.
type policy struct {
	Backend
	answer func(*Charge) (_ bucket.Probe, ok bool)
}

func (p *policy) Do(ctx context.Context, ds []Decision) {
	p.Backend.Do(ctx, ds)
	for i := range ds {
		d := &ds[i]
		if !inTrouble(ctx, d.Err) || len(d.Charges) != 1 {
			continue
		}
		charge := &d.Charges[0]
		if probe, ok := p.answer(charge); ok {
			probe.Source, probe.Configuration = bucket.SourcePolicy, charge.Config
			d.Results[0] = bucket.Result{Probe: probe}
			d.Failure, d.Err = d.Err, nil
		}
	}
}

// Validate tells what the backend has to tell.
func (p *policy) Validate() error { return validate(p.Backend) }

// Recall answers what the backend can at once.
func (p *policy) Recall(d *Decision) bool { return recall(p.Backend, d) }

// NonBlocking tells whether the backend never blocks.
func (p *policy) NonBlocking() bool { return nonBlocking(p.Backend) }

// inTrouble tells whether a store failed, and not just its caller left.
func inTrouble(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() == context.Canceled || errors.Is(err, ErrContended) {
		return false
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, context.DeadlineExceeded)
}
