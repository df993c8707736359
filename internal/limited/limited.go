// Package limited bounds calls by a timeout, for less than package context does where
// many wait for the same thing.
package limited

import (
	"context"
	"sync"
	"time"
)

// Context is a caller's context that ends after a timeout. It is context.WithDeadline
// with a timer only for those who ask for Done: most callers of a hot key share a trip,
// and the [Alarm] of that.
type Context struct {
	context.Context // the caller's
	deadline        time.Time

	mu     sync.Mutex
	timed  context.Context // with a timer; nil: nobody has asked
	cancel context.CancelFunc
}

// Within limits a context, unless it ends before by itself. The second value is to be
// ended when the call is over; nil if there is nothing to end.
func Within(ctx context.Context, timeout time.Duration) (context.Context, *Context) {
	deadline := time.Now().Add(timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		return ctx, nil
	}
	l := &Context{Context: ctx, deadline: deadline}
	return l, l
}

// End stops the timer.
func (l *Context) End() {
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
func (l *Context) Deadline() (time.Time, bool) { return l.deadline, true }

// Done starts the timer.
func (l *Context) Done() <-chan struct{} { return l.start().Done() }

func (l *Context) start() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timed == nil {
		l.timed, l.cancel = context.WithDeadline(l.Context, l.deadline)
	}
	return l.timed
}

// Err tells the caller's end before that of the timeout.
func (l *Context) Err() error {
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
func (l *Context) Value(key any) any {
	l.mu.Lock()
	timed := l.timed
	l.mu.Unlock()
	if timed != nil && timed != ended {
		return timed.Value(key)
	}
	return l.Context.Value(key)
}

// Alarm is the one timer of many who wait for the same thing. Where their deadline is
// their limit's, as it mostly is, and not before the first one's, they need none of
// their own before that is over.
type Alarm struct {
	first time.Time
	late  chan struct{}
	timer *time.Timer
}

// AlarmAt returns an alarm for the deadline of the first who waits. Nil is an alarm too,
// of one who has no deadline: each then waits by himself.
func AlarmAt(ctx context.Context) *Alarm {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	a := &Alarm{first: deadline, late: make(chan struct{})}
	a.timer = time.AfterFunc(time.Until(deadline), func() { close(a.late) })
	return a
}

// Stop ends the alarm when nobody waits any more.
func (a *Alarm) Stop() {
	if a != nil {
		a.timer.Stop()
	}
}

// Wait waits until done is closed; false if the context has ended before.
func (a *Alarm) Wait(ctx context.Context, done <-chan struct{}) bool {
	if l, ok := ctx.(*Context); ok && a != nil && !l.deadline.Before(a.first) {
		select {
		case <-done:
			return true
		case <-l.Context.Done():
			return false
		case <-a.late:
		}
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
