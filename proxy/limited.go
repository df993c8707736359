package proxy

import (
	"context"
	"sync"
	"time"
)

// limited is a caller's context that ends after the manager's timeout. It is
// context.WithDeadline with a timer only for those who ask for Done: most callers of a
// hot key share a trip, and the alarm of that.
type limited struct {
	context.Context // the caller's
	deadline        time.Time

	mu     sync.Mutex
	timed  context.Context // with a timer; nil: nobody has asked
	cancel context.CancelFunc
}

// within limits a context, unless it ends before by itself. What is returned is nil
// then, or else to be ended.
func within(ctx context.Context, timeout time.Duration) (context.Context, *limited) {
	deadline := time.Now().Add(timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		return ctx, nil
	}
	l := &limited{Context: ctx, deadline: deadline}
	return l, l
}

// end stops the timer.
func (l *limited) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	cancel := l.cancel
	if cancel == nil { // who asks from now on finds it over
		l.timed, l.cancel = ended, func() {}
	}
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// ended is a context that is over.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Deadline is when the timeout is over.
func (l *limited) Deadline() (time.Time, bool) { return l.deadline, true }

// Done starts the timer.
func (l *limited) Done() <-chan struct{} { return l.start().Done() }

func (l *limited) start() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.deadline)
	}
	return l.timed
}

// Err tells the caller's end before that of the timeout.
func (l *limited) Err() error {
	l.mu.Lock()
	timed := l.timed
	l.mu.Unlock()
	if timed != nil {
		return timed.Err()
	}
	if err := l.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(l.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value is the caller's, and lets package context find the timer: contexts that are
// derived from this one then need no goroutine.
func (l *limited) Value(key any) any {
	l.mu.Lock()
	timed := l.timed
	l.mu.Unlock()
	if timed != nil && timed != ended {
		return timed.Value(key)
	}
	return l.Context.Value(key)
}
