package goredis_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true, DialerRetries: 1})
	defer client.Close()
	m, err := proxy.NewManager(goredis.New(client))
	if err != nil {
		log.Fatal(err)
	}
	limit := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(100, time.Minute))))
	probe, err := m.Bucket("user:42", limit).Consume(context.Background(), 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(probe.Consumed, probe.RemainingTokens)
}

// From the inside out: denials are remembered of Redis, and while that is down buckets
// in this process answer.
func ExampleNew_decorated() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true, DialerRetries: 1})
	defer client.Close()
	store := proxy.CacheDenials(goredis.New(client), 100*time.Millisecond)
	m, err := proxy.NewManager(proxy.FallBack(store, memory.New(memory.WithMaxKeys(1_000_000))))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
}
