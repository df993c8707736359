package rueidis

import (
	"context"
	"sync/atomic"
	"time"
)

// errand is the context that rueidis gets for one trip: the trip's, but without an
// end, for others wait for the dial and the reply that it would break off. It
// learns from what rueidis asks how far the trip has come: Err before commands are
// put on a connection, and Deadline or Done as they are. Dialling may ask in that
// order too; then the trip counts as sent before it is.
type errand struct {
	context.Context
	state atomic.Int32
}

const (
	waiting int32 = iota
	asked
	sent
	givenUp
)

// Err keeps back what is not on a connection when the caller gives up or the trip's
// time is over, and ends redirections.
func (e *errand) Err() error {
	if !e.state.CompareAndSwap(waiting, asked) && e.state.Load() == givenUp {
		return context.Canceled
	}
	return e.Context.Err()
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
// will be of whom [errand.again] does not take along.
func (e *errand) giveUp() bool {
	return e.state.CompareAndSwap(waiting, givenUp) || e.state.Load() == givenUp
}

// again begins anew what was given up; false if it was not.
func (e *errand) again() bool { return e.state.CompareAndSwap(givenUp, waiting) }

// wasSent tells whether commands may have been put on a connection.
func (e *errand) wasSent() bool { return e.state.Load() == sent }
