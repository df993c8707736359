package rueidis

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errand is the context that rueidis gets for one trip: the caller's, but
// without an end, for others wait for the dial and the reply that it would break
// off. It learns from what rueidis asks how far the trip has come: Err right
// before commands are put on a connection, Deadline or Done once they are.
// Dialling asks for the latter two as well, but before Err.
type errand struct {
	context.Context
	once  bool // nothing that was sent may be sent again
	state atomic.Int32
}

const (
	waiting int32 = iota
	asked
	sent
	givenUp
)

var errSentBefore = errors.New("sluice: the connection ended before the answer, and the call must not be sent again")

// Err ends a trip that has not begun when the caller gives up, one that begins a
// second time, and redirections without end.
func (e *errand) Err() error {
	if err := e.Context.Err(); err != nil {
		return err
	}
	e.state.CompareAndSwap(waiting, asked)
	switch state := e.state.Load(); {
	case state == givenUp:
		return e.Context.Err() // it has ended meanwhile
	case state == sent && e.once:
		return errSentBefore
	default:
		return nil
	}
}

// Deadline is none.
func (e *errand) Deadline() (time.Time, bool) {
	e.state.CompareAndSwap(asked, sent)
	return time.Time{}, false
}

// Done is never.
func (e *errand) Done() <-chan struct{} {
	e.state.CompareAndSwap(asked, sent)
	return nil
}

// giveUp keeps back what is not sent yet; true means that nothing is and nothing
// will be.
func (e *errand) giveUp() bool { return e.state.CompareAndSwap(waiting, givenUp) }

// wasSent tells whether commands may have been put on a connection.
func (e *errand) wasSent() bool { return e.state.Load() == sent }
