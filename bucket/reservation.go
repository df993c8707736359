package bucket

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Reservation is tokens taken ahead of time: they may be used once Wait has
// passed. It is safe for concurrent use. What was not used goes back by
// [Reservation.Cancel] or [Reservation.Settle], of which the first call counts
// and the others do nothing.
//
// Tokens that another store or nobody stood in for are neither given back nor
// settled: the store never took them.
//
// What goes back never lifts a bucket above its capacity, and later reservations
// keep their due times, whoever gives back. So after a reset, an expiry or a
// replacement nobody gains: a full bucket takes nothing, and an absent key stays
// absent.
type Reservation struct {
	// Probe tells the wait and what is left, negative while tokens are owed.
	Probe

	executor Executor
	due      time.Time
	closed   atomic.Bool
}

// newReservation counts the wait from the answer, so that it is never short.
func newReservation(e Executor, p Probe) *Reservation {
	now := time.Now()
	due := now.Add(p.Wait)
	if due.Before(now) { // beyond what a Time can hold
		due = now.Add(math.MaxInt64 / 2)
	}
	return &Reservation{Probe: p, executor: e, due: due}
}

// Delay is how long from now until the tokens may be used; 0 if they may.
func (r *Reservation) Delay() time.Duration { return max(0, time.Until(r.due)) }

// Cancel gives back all tokens, at any time, stopping at the capacity. It works
// under a context that was cancelled, since that is when it is needed. One round
// trip; after an error the tokens may or may not be back, and are not given back
// again.
func (r *Reservation) Cancel(ctx context.Context) error { return r.Settle(ctx, 0) }

// Settle charges what was really used: the rest goes back, or what is missing is
// taken, into debt if need be. Then the reservation is closed. Otherwise it is
// as [Reservation.Cancel]; no round trip if exactly the reserved tokens were used.
func (r *Reservation) Settle(ctx context.Context, used int64) error {
	if used < 0 {
		return &ArgumentError{Field: "tokens used", Value: used, Allowed: "0 or more"}
	}
	if r.closed.Swap(true) || r.Source == SourcePolicy || r.Source == SourceFallback {
		return nil
	}
	if err := r.charge(context.WithoutCancel(ctx), used); err != nil {
		return err
	}
	if l := r.executor.Listener(); l != nil {
		e := Event{Kind: Settled, Tokens: used}
		if used == 0 {
			e = Event{Kind: Cancelled, Tokens: r.Tokens}
		}
		l.Tell(ctx, e)
	}
	return nil
}

// charge makes up for the difference to what was reserved.
func (r *Reservation) charge(ctx context.Context, used int64) error {
	op := Operation{Kind: OpRefund, Tokens: r.Tokens - used}
	switch {
	case used == r.Tokens:
		return nil
	case used > r.Tokens:
		op = Operation{Kind: OpForce, Tokens: used - r.Tokens}
	}
	_, err := do(ctx, r.executor, op)
	return err
}

// reserve takes tokens that will be there within the longest wait.
func reserve(ctx context.Context, e Executor, n int64, longest time.Duration) (*Reservation, error) {
	r, err := do(ctx, e, Operation{Kind: OpReserve, Tokens: n, LongestWait: longest})
	switch {
	case err != nil:
		return nil, err
	case r.Never:
		return nil, ErrNever
	case !r.Consumed:
		return nil, &TooLateError{Wait: r.Wait, Longest: longest}
	}
	return newReservation(e, r.Probe), nil
}

// wait reserves and sleeps until the tokens are due.
func wait(ctx context.Context, e Executor, n int64) error {
	longest := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		longest = max(0, time.Until(deadline))
	}
	r, err := reserve(ctx, e, n, longest)
	if err != nil {
		return err
	}
	delay := r.Delay()
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		if err := r.Cancel(ctx); err != nil {
			return fmt.Errorf("%w, and the tokens were not given back: %w", ctx.Err(), err)
		}
		return ctx.Err()
	}
}

// Waiters bounds how many callers wait at a time. The zero value has no bound.
type Waiters struct {
	most int64 // 0: no bound
	now  atomic.Int64
}

// SetMost sets the bound, 1 or more, before the first use.
func (w *Waiters) SetMost(n int) error {
	if n < 1 {
		return &ArgumentError{Field: "max waiters", Value: n, Allowed: "1 or more"}
	}
	w.most = int64(n)
	return nil
}

// enter counts a caller in, or refuses it.
func (w *Waiters) enter() error {
	if w.most == 0 {
		return nil
	}
	if w.now.Add(1) > w.most {
		w.now.Add(-1)
		return ErrTooManyWaiters
	}
	return nil
}

func (w *Waiters) leave() {
	if w.most > 0 {
		w.now.Add(-1)
	}
}
