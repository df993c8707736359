package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// What happens to a caller while the store is in trouble is for the service to
// choose: by default it gets the error; [AllowOnFailure] serves it,
// [DenyOnFailure] refuses it, and [FallBack] asks another store. They wrap a
// backend and may be combined, the outer one being asked last.
//
//	backend := proxy.AllowOnFailure(goredis.New(client))
//
// Trouble is that no answer came: ErrUnavailable, ErrOutcomeUnknown or
// ErrContended, also because the manager's timeout or the caller's deadline
// passed. A caller who cancelled gets his own error. So does one who finds
// something foreign under his key: the store is well.
//
// Such an answer carries its bucket.Source, an observer hears of the failure
// behind it as StoreFailed, and the failed call may still have been charged.

// AllowOnFailure serves consuming, estimating and reserving, as if every token
// were there, when b fails; nothing is counted then. Other operations keep the
// error.
func AllowOnFailure(b Backend) Backend {
	return &policy{b, func(op bucket.Operation) (bucket.Probe, bool) {
		return bucket.Probe{Consumed: true, Tokens: op.Tokens}, asks(op.Kind)
	}}
}

// DefaultDenyWait is the wait that refusals of [DenyOnFailure] tell of.
const DefaultDenyWait = time.Second

// DenyOnFailure refuses consuming and estimating when b fails, with
// [DefaultDenyWait]. Other operations keep the error: a forced one cannot be
// refused, and a reservation is refused by its error.
func DenyOnFailure(b Backend) Backend {
	return &policy{b, func(op bucket.Operation) (bucket.Probe, bool) {
		denies := asks(op.Kind) && op.Kind != bucket.OpForce && op.Kind != bucket.OpReserve
		return bucket.Probe{Wait: DefaultDenyWait, NextToken: DefaultDenyWait}, denies
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
	answer func(bucket.Operation) (_ bucket.Probe, ok bool)
}

func (p *policy) Do(ctx context.Context, ds []Decision) {
	p.Backend.Do(ctx, ds)
	for i := range ds {
		d := &ds[i]
		if !inTrouble(ctx, d.Err) || len(d.Charges) != 1 {
			continue
		}
		charge := &d.Charges[0]
		if probe, ok := p.answer(charge.Op); ok {
			probe.Source, probe.Configuration = bucket.SourcePolicy, charge.Config
			d.Results[0] = bucket.Result{Probe: probe}
			d.Failure, d.Err = d.Err, nil
		}
	}
}

// Validate tells what the backend has to tell.
func (p *policy) Validate() error { return validate(p.Backend) }

// NonBlocking tells whether the backend never blocks.
func (p *policy) NonBlocking() bool { return nonBlocking(p.Backend) }

// inTrouble tells whether a store failed, and not just its caller left.
func inTrouble(ctx context.Context, err error) bool {
	if ctx.Err() == context.Canceled {
		return false
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrContended)
}
