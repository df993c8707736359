package proxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// FallBack asks other in place of b while b is in trouble, mostly memory.New():
// each process then keeps the limits on its own, so a key gets up to as many
// times its limit as there are processes, and starts from a full bucket.
//
// After so many failures in a row a breaker opens, and calls go straight to
// other, without waiting for b. From then on one call in each interval tries b,
// and the first that succeeds closes the breaker. What was taken from one store
// is not known to the other, and reservations made with other are neither given
// back nor settled.
//
// If other fails too, the caller gets the error of b. Closing closes both.
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
	if !f.breaker.lets() {
		f.standIn(ctx, ds)
		return
	}
	f.primary.Do(ctx, ds)
	failed, answered := false, false
	for i := range ds {
		trouble := inTrouble(ctx, ds[i].Err)
		failed = failed || trouble && !errors.Is(ds[i].Err, ErrContended)
		answered = answered || ds[i].Err == nil || errors.Is(ds[i].Err, ErrForeignState)
		if trouble {
			f.standIn(ctx, ds[i:i+1])
		}
	}
	f.breaker.tell(failed, answered)
}

// standIn has the other backend decide. It is asked even when the first one has
// used up the time, if it takes none.
func (f *fallback) standIn(ctx context.Context, ds []Decision) {
	if nonBlocking(f.other) {
		ctx = context.WithoutCancel(ctx)
	}
	for i := range ds {
		ds[i].Failure, ds[i].Err = ds[i].Err, nil
	}
	f.other.Do(ctx, ds)
	for i := range ds {
		for j := range ds[i].Results {
			ds[i].Results[j].Source = bucket.SourceFallback
		}
		if ds[i].Err != nil && ds[i].Failure != nil {
			ds[i].Err, ds[i].Failure = ds[i].Failure, nil
		}
	}
}

// Validate tells what is wrong with either backend and the options.
func (f *fallback) Validate() error {
	return errors.Join(f.err, validate(f.primary), validate(f.other))
}

// NonBlocking tells whether neither backend blocks.
func (f *fallback) NonBlocking() bool { return nonBlocking(f.primary) && nonBlocking(f.other) }

// Close closes both backends.
func (f *fallback) Close() error { return errors.Join(f.primary.Close(), f.other.Close()) }

// breaker lets calls through, until so many have failed in a row; then one in
// each interval, until one succeeds. The zero time means that it is closed.
type breaker struct {
	most     int
	interval time.Duration

	mu     sync.Mutex
	failed int
	next   time.Time // when one more may try
}

func (b *breaker) lets() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < b.most {
		return true
	}
	now := time.Now()
	if now.Before(b.next) {
		return false
	}
	b.next = now.Add(b.interval)
	return true
}

// tell reports how a call went; a caller who left before it ended tells nothing.
func (b *breaker) tell(failed, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case failed:
		if b.failed++; b.failed == b.most {
			b.next = time.Now().Add(b.interval)
		}
	case answered:
		b.failed = 0
	}
}
