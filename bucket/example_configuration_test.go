package bucket_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

func ExampleNewConfiguration() {
	hour := bandwidth.Must(bandwidth.New(1000, bandwidth.Greedy(1000, time.Hour), bandwidth.WithID("hour")))
	burst := bandwidth.Must(bandwidth.New(20, bandwidth.Greedy(20, time.Second), bandwidth.WithID("burst")))
	fmt.Println(bucket.NewConfiguration(hour, burst))

	_, err := bucket.NewConfiguration(hour, hour)
	fmt.Println(err)
	// Output:
	// 1000/1h id=hour; 20/1s id=burst <nil>
	// sluice: invalid id "hour": want an id that no other bandwidth has
}

// 40 of 100 tokens are left when the capacity becomes 200.
func ExampleInheritance() {
	small, large := bucket.Must(bucket.Parse("100/1h")), bucket.Must(bucket.Parse("200/1h"))
	noon := (&manualClock{time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}).Now
	for _, strategy := range []bucket.Inheritance{bucket.AsIs, bucket.Proportional, bucket.Additive, bucket.Reset} {
		b := bucket.New(small, bucket.WithClock(noon))
		b.TryConsume(60)
		err := b.Bucket().Replace(context.Background(), large, strategy)
		fmt.Println(strategy, b.Available(), err)
	}
	// Output:
	// as-is 40 <nil>
	// proportional 80 <nil>
	// additive 140 <nil>
	// reset 200 <nil>
}

func ExampleUnlimited() {
	p := bucket.New(bucket.Unlimited()).Consume(1 << 60)
	fmt.Println(p.Consumed, p.Never)
	// Output: true false
}

func ExampleDenyAll() {
	p := bucket.New(bucket.DenyAll()).Consume(1)
	_, ok := p.RetryAfter()
	fmt.Println(p.Consumed, p.Never, ok)
	// Output: false true false
}

// A fixed allowance does not come back while anybody cares. It is topped up by
// hand.
func Example_fixedAllowance() {
	b := bucket.New(bucket.Must(bucket.Parse("1000/18250d interval"))) // fifty years
	fmt.Println(b.ConsumeUpTo(1200), b.Available())
	fmt.Println(b.Add(50), b.TryConsume(50), b.TryConsume(1))
	// Output:
	// 1000 0
	// 50 true false
}
