package bucket_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// A clock that only moves when told, so that the examples print the same each
// time.
type manualClock struct{ now time.Time }

func (c *manualClock) Now() time.Time { return c.now }

func Example() {
	clock := &manualClock{time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	limits := bucket.MustConfiguration(
		bandwidth.Must(bandwidth.New(120, bandwidth.Greedy(100, time.Minute))),
		bandwidth.Must(bandwidth.New(2, bandwidth.Interval(2, time.Second), bandwidth.WithID("burst"))),
	)
	b := bucket.New(limits, bucket.WithClock(clock.Now))

	for range 3 {
		p := b.Consume(1)
		fmt.Println(p.Consumed, p.RemainingTokens, p.Wait)
	}
	clock.now = clock.now.Add(time.Second)
	fmt.Println(b.TryConsume(1))
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 1s
	// true
}

func ExampleNew() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1, bandwidth.Greedy(1, time.Hour)))))
	fmt.Println(b.TryConsume(1), b.TryConsume(1))
	// Output: true false
}

func ExampleLocal_Consume() {
	b := bucket.New(bucket.MustConfiguration(
		bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Hour))),
		bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(3, time.Minute), bandwidth.WithID("burst"))),
	))
	p := b.Consume(4) // more than the second could ever hold
	fmt.Println(p.Consumed, p.Never, p.Configuration.Bandwidth(p.Deciding).ID())
	fmt.Println(p.RemainingTokens, p.TokensOf(0), p.TokensOf(1))
	// Output:
	// false true burst
	// 3 10 3
}

func ExampleLocal_ConsumeUpTo() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(7, bandwidth.Greedy(1, time.Hour)))))
	fmt.Println(b.ConsumeUpTo(5), b.ConsumeUpTo(5), b.ConsumeUpTo(5))
	// Output: 5 2 0
}

func ExampleLocal_Estimate() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(7, bandwidth.Greedy(1, time.Hour)))))
	fmt.Println(b.Estimate(5).Consumed, b.Available())
	// Output: true 7
}

func ExampleLocal_Add() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(7, bandwidth.Greedy(1, time.Hour)))))
	b.TryConsume(5)
	fmt.Println(b.Add(1), b.Add(100))
	// Output: 3 7
}

func ExampleLocal_Reset() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(7, bandwidth.Greedy(1, time.Hour)))))
	b.TryConsume(5)
	b.Reset()
	fmt.Println(b.Available())
	// Output: 7
}

func ExampleLocal_Inspect() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(7, bandwidth.Greedy(7, time.Minute), bandwidth.WithInitialTokens(0)))),
		bucket.WithClock((&manualClock{time.Unix(0, 0)}).Now))
	s := b.Inspect()
	fmt.Println(s.RemainingTokens, s.TimeToFull, s.NextToken)
	// Output: 0 1m0s 8.571428572s
}

// The same code serves a bucket in this process and one in a store.
func ExampleLocal_Bucket() {
	serve := func(ctx context.Context, b bucket.Bucket) {
		p, err := b.Consume(ctx, 1)
		fmt.Println(p.Consumed, p.RemainingTokens, err)
	}
	serve(context.Background(), bucket.New(bucket.Unlimited()).Bucket())
	serve(context.Background(), bucket.New(bucket.DenyAll()).Bucket())
	// Output:
	// true 9223372036854775807 <nil>
	// false 0 <nil>
}

func ExampleProbe_RetryAfter() {
	b := bucket.New(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1, bandwidth.Interval(1, 90*time.Second)))),
		bucket.WithClock((&manualClock{time.Unix(0, 0)}).Now))
	b.TryConsume(1)
	if seconds, ok := b.Consume(1).RetryAfter(); ok {
		fmt.Println("Retry-After:", seconds)
	}
	// Output: Retry-After: 90
}

func ExampleConfiguration_WithVersion() {
	c := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(100, time.Hour))))
	newer, err := c.WithVersion(2, bucket.Proportional)
	fmt.Println(newer.Version(), newer.Equal(c), err)
	// Output: 2 false <nil>
}

// Step is what a store calls that keeps entries in its own way.
func ExampleStep() {
	c := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(1, time.Second))))
	take := bucket.Request{Config: c, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 2}}

	var stored bucket.Entry // nothing yet
	for range 2 {
		o := bucket.Step(stored, take, bucket.Moment{Now: 1_000_000, Tick: bucket.Microsecond})
		if o.Change == bucket.Write {
			stored = o.Next
		}
		fmt.Println(o.Result.Consumed, o.Result.RemainingTokens, o.Result.Wait)
	}
	// Output:
	// true 1 0s
	// false 1 1s
}
