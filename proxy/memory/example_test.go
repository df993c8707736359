package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func ExampleNew() {
	now := time.Unix(0, 0)
	m, err := proxy.NewManager(memory.New(memory.WithClock(func() time.Time { return now })))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()

	b := m.Bucket("ip:192.0.2.1", bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1, bandwidth.Greedy(1, time.Second)))))
	ctx := context.Background()
	fmt.Println(b.TryConsume(ctx, 1))
	fmt.Println(b.TryConsume(ctx, 1))
	now = now.Add(time.Second)
	fmt.Println(b.TryConsume(ctx, 1))
	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
}

func ExampleWithMaxKeys() {
	backend := memory.New(memory.WithMaxKeys(2))
	m, err := proxy.NewManager(backend)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()

	limit := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(10, time.Hour))))
	ctx := context.Background()
	for key, n := range map[string]int64{"drained": 10, "nearly full": 1} {
		_, _ = m.Bucket(key, limit).TryConsume(ctx, n)
	}
	_, _ = m.Bucket("newcomer", limit).TryConsume(ctx, 5)
	left, err := m.Bucket("drained", limit).Available(ctx)
	fmt.Println(backend.Len(), backend.Evicted(), left, err)
	// Output: 2 1 0 <nil>
}
