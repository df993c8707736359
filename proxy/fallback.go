package proxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// FallBack asks other in place of b while b is in trouble (see [AllowOnFailure]),
// mostly memory.New(): each process then keeps the limits on its own, so a key gets
// up to as many times its limit as there are processes, and starts from a full
// bucket. Answers say where they come from ([bucket.SourceFallback]).
//
// After so many failures in a row, counted by caller, a breaker opens, and calls go
// straight to other, without waiting for b. From then on one call in each interval
// tries b, and the first that succeeds closes the breaker; an observer hears of
// both.
//
// Only what asks for tokens or looks at them goes to other, the latter not of a
// bucket with a supplier. What changes a bucket otherwise goes to b alone, and
// reservations made with other are neither given back nor settled: no store gives
// back what it never took. A call of a bucket with a supplier whose outcome is
// unknown keeps its error.
//
// If other fails as well, the caller gets the error of b, if b was asked. Closing
// closes both.
func FallBack(b, other Backend, opts ...FallBackOption) Backend {
	f := &fallback{primary: b, other: other}
	f.breaker.most, f.breaker.interval = DefaultFailures, DefaultProbeInterval
	for _, opt := range opts {
		if opt != nil {
			opt(f)
		}
	}
	return f
}

// What [FallBack] does unless it is told otherwise.
const (
	DefaultFailures      = 5
	DefaultProbeInterval = 500 * time.Millisecond
)

// FallBackOption changes what [FallBack] makes.
type FallBackOption func(*fallback)

// WithBreaker sets after how many failures in a row the breaker opens, 1 or
// more, and how often it then tries the backend, 1 ms or more.
func WithBreaker(failures int, interval time.Duration) FallBackOption {
	return func(f *fallback) {
		if failures < 1 {
			f.err = errors.Join(f.err, &bucket.ArgumentError{Field: "failures", Value: failures, Allowed: "1 or more"})
		}
		if interval < time.Millisecond {
			f.err = errors.Join(f.err, &bucket.ArgumentError{Field: "probe interval", Value: interval, Allowed: "1ms or more"})
		}
		f.breaker.most, f.breaker.interval = failures, interval
	}
}

type fallback struct {
	primary, other Backend
	breaker        breaker
	err            error
}

func (f *fallback) Do(ctx context.Context, ds []Decision) {
	if f.breaker.lets() {
		f.primary.Do(ctx, ds)
		f.conclude(ctx, ds)
		return
	}
	for i := range ds {
		if d := ds[i : i+1]; standsIn(&ds[i]) {
			f.standIn(ctx, d)
		} else {
			f.primary.Do(ctx, d)
			f.conclude(ctx, d)
		}
	}
}

// conclude tells the breaker how decisions of the primary went, and has the other
// backend make those that failed.
func (f *fallback) conclude(ctx context.Context, ds []Decision) {
	for i := range ds {
		switch {
		case inTrouble(ctx, ds[i].Err):
			ds[i].Notes |= f.breaker.failed()
			if standsIn(&ds[i]) {
				f.standIn(ctx, ds[i:i+1])
			}
		case errors.Is(ds[i].Err, errors.ErrUnsupported), remembered(&ds[i]): // nobody was asked
		case ctx.Err() == nil || ds[i].Err == nil: // else the caller has left
			ds[i].Notes |= f.breaker.succeeded()
		}
	}
}

// remembered tells that an answer says nothing about the store.
func remembered(d *Decision) bool {
	return len(d.Charges) == 1 && d.Err == nil && d.Results[0].Source == bucket.SourceCache
}

// standsIn tells whether the other backend may decide.
func standsIn(d *Decision) bool {
	if len(d.Charges) != 1 {
		return false
	}
	c := &d.Charges[0]
	if c.Config.IsZero() && (errors.Is(d.Err, ErrOutcomeUnknown) || c.Op.Kind == bucket.OpInspect) {
		return false
	}
	return asks(c.Op.Kind) || c.Op.Kind == bucket.OpInspect
}

// standIn has the other backend decide. It is asked even when the first one has
// used up the time, if it takes none.
func (f *fallback) standIn(ctx context.Context, ds []Decision) {
	if nonBlocking(f.other) {
		ctx = context.WithoutCancel(ctx)
	}
	d := &ds[0]
	d.Failure, d.Err = d.Err, nil
	f.other.Do(ctx, ds)
	if d.Err != nil && d.Failure != nil {
		d.Err, d.Failure = d.Failure, nil
	}
	if r := &d.Results[0]; r.Measured() {
		r.Source = bucket.SourceFallback
	}
}

// Validate tells what is wrong with either backend and the options.
func (f *fallback) Validate() error {
	return errors.Join(f.err, validate(f.primary), validate(f.other))
}

// Recall answers what the first backend can at once, while it is trusted.
func (f *fallback) Recall(d *Decision) bool { return f.breaker.closed() && recall(f.primary, d) }

// NonBlocking tells whether neither backend blocks.
func (f *fallback) NonBlocking() bool { return nonBlocking(f.primary) && nonBlocking(f.other) }

// Close closes both backends.
func (f *fallback) Close() error { return errors.Join(f.primary.Close(), f.other.Close()) }

// breaker lets calls through until so many have failed in a row; then one in each
// interval, until one succeeds.
type breaker struct {
	most     int
	interval time.Duration

	mu       sync.Mutex
	failures int       // in a row; most: it is open
	next     time.Time // when one more may try
}

func (b *breaker) lets() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < b.most {
		return true
	}
	now := time.Now()
	if now.Before(b.next) {
		return false
	}
	b.next = now.Add(b.interval)
	return true
}

func (b *breaker) closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures < b.most
}

func (b *breaker) failed() Notes {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures == b.most {
		return 0
	}
	if b.failures++; b.failures < b.most {
		return 0
	}
	b.next = time.Now().Add(b.interval)
	return BreakerOpens
}

func (b *breaker) succeeded() Notes {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.failures
	if b.failures = 0; was == b.most {
		return BreakerCloses
	}
	return 0
}
