package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

var hourly = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(3, time.Hour))))

func ExampleNewManager() {
	m, err := proxy.NewManager(memory.New(),
		proxy.WithKeyPrefix("rl:"),
		proxy.WithExpiration(expiration.TimeToFull(10*time.Second)),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()

	for range 4 {
		probe, err := m.Bucket("user:42", hourly).Consume(context.Background(), 1)
		fmt.Println(probe.Consumed, probe.RemainingTokens, err)
	}
	// Output:
	// true 2 <nil>
	// true 1 <nil>
	// true 0 <nil>
	// false 0 <nil>
}

func ExampleManager_Bucket() {
	m, _ := proxy.NewManager(memory.New())
	defer m.Close()

	_, err := m.Bucket("", hourly).Consume(context.Background(), 1)
	fmt.Println(err)
	fmt.Println(errors.Is(err, bucket.ErrInvalidArgument))
	// Output:
	// sluice: invalid key "": want a key that is not empty
	// true
}

// The supplier is asked only for keys that do not exist.
func ExampleManager_BucketFunc() {
	m, _ := proxy.NewManager(memory.New())
	defer m.Close()

	plan := func(context.Context) (bucket.Configuration, error) {
		fmt.Println("looking up the plan")
		return hourly, nil
	}
	for range 2 {
		ok, err := m.BucketFunc("tenant:9", plan).TryConsume(context.Background(), 1)
		fmt.Println(ok, err)
	}
	// Output:
	// looking up the plan
	// true <nil>
	// true <nil>
}

func ExampleManager_Configuration() {
	m, _ := proxy.NewManager(memory.New())
	defer m.Close()

	_, known, _ := m.Configuration(context.Background(), "user:42")
	fmt.Println(known)
	m.Bucket("user:42", hourly).TryConsume(context.Background(), 1)
	c, known, _ := m.Configuration(context.Background(), "user:42")
	fmt.Println(known, c.Bandwidth(0).Capacity())
	// Output:
	// false
	// true 3
}

func ExampleManager_Remove() {
	m, _ := proxy.NewManager(memory.New())
	defer m.Close()

	m.Bucket("user:42", hourly).TryConsume(context.Background(), 3)
	existed, err := m.Remove(context.Background(), "user:42")
	fmt.Println(existed, err)
	// Output: true <nil>
}

// refusals counts what a dashboard would show.
type refusals struct{ n int }

func (r *refusals) Observe(_ context.Context, e proxy.Event) {
	if e.Kind == proxy.DecisionMade && e.Op.Kind == bucket.OpConsume && !e.Result.Consumed {
		r.n++
	}
}

func ExampleWithObserver() {
	var seen refusals
	m, _ := proxy.NewManager(memory.New(), proxy.WithObserver(&seen))
	defer m.Close()

	for range 5 {
		m.Bucket("user:42", hourly).TryConsume(context.Background(), 1)
	}
	fmt.Println(seen.n, "refused")
	// Output: 2 refused
}
