package redis_test

import (
	"os"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/proxytest"
	"github.com/sluice-go/sluice/proxy/redis"
)

// The suite runs by each client in each mode against one server. Here it is
// enough that each client, each mode and each deployment is met; with
// SLUICE_TEST_DEPLOYMENTS=all it runs for all of their combinations.
func conform(t *testing.T, ways []way, rdb goclient.UniversalClient, swaps map[string]bool) {
	inEachWay(t, ways, func(t *testing.T, w way, mode redis.Option) {
		if os.Getenv("SLUICE_TEST_DEPLOYMENTS") != "all" && swaps[w.name] != (mode != nil) {
			return
		}
		proxytest.Run(t, proxytest.Factory{
			Open: func(_ *testing.T, clock proxytest.Clock) proxy.Backend {
				if clock.Now == nil {
					return w.backend(mode)
				}
				return w.backend(mode, redis.WithClientClock(clock.Now, clock.Skew))
			},
			Put: func(t *testing.T, key string, b []byte) {
				if err := rdb.Set(t.Context(), key, b, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

func TestConformanceInACluster(t *testing.T) {
	t.Parallel() // it mostly waits
	c := redistest.StartCluster(t, 3)
	rdb := goclient.NewClusterClient(&goclient.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	conform(t, intoCluster(t, c), rdb, map[string]bool{"go-redis": false, "rueidis": true})
}

func TestConformanceBehindSentinel(t *testing.T) {
	t.Parallel()                            // it mostly waits
	s := redistest.StartSentinel(t, 30_000) // which nobody is silent for
	conform(t, bySentinel(t, s), connect(t, s.Primary.URL()), map[string]bool{"go-redis": true, "rueidis": false})
}
