package trace_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/trace"
)

// A bucket of this process, by its own methods and by those of the interface
// that all buckets share.
func TestLocal(t *testing.T) {
	run(t, localSubject("bucket.Local", func(l *bucket.Local) bucket.Bucket { return direct{l.Bucket(), l} }))
}

func TestLocalBucket(t *testing.T) {
	run(t, localSubject("bucket.Local as a Bucket", (*bucket.Local).Bucket))
}

// A bucket whose clock never goes back keeps its state in a word where it fits;
// what TryConsume does there, the other methods find in the other form.
func TestLocalWord(t *testing.T) {
	s := localSubject("bucket.Local in a word", nil)
	s.Forward = true
	s.New = func(s trace.Start) (trace.Target, error) {
		now := s.Now
		l := bucket.New(s.Config, bucket.WithMonotonicClock(func() int64 { return now }))
		return trace.Of(blind{direct{l.Bucket(), l}}, func(n int64) { now = n }), nil
	}
	run(t, s)
}

func localSubject(name string, by func(*bucket.Local) bucket.Bucket) trace.Subject {
	return trace.Subject{
		Name:  name,
		Tick:  bucket.Nanosecond,
		Local: true,
		New: func(s trace.Start) (trace.Target, error) {
			now := s.Now
			l := bucket.New(s.Config, bucket.WithClock(func() time.Time { return time.Unix(0, now) }))
			return trace.Of(by(l), func(n int64) { now = n }), nil
		},
	}
}

// direct is a local bucket by its own methods. TryConsume stands for Consume,
// since it has the shortest way of its own; what it does not tell, the methods
// beside it do.
type direct struct {
	bucket.Bucket
	l *bucket.Local
}

func (d direct) Consume(_ context.Context, n int64) (bucket.Probe, error) {
	before := d.l.Available()
	if !d.l.TryConsume(n) {
		return d.refused(n)
	}
	p := d.l.Inspect().Probe
	p.Consumed, p.Tokens = true, n
	if d.l.Available() != before-n {
		return p, fmt.Errorf("%d available before taking %d, %d after", before, n, d.l.Available())
	}
	return p, nil
}

// refused is what Consume would have told: a refusal has changed nothing.
func (d direct) refused(n int64) (bucket.Probe, error) {
	p := d.l.Estimate(n)
	if p.Consumed {
		return p, fmt.Errorf("refused %d, which are there", n)
	}
	return p, nil
}

// blind is direct without a look before it takes: a look would leave the word fresh.
type blind struct{ direct }

func (b blind) Consume(_ context.Context, n int64) (bucket.Probe, error) {
	if !b.l.TryConsume(n) {
		return b.refused(n)
	}
	p := b.l.Inspect().Probe
	p.Consumed, p.Tokens = true, n
	return p, nil
}

func (d direct) ConsumeUpTo(_ context.Context, n int64) (bucket.Probe, error) {
	if d.l.Available() <= 0 {
		if took := d.l.ConsumeUpTo(n); took != 0 {
			return bucket.Probe{}, fmt.Errorf("took %d of nothing", took)
		}
		return d.l.Estimate(0), nil
	}
	took := d.l.ConsumeUpTo(n)
	p := d.l.Inspect().Probe
	p.Consumed, p.Tokens = true, took
	return p, nil
}

func (d direct) Force(_ context.Context, n int64) (bucket.Probe, error) {
	p := d.l.Force(n)
	if p.Never {
		return p, errors.New("a debt beyond int64")
	}
	return p, nil
}

func (d direct) Reserve(_ context.Context, n int64, longest time.Duration) (*bucket.Reservation, error) {
	return d.l.Reserve(n, longest)
}

func (d direct) Estimate(_ context.Context, n int64) (bucket.Probe, error) {
	return d.l.Estimate(n), nil
}

func (d direct) Add(_ context.Context, n int64) (int64, error) { return d.l.Add(n), nil }

func (d direct) ForceAdd(_ context.Context, n int64) (int64, error) { return d.l.ForceAdd(n), nil }

func (d direct) Inspect(context.Context) (bucket.Snapshot, error) { return d.l.Inspect(), nil }

func (d direct) Reset(context.Context) error {
	d.l.Reset()
	return nil
}
