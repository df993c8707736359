package goredis_test

import (
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/proxytest"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

func TestConformance(t *testing.T) {
	t.Run("Lua", func(t *testing.T) { conform(t) })
	t.Run("compare and swap", func(t *testing.T) { conform(t, redis.WithCompareAndSwap()) })
}

func conform(t *testing.T, opts ...redis.Option) {
	options, err := client.ParseURL(redistest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(options)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	proxytest.Run(t, proxytest.Factory{
		Open: func(_ *testing.T, clock proxytest.Clock) proxy.Backend {
			opts := opts
			if clock.Now != nil {
				opts = append([]redis.Option{redis.WithClientClock(clock.Now, clock.Skew)}, opts...)
			}
			return goredis.New(c, opts...)
		},
		Put: func(t *testing.T, key string, b []byte) {
			if err := c.Set(t.Context(), key, b, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		},
	})
}
