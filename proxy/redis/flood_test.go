package redis_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC11FloodOnAFreshKeyIsExact(t *testing.T) {
	const capacity, callers, repetitions = 10, 100, 50
	limit := perHour(t, capacity)
	for _, two := range []struct {
		name  string
		modes [2]redis.Option
	}{
		{"script", [2]redis.Option{nil, nil}},
		{"swap", [2]redis.Option{redis.WithCompareAndSwap(), redis.WithCompareAndSwap()}},
		{"mixed", [2]redis.Option{nil, redis.WithCompareAndSwap()}},
	} {
		t.Run(two.name, func(t *testing.T) {
			prefix := redistest.Prefix(t)
			var managers [2]*proxy.Manager
			for i := range managers {
				managers[i] = onClient(t, connect(t, redistest.URL(t)), prefix, two.modes[i])
			}
			for round := range repetitions {
				key := fmt.Sprint(round)
				var granted atomic.Int64
				var wg sync.WaitGroup
				begin := make(chan struct{})
				for i := range callers {
					wg.Go(func() {
						<-begin
						ok, err := managers[i%2].Bucket(key, limit).TryConsume(t.Context(), 1)
						if err != nil {
							t.Error(err)
						}
						if ok {
							granted.Add(1)
						}
					})
				}
				close(begin)
				wg.Wait()
				if got := granted.Load(); got != capacity {
					t.Fatalf("round %d: %d granted, want %d", round, got, capacity)
				}
				wantAvailable(t, managers[0].Bucket(key, limit), 0)
			}
		})
	}
}
