package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// tenASecond is a full bucket whose clock stands still.
func tenASecond(opts ...bucket.LocalOption) *bucket.Local {
	clock := &manualClock{time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	opts = append(opts, bucket.WithClock(clock.Now))
	return bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(10, time.Second)))), opts...)
}

// For work that is done already: the bucket goes into debt, and the wait is what
// would have been due.
func ExampleLocal_Force() {
	b := tenASecond()
	p := b.Force(25)
	fmt.Println(p.RemainingTokens, p.Wait)
	fmt.Println(b.ConsumeUpTo(1), "taken out of a debt")
	// Output:
	// -15 1.5s
	// 0 taken out of a debt
}

// Add stops at the capacity, ForceAdd does not.
func ExampleLocal_ForceAdd() {
	b := tenASecond()
	fmt.Println(b.Add(5), b.ForceAdd(5), b.Add(5))
	fmt.Println(b.TryConsume(12), b.Available())
	// Output:
	// 10 15 15
	// true 3
}

// Whoever comes later waits longer.
func ExampleLocal_Reserve() {
	b := tenASecond()
	for range 3 {
		r, err := b.Reserve(8, time.Minute)
		fmt.Println(r.RemainingTokens, r.Wait, err)
	}
	_, err := b.Reserve(8, time.Second)
	var late *bucket.TooLateError
	fmt.Println(errors.As(err, &late), late.Wait)
	_, err = b.Reserve(11, time.Hour)
	fmt.Println(errors.Is(err, bucket.ErrNever))
	// Output:
	// 2 0s <nil>
	// -6 600ms <nil>
	// -14 1.4s <nil>
	// true 2.2s
	// true
}

func ExampleReservation_Cancel() {
	b := tenASecond()
	r, err := b.Reserve(8, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Available())
	for range 2 { // the second has no effect
		fmt.Println(r.Cancel(context.Background()), b.Available())
	}
	// Output:
	// 2
	// <nil> 10
	// <nil> 10
}

// The cost is known only when the work is done.
func ExampleReservation_Settle() {
	b := tenASecond()
	for _, used := range []int64{3, 9} {
		r, err := b.Reserve(5, time.Minute)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Settle(context.Background(), used), b.Available())
	}
	// Output:
	// <nil> 7
	// <nil> -2
}

func ExampleLocal_Wait() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1, bandwidth.Greedy(1, 10*time.Millisecond)))))
	for range 3 {
		fmt.Println(b.Wait(context.Background(), 1)) // sleeps until the token is there
	}

	b = bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1, bandwidth.Greedy(1, time.Hour)))))
	b.TryConsume(1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := b.Wait(ctx, 1) // fails at once: a minute is not enough
	fmt.Println(errors.Is(err, bucket.ErrTooLate), errors.Is(err, context.DeadlineExceeded), ctx.Err())
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// true true <nil>
}

// events passes on what a listener hears.
type events chan bucket.EventKind

func (c events) Tell(_ context.Context, e bucket.Event) { c <- e.Kind }

func ExampleWithMaxWaiters() {
	heard := make(events, 10)
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1, bandwidth.Greedy(1, time.Hour)))),
		bucket.WithMaxWaiters(1), bucket.WithListener(heard))
	b.TryConsume(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go b.Wait(ctx, 1)
	fmt.Println(<-heard, <-heard) // so the first one waits
	fmt.Println(b.Wait(ctx, 1))
	// Output:
	// consumed reserved
	// sluice: too many waiters
}

// meter counts by kind, as a metric would with the kind as its label.
type meter [bucket.Settled + 1]atomic.Int64

func (m *meter) Tell(_ context.Context, e bucket.Event) { m[e.Kind].Add(e.Tokens) }

func ExampleWithListener() {
	var tokens meter
	b := tenASecond(bucket.WithListener(&tokens))
	b.TryConsume(4)
	b.TryConsume(8)
	b.Force(8)
	b.Add(1)
	for _, kind := range []bucket.EventKind{bucket.Consumed, bucket.Refused, bucket.Forced, bucket.Added} {
		fmt.Println(tokens[kind].Load(), kind)
	}
	// Output:
	// 4 consumed
	// 8 refused
	// 8 forced
	// 1 added
}
