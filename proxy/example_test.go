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
	"github.com/sluice-go/sluice/proxy/codec"
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

// plans counts tokens by plan. The event tells no key; the plan comes with the
// context.
type plans map[string]int64

type planKey struct{}

func (p plans) Tell(ctx context.Context, e bucket.Event) {
	if e.Kind == bucket.Consumed {
		p[ctx.Value(planKey{}).(string)] += e.Tokens
	}
}

func ExampleWithListener() {
	consumed := plans{}
	m, _ := proxy.NewManager(memory.New(), proxy.WithListener(consumed))
	defer m.Close()

	for user, plan := range map[string]string{"user:1": "free", "user:2": "paid", "user:3": "paid"} {
		ctx := context.WithValue(context.Background(), planKey{}, plan)
		m.Bucket(user, hourly).TryConsume(ctx, 2)
	}
	fmt.Println(consumed)
	// Output: map[free:2 paid:4]
}

// During a deploy both versions are declared. The newer one stays in force.
func ExampleManager_Bucket_versions() {
	m, _ := proxy.NewManager(memory.New())
	defer m.Close()
	v1 := bucket.Must(bucket.Parse("version=1; 3/1h"))
	v2 := bucket.Must(bucket.Parse("version=2 inherit=additive; 10/1h"))

	for _, c := range []bucket.Configuration{v1, v2, v1, v2} {
		p, err := m.Bucket("user:42", c).Consume(context.Background(), 1)
		fmt.Println("version", p.Configuration.Version(), "left", p.RemainingTokens, err)
	}
	// Output:
	// version 1 left 2 <nil>
	// version 2 left 8 <nil>
	// version 2 left 7 <nil>
	// version 2 left 6 <nil>
}

// An operator halves a limit at run time, and the service goes on to declare the
// old one.
func ExampleWithStoredRules() {
	m, _ := proxy.NewManager(memory.New(), proxy.WithStoredRules())
	defer m.Close()
	ctx := context.Background()
	b := m.Bucket("user:42", bucket.Must(bucket.Parse("100/1h")))

	p, _ := b.Consume(ctx, 10)
	fmt.Println(p.RemainingTokens)
	fmt.Println(b.Replace(ctx, bucket.Must(bucket.Parse("50/1h")), bucket.Proportional))
	p, _ = b.Consume(ctx, 10)
	fmt.Println(p.RemainingTokens, "of", p.Configuration)
	// Output:
	// 90
	// <nil>
	// 35 of 50/1h
}

// Two methods, Load and Swap, make a store; shelf is a map under a mutex.
func ExampleCompareAndSwap() {
	m, err := proxy.NewManager(proxy.CompareAndSwap(newShelf(), codec.MessagePack{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()

	r, err := m.Bucket("user:42", hourly).Reserve(context.Background(), 2, time.Minute)
	fmt.Println(r.RemainingTokens, err)
	// Output: 1 <nil>
}
