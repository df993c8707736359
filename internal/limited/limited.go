// Package limited bounds calls by a timeout, for less than package context does where
// many wait for the same thing.
package limited

import (
	"context"
	"sync/atomic"
	"time"
)

// Context is a caller's context that ends after a timeout. It is context.WithDeadline
// with a timer only for those who ask for Done: most callers of a hot key share a trip,
// and the [Signal] of that.
type Context struct {
	context.Context // the caller's
	deadline        time.Time
	timer           atomic.Pointer[timer] // nil: nobody has asked
}

// timer is a context with a timer, and its end.
type timer struct {
	context.Context
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

// End stops the timer. Who asks from now on finds it over.
func (l *Context) End() {
	if l != nil && !l.timer.CompareAndSwap(nil, ended) {
		l.timer.Load().cancel()
	}
}

// ended is a timer that is over.
var ended = func() *timer {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &timer{ctx, cancel}
}()

// Deadline is when the timeout is over.
func (l *Context) Deadline() (time.Time, bool) { return l.deadline, true }

// Done starts the timer.
func (l *Context) Done() <-chan struct{} {
	if l.timer.Load() == nil {
		ctx, cancel := context.WithDeadline(l.Context, l.deadline)
		if !l.timer.CompareAndSwap(nil, &timer{ctx, cancel}) {
			cancel()
		}
	}
	return l.timer.Load().Done()
}

// Err tells the caller's end before that of the timeout.
func (l *Context) Err() error {
	timer := l.timer.Load()
	if timer != nil {
		if err := timer.Err(); err != nil {
			return err
		}
	}
	if err := l.Context.Err(); err != nil { // what is derived from it hears of that a moment later
		return err
	}
	if timer == nil && !time.Now().Before(l.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value is the caller's, and lets package context find the timer: contexts that are
// derived from this one then need no goroutine.
func (l *Context) Value(key any) any {
	if timer := l.timer.Load(); timer != nil && timer != ended {
		return timer.Value(key)
	}
	return l.Context.Value(key)
}

// Signal tells many that something is done, and is the one timer of all who wait for
// it: where their deadline is their limit's, as it mostly is, and not before that of the
// first, they need none of their own before that is over.
type Signal struct {
	done  chan struct{} // closed when it is done
	wake  chan struct{} // closed then, or at the first deadline
	woken atomic.Bool
	over  atomic.Bool
	first time.Time
	timer *time.Timer // nil: the first has no deadline
}

// NewSignal returns a signal for which the context's caller is the first to wait.
func NewSignal(ctx context.Context) *Signal {
	s := &Signal{done: make(chan struct{})}
	if deadline, ok := ctx.Deadline(); ok {
		s.first, s.wake = deadline, make(chan struct{})
		s.timer = time.AfterFunc(time.Until(deadline), s.rouse)
	}
	return s
}

// rouse closes wake once.
func (s *Signal) rouse() {
	if s.woken.CompareAndSwap(false, true) {
		close(s.wake)
	}
}

// Done gives the signal, once.
func (s *Signal) Done() {
	s.over.Store(true)
	close(s.done)
	if s.timer != nil {
		s.timer.Stop()
		s.rouse()
	}
}

// Given tells whether it is done.
func (s *Signal) Given() bool { return s.over.Load() }

// Wait waits for the signal; false if the context has ended before.
func (s *Signal) Wait(ctx context.Context) bool {
	if l, ok := ctx.(*Context); ok && s.wake != nil && !l.deadline.Before(s.first) {
		if left := l.Context.Done(); left == nil {
			<-s.wake // much cheaper than to select
		} else {
			select {
			case <-s.wake:
			case <-left:
				return s.Given()
			}
		}
		if s.Given() {
			return true
		}
	}
	select {
	case <-s.done:
		return true
	case <-ctx.Done():
		return s.Given()
	}
}
