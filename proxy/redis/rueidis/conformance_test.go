package rueidis_test

import (
	"testing"

	client "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/proxytest"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

func TestConformance(t *testing.T) {
	t.Run("Lua", func(t *testing.T) { conform(t) })
	t.Run("compare and swap", func(t *testing.T) { conform(t, redis.WithCompareAndSwap()) })
}

func conform(t *testing.T, opts ...redis.Option) {
	c := connect(t, redistest.URL(t))
	proxytest.Run(t, proxytest.Factory{
		Open: func(_ *testing.T, clock proxytest.Clock) proxy.Backend {
			opts := opts
			if clock.Now != nil {
				opts = append([]redis.Option{redis.WithClientClock(clock.Now, clock.Skew)}, opts...)
			}
			return rueidis.New(c, opts...)
		},
		Put: func(t *testing.T, key string, b []byte) {
			put := c.B().Set().Key(key).Value(client.BinaryString(b)).ExSeconds(60).Build()
			if err := c.Do(t.Context(), put).Error(); err != nil {
				t.Fatal(err)
			}
		},
	})
}
