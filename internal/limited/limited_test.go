package limited_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/limited"
)

func TestLimitedIsAContextWithATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		caller, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		for name, asks := range map[string]bool{"with a timer": true, "without": false} {
			ctx, l := limited.Within(caller, time.Minute)
			if asks {
				_ = ctx.Done()
			}
			if end, ok := ctx.Deadline(); !ok || end != time.Now().Add(time.Minute) || ctx.Err() != nil || ctx.Value(key{}) != "value" {
				t.Errorf("%s: ends %v, %v, %v, value %v", name, end, ok, ctx.Err(), ctx.Value(key{}))
			}
			time.Sleep(time.Minute - time.Nanosecond)
			if err := ctx.Err(); err != nil {
				t.Errorf("%s, just before: %v", name, err)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if err := ctx.Err(); err != context.DeadlineExceeded {
				t.Errorf("%s, at the end: %v", name, err)
			}
			<-ctx.Done()
			l.End()
		}

		// The caller's own end comes first.
		sooner, stop := context.WithTimeout(caller, time.Second)
		defer stop()
		if ctx, l := limited.Within(sooner, time.Minute); ctx != sooner || l != nil {
			t.Error("a context that ends earlier is limited")
		}
		quiet, l := limited.Within(caller, time.Minute)
		timed, m := limited.Within(caller, time.Minute)
		_ = timed.Done()
		cancel()
		if quiet.Err() != context.Canceled || timed.Err() != context.Canceled {
			t.Errorf("cancelled: %v, %v", quiet.Err(), timed.Err())
		}
		l.End()
		m.End()
	})
}

// slow is a caller's context that tells what is derived from it by a goroutine, and so
// not at once.
type slow struct {
	context.Context
	done chan struct{}
}

func (s slow) Done() <-chan struct{} { return s.done }

func (s slow) Err() error {
	select {
	case <-s.done:
		return context.Canceled
	default:
		return nil
	}
}

// Whoever has seen the caller's end is told of it, though the timer has not heard yet.
func TestTheCallersEndIsToldAtOnce(t *testing.T) {
	for range 100 {
		caller := slow{t.Context(), make(chan struct{})}
		ctx, l := limited.Within(caller, time.Hour)
		_ = ctx.Done()
		close(caller.done)
		if err := ctx.Err(); err != context.Canceled {
			t.Errorf("got %v", err)
		}
		l.End()
	}
}

// Derived contexts end with it and need no goroutine, and none has a timer left when
// it is over.
func TestLimitedIsEnded(t *testing.T) {
	ctx, l := limited.Within(t.Context(), time.Hour)
	before := runtime.NumGoroutine()
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("a derived context has started %d goroutines", n-before)
	}
	l.End()
	<-derived.Done()
	if !errors.Is(derived.Err(), context.Canceled) || ctx.Err() == nil {
		t.Errorf("ended: %v, %v", derived.Err(), ctx.Err())
	}
	never, l := limited.Within(t.Context(), time.Hour)
	l.End()
	<-never.Done() // closed, though nobody has asked in time
	if never.Err() == nil {
		t.Error("over without an error")
	}
	(*limited.Context)(nil).End()
}
