package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/memory"
)

// absent stands for a store that cannot be reached.
type absent struct{}

func (absent) Do(_ context.Context, ds []proxy.Decision) {
	proxy.Fail(ds, proxy.ErrUnavailable, errors.New("nobody listens"))
}

func (absent) Close() error { return nil }

var threeAnHour = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(3, time.Hour))))

// While the store is in trouble everybody is served, and nobody counts.
func ExampleAllowOnFailure() {
	m, _ := proxy.NewManager(proxy.AllowOnFailure(absent{}))
	defer m.Close()
	for range 4 {
		p, err := m.Bucket("alice", threeAnHour).Consume(context.Background(), 1)
		fmt.Println(p.Consumed, p.Measured(), err)
	}
	// Output:
	// true false <nil>
	// true false <nil>
	// true false <nil>
	// true false <nil>
}

// While the store is in trouble nobody is served.
func ExampleDenyOnFailure() {
	m, _ := proxy.NewManager(proxy.DenyOnFailure(absent{}))
	defer m.Close()
	p, err := m.Bucket("alice", threeAnHour).Consume(context.Background(), 1)
	fmt.Println(p.Consumed, p.Wait, p.Source, err)
	// Output:
	// false 1s policy <nil>
}

// While the store is in trouble each process keeps the limits by itself.
func ExampleFallBack() {
	m, _ := proxy.NewManager(proxy.FallBack(absent{}, memory.New()))
	defer m.Close()
	for range 4 {
		p, err := m.Bucket("alice", threeAnHour).Consume(context.Background(), 1)
		fmt.Println(p.Consumed, p.RemainingTokens, p.Source, err)
	}
	// Output:
	// true 2 fallback <nil>
	// true 1 fallback <nil>
	// true 0 fallback <nil>
	// false 0 fallback <nil>
}

// The breaker opens at the second failure in a row and then tries the store once
// a minute.
func ExampleWithBreaker() {
	m, _ := proxy.NewManager(proxy.FallBack(absent{}, memory.New(), proxy.WithBreaker(2, time.Minute)),
		proxy.WithObserver(trouble{}))
	defer m.Close()
	for range 3 {
		ok, err := m.Bucket("alice", threeAnHour).TryConsume(context.Background(), 1)
		fmt.Println(ok, err)
	}
	// Output:
	// store failed
	// true <nil>
	// breaker opened
	// store failed
	// true <nil>
	// true <nil>
}

type trouble struct{}

func (trouble) Observe(_ context.Context, e proxy.Event) {
	if e.Kind != proxy.DecisionMade {
		fmt.Println(e.Kind)
	}
}

// A store of one's own, whose hot keys share trips.
func ExampleCoalesce() {
	m, _ := proxy.NewManager(proxy.Coalesce(proxy.CompareAndSwap(newShelf(), codec.MessagePack{})))
	defer m.Close()
	ok, err := m.Bucket("hot", threeAnHour).TryConsume(context.Background(), 1)
	fmt.Println(ok, err)
	// Output:
	// true <nil>
}

// Whoever is refused and asks again is answered without asking the store.
func ExampleCacheDenials() {
	m, _ := proxy.NewManager(proxy.CacheDenials(proxy.CompareAndSwap(newShelf(), codec.MessagePack{}), time.Second))
	defer m.Close()
	for _, cost := range []int64{3, 1, 1, 2} {
		p, err := m.Bucket("alice", threeAnHour).Consume(context.Background(), cost)
		fmt.Println(p.Consumed, p.Source, err)
	}
	// Output:
	// true store <nil>
	// false store <nil>
	// false cache <nil>
	// false cache <nil>
}

// Where denials are remembered: around the store, inside of what answers in its place.
func ExampleWithMaxDenials() {
	store := proxy.CacheDenials(memory.New(), 500*time.Millisecond, proxy.WithMaxDenials(10_000))
	m, err := proxy.NewManager(proxy.AllowOnFailure(store))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	fmt.Println(m.Bucket("alice", threeAnHour).TryConsume(context.Background(), 3))
	// Output: true <nil>
}

// A clock that a test sets.
func ExampleWithDenialClock() {
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	m, _ := proxy.NewManager(proxy.CacheDenials(memory.New(memory.WithClock(clock)), time.Minute, proxy.WithDenialClock(clock)))
	defer m.Close()
	b := m.Bucket("alice", threeAnHour)
	for _, cost := range []int64{3, 1, 1} {
		p, _ := b.Consume(context.Background(), cost)
		fmt.Println(p.Consumed, p.Source, p.Wait)
	}
	now = now.Add(20 * time.Minute)
	fmt.Println(b.TryConsume(context.Background(), 1))
	// Output:
	// true store 0s
	// false store 20m0s
	// false cache 20m0s
	// true <nil>
}

// What is in the store does not tell who was limited.
func ExampleWithHashedKeys() {
	m, _ := proxy.NewManager(memory.New(), proxy.WithHashedKeys([]byte("kept with the other secrets")))
	defer m.Close()
	ok, err := m.Bucket("alice@example.com", threeAnHour).TryConsume(context.Background(), 1)
	fmt.Println(ok, err)
	// Output:
	// true <nil>
}
