package proxytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// reserves takes n tokens, after which so many are available, to be used after
// the wait.
func (b *checked) reserves(n, available int64, wait time.Duration) *bucket.Reservation {
	b.s.Helper()
	call := fmt.Sprintf("Reserve(%d)", n)
	r, err := b.Reserve(b.s.ctx, n, math.MaxInt64)
	b.ok(call, err)
	wait = b.s.ticks(wait)
	if !r.Consumed || r.Tokens != n || r.RemainingTokens != available || r.Wait != wait {
		b.fail(call, told(r.Probe), fmt.Sprintf("consumed, with %d remaining and a wait of %v", available, wait))
	}
	return r
}

// tooLate asks to reserve n tokens within less than the wait that they take, and
// is told that wait. Nothing is taken.
func (b *checked) tooLate(n int64, longest, wait time.Duration) {
	b.s.Helper()
	call := fmt.Sprintf("Reserve(%d) within %v", n, longest)
	before := b.inspects()
	_, err := b.Reserve(b.s.ctx, n, longest)
	var late *bucket.TooLateError
	if !errors.As(err, &late) || late.Wait != b.s.ticks(wait) || late.Longest != longest ||
		!errors.Is(err, bucket.ErrTooLate) || !errors.Is(err, context.DeadlineExceeded) {
		b.fail(call, err, fmt.Sprintf("a TooLateError that tells a wait of %v", b.s.ticks(wait)))
	}
	if after := b.inspects(); told(after.Probe) != told(before.Probe) {
		b.fail(call, told(after.Probe), told(before.Probe))
	}
}

// neverThere asks to reserve, and to wait for, n tokens that can never be there,
// with any limit on the wait. It is told so at once, and nothing is taken.
func (b *checked) neverThere(n int64) {
	b.s.Helper()
	before := b.inspects()
	for _, longest := range []time.Duration{0, time.Hour, math.MaxInt64} {
		if _, err := b.Reserve(b.s.ctx, n, longest); err != bucket.ErrNever {
			b.fail(fmt.Sprintf("Reserve(%d) within %v", n, longest), err, bucket.ErrNever)
		}
	}
	if err := b.Wait(b.s.ctx, n); err != bucket.ErrNever {
		b.fail(fmt.Sprintf("Wait(%d)", n), err, bucket.ErrNever)
	}
	if after := b.inspects(); told(after.Probe) != told(before.Probe) {
		b.fail(fmt.Sprintf("Inspect after Reserve(%d)", n), told(after.Probe), told(before.Probe))
	}
}

// settles closes a reservation with so many tokens used, after which so many are
// available.
func (b *checked) settles(r *bucket.Reservation, used, available int64) {
	b.s.Helper()
	b.ok(fmt.Sprintf("Settle(%d)", used), r.Settle(b.s.ctx, used))
	b.has(available)
}

// cancels gives a reservation back, after which so many are available.
func (b *checked) cancels(r *bucket.Reservation, available int64) {
	b.s.Helper()
	b.ok("Cancel", r.Cancel(b.s.ctx))
	b.has(available)
}
