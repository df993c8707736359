package trace_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/trace"
)

// A bucket of this process, by its own methods and by those of the interface
// that all buckets share.
func TestLocal(t *testing.T) {
	run(t, localSubject("bucket.Local", func(c bucket.Configuration, clock bucket.LocalOption) localMethods {
		return direct{bucket.New(c, clock)}
	}))
}

func TestLocalBucket(t *testing.T) {
	run(t, localSubject("bucket.Local as a Bucket", func(c bucket.Configuration, clock bucket.LocalOption) localMethods {
		return shared{bucket.New(c, clock).Bucket()}
	}))
}

func localSubject(name string, make func(bucket.Configuration, bucket.LocalOption) localMethods) trace.Subject {
	return trace.Subject{
		Name:  name,
		Tick:  bucket.Nanosecond,
		Local: true,
		New: func(s trace.Start) (trace.Target, error) {
			l := &localTarget{now: s.Now}
			l.localMethods = make(s.Config, bucket.WithClock(func() time.Time { return time.Unix(0, l.now) }))
			return l, nil
		},
	}
}

// localMethods is what both ways to a local bucket have; each answers as much
// as its method tells.
type localMethods interface {
	consume(n int64) (bucket.Probe, error)
	consumeUpTo(n int64) (bucket.Probe, error)
	estimate(n int64) (bucket.Probe, error)
	add(n int64) (available int64, err error)
	force(n int64) (bucket.Probe, error)
	forceAdd(n int64) (available int64, err error)
	reserve(n int64, longest time.Duration) (*bucket.Reservation, error)
	reset() error
	inspect() (bucket.Snapshot, error)
}

// localTarget completes what a method does not tell by an inspection at the
// same instant.
type localTarget struct {
	localMethods
	now int64
}

func (l *localTarget) Do(req bucket.Request, _ expiration.Rule, now int64) (bucket.Result, error) {
	l.now = now
	var p bucket.Probe
	var err error
	switch n := req.Op.Tokens; req.Op.Kind {
	case bucket.OpConsume:
		p, err = l.consume(n)
	case bucket.OpConsumeUpTo:
		p, err = l.consumeUpTo(n)
	case bucket.OpEstimate:
		p, err = l.estimate(n)
	case bucket.OpAdd:
		var available int64
		available, err = l.add(n)
		p, err = l.seen(err)
		if available != p.RemainingTokens {
			err = fmt.Errorf("add tells %d available, inspect %d", available, p.RemainingTokens)
		}
	case bucket.OpForceAdd:
		var available int64
		available, err = l.forceAdd(n)
		p, err = l.seen(err)
		if available != p.RemainingTokens {
			err = fmt.Errorf("force-add tells %d available, inspect %d", available, p.RemainingTokens)
		}
	case bucket.OpForce:
		p, err = l.force(n)
	case bucket.OpReserve:
		p, err = l.reserved(n, req.Op.LongestWait)
	case bucket.OpReset:
		p, err = l.seen(l.reset())
	default:
		p, err = l.seen(nil)
	}
	return bucket.Result{Probe: p, Existed: true}, err
}

// reserved is the answer to a reservation; a refusal is that of the same cost.
func (l *localTarget) reserved(n int64, longest time.Duration) (bucket.Probe, error) {
	r, err := l.reserve(n, longest)
	if errors.Is(err, bucket.ErrNever) || errors.Is(err, bucket.ErrTooLate) {
		p, err := l.estimate(n)
		if err == nil && p.Consumed {
			err = fmt.Errorf("refused to reserve what is there")
		}
		return p, err
	}
	if err != nil {
		return bucket.Probe{}, err
	}
	return r.Probe, nil
}

func (l *localTarget) seen(err error) (bucket.Probe, error) {
	if err != nil {
		return bucket.Probe{}, err
	}
	s, err := l.inspect()
	if err == nil && !s.Stored {
		err = fmt.Errorf("inspect tells of no state")
	}
	return s.Probe, err
}

func (l *localTarget) Forget() error { return fmt.Errorf("a local bucket is never forgotten") }

// direct is a local bucket by its own methods. TryConsume stands for Consume,
// since it has the shortest way of its own; what it does not tell, the methods
// beside it do.
type direct struct{ *bucket.Local }

func (d direct) consume(n int64) (bucket.Probe, error) {
	before := d.Available()
	if !d.TryConsume(n) {
		return d.Estimate(n), nil // a refusal has changed nothing
	}
	p := d.Inspect().Probe
	p.Consumed, p.Tokens = true, n
	if d.Available() != before-n {
		return p, fmt.Errorf("%d available before taking %d, %d after", before, n, d.Available())
	}
	return p, nil
}

func (d direct) consumeUpTo(n int64) (bucket.Probe, error) {
	if d.Available() <= 0 {
		if took := d.ConsumeUpTo(n); took != 0 {
			return bucket.Probe{}, fmt.Errorf("took %d of nothing", took)
		}
		return d.Estimate(0), nil
	}
	took := d.ConsumeUpTo(n)
	p := d.Inspect().Probe
	p.Consumed, p.Tokens = true, took
	return p, nil
}

func (d direct) estimate(n int64) (bucket.Probe, error) { return d.Estimate(n), nil }
func (d direct) add(n int64) (int64, error)             { return d.Add(n), nil }
func (d direct) inspect() (bucket.Snapshot, error)      { return d.Inspect(), nil }

func (d direct) forceAdd(n int64) (int64, error) { return d.ForceAdd(n), nil }

func (d direct) force(n int64) (bucket.Probe, error) {
	p := d.Force(n)
	if p.Never {
		return p, errors.New("a debt beyond int64")
	}
	return p, nil
}

func (d direct) reserve(n int64, longest time.Duration) (*bucket.Reservation, error) {
	return d.Reserve(n, longest)
}

func (d direct) reset() error {
	d.Reset()
	return nil
}

// shared is a bucket by the interface.
type shared struct{ bucket.Bucket }

func (s shared) consume(n int64) (bucket.Probe, error) {
	return s.Consume(context.Background(), n)
}

func (s shared) consumeUpTo(n int64) (bucket.Probe, error) {
	return s.ConsumeUpTo(context.Background(), n)
}

func (s shared) estimate(n int64) (bucket.Probe, error) {
	return s.Estimate(context.Background(), n)
}

func (s shared) add(n int64) (int64, error) { return s.Add(context.Background(), n) }
func (s shared) reset() error               { return s.Reset(context.Background()) }

func (s shared) inspect() (bucket.Snapshot, error) { return s.Inspect(context.Background()) }

func (s shared) force(n int64) (bucket.Probe, error) { return s.Force(context.Background(), n) }

func (s shared) forceAdd(n int64) (int64, error) { return s.ForceAdd(context.Background(), n) }

func (s shared) reserve(n int64, longest time.Duration) (*bucket.Reservation, error) {
	return s.Reserve(context.Background(), n, longest)
}
