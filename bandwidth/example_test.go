package bandwidth_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

func ExampleNew() {
	b, err := bandwidth.New(120, bandwidth.Greedy(100, time.Minute), bandwidth.WithID("steady"))
	fmt.Println(b.ID(), b.Capacity(), b.Refill().Tokens(), b.Refill().Period(), err)

	_, err = bandwidth.New(0, bandwidth.Greedy(100, time.Minute))
	fmt.Println(err)
	// Output:
	// steady 120 100 1m0s <nil>
	// sluice: invalid capacity 0: want 1 or more
}

// Tokens come back one by one, here every 600 ms.
func ExampleGreedy() {
	refill := bandwidth.Greedy(100, time.Minute)
	tokens, nanoseconds := refill.Rate(time.Nanosecond)
	fmt.Println(tokens, "token in", time.Duration(nanoseconds))
	// Output: 1 token in 600ms
}

// All ten come back at once, a second after the take that left a full bucket.
func ExampleInterval() {
	b := bandwidth.Must(bandwidth.New(10, bandwidth.Interval(10, time.Second)))
	fmt.Println(b.Refill().Kind() == bandwidth.KindInterval)
	// Output: true
}

// A hundred come back on every full hour, whenever the bucket was made. Made at
// 16:20 it starts with what is left of its hour.
func ExampleAligned() {
	hour := time.Date(2026, 1, 1, 17, 0, 0, 0, time.UTC)
	b, err := bandwidth.New(400, bandwidth.Aligned(100, time.Hour, hour), bandwidth.WithAdaptiveInitialTokens())
	_, adaptive := b.InitialTokens()
	fmt.Println(adaptive, b.Refill().Phase(), err)
	// Output: true 0s <nil>
}

func ExampleWithInitialTokens() {
	b := bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(10, time.Second), bandwidth.WithInitialTokens(0)))
	tokens, _ := b.InitialTokens()
	fmt.Println(tokens)
	// Output: 0
}

func ExampleParse() {
	b, err := bandwidth.Parse("100/1m burst=120 id=steady")
	fmt.Println(b.Capacity(), b.Refill().Tokens(), b.Refill().Period(), err)
	_, err = bandwidth.Parse("100/1m burst=many")
	fmt.Println(err)
	// Output:
	// 120 100 1m0s <nil>
	// sluice: "100/1m burst=many", at byte 13: want a number of tokens
}
