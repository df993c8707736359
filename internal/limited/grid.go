package limited

import (
	"context"
	"sync/atomic"
	"time"
)

// step is by how much a [Grid] may be late.
const step = 8 * time.Millisecond

// Grid has calls that end within some milliseconds of each other share one timer. On an
// idle machine a timer for each call would cost more than all else that it does: for
// each the runtime wakes another processor, on which the server might be at work. The
// zero Grid is ready.
type Grid struct{ last atomic.Pointer[end] }

// end is an instant for all calls that end shortly before it.
type end struct {
	at   time.Time
	over chan struct{}
}

// rounded is a caller's context that ends at another instant, and for no other reason.
type rounded struct {
	context.Context
	*end
}

func (r rounded) Deadline() (time.Time, bool) { return r.at, true }
func (r rounded) Done() <-chan struct{}       { return r.over }

func (r rounded) Err() error {
	select {
	case <-r.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Round returns a context with the values of ctx that ends up to a step after its
// deadline, and only then. It is ctx itself if that has no deadline, or one before those
// of others.
func (g *Grid) Round(ctx context.Context) context.Context {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx
	}
	e := g.last.Load()
	if e == nil || deadline.After(e.at) {
		e = &end{deadline.Add(step), make(chan struct{})}
		time.AfterFunc(time.Until(e.at), func() { close(e.over) })
		g.last.Store(e)
	}
	if e.at.Sub(deadline) > step {
		return ctx
	}
	return rounded{ctx, e}
}
