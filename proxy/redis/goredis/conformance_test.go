package goredis_test

import (
	"strings"
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
	c := connect(t)
	proxytest.Run(t, proxytest.Factory{
		Open: func(_ *testing.T, clock proxytest.Clock) proxy.Backend { return on(c, clock, opts...) },
		Put: func(t *testing.T, key string, b []byte) {
			if err := c.Set(t.Context(), key, b, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// All managers of a test share one cache of denials, unless their clocks differ: what
// another process does is seen later, which is tested elsewhere.
func TestConformanceOfRememberedDenials(t *testing.T) {
	c := connect(t)
	caches := map[string]proxy.Backend{}
	proxytest.Run(t, proxytest.Factory{
		Open: func(t *testing.T, clock proxytest.Clock) proxy.Backend {
			if clock.Now == nil {
				return proxy.CacheDenials(on(c, clock), time.Millisecond)
			}
			test := strings.Join(strings.SplitN(t.Name(), "/", 3)[:2], "/") // not a part of it
			if caches[test] == nil || clock.Skew < time.Hour {
				caches[test] = proxy.CacheDenials(on(c, clock), time.Hour, proxy.WithDenialClock(clock.Now))
			}
			return caches[test]
		},
	})
}

func on(c *client.Client, clock proxytest.Clock, opts ...redis.Option) proxy.Backend {
	if clock.Now != nil {
		opts = append([]redis.Option{redis.WithClientClock(clock.Now, clock.Skew)}, opts...)
	}
	return goredis.New(c, opts...)
}

func connect(t *testing.T) *client.Client {
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
	return c
}
