package redis_test

import (
	"sync"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// way is one client of one library, by which backends reach several servers.
type way struct {
	name    string
	backend func(...redis.Option) *redis.Backend
}

// inEachWay runs a test in each of the ways, in each mode.
func inEachWay(t *testing.T, ways []way, run func(t *testing.T, w way, mode redis.Option)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			inEachMode(t, func(t *testing.T, mode redis.Option) { run(t, w, mode) })
		})
	}
}

// throughGoRedis is a way by a client that ends with the test.
func throughGoRedis(t testing.TB, name string, c goclient.UniversalClient) way {
	t.Cleanup(func() { _ = c.Close() })
	return way{name, func(options ...redis.Option) *redis.Backend { return goredis.New(c, options...) }}
}

// throughRueidis is a way by a client that ends with the test.
func throughRueidis(t testing.TB, name string, options ruclient.ClientOption) way {
	t.Helper()
	c, err := ruclient.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return way{name, func(options ...redis.Option) *redis.Backend { return rueidis.New(c, options...) }}
}

// intoCluster are the ways into a cluster, one for each library, by clients that
// know all nodes and are otherwise as they come.
func intoCluster(t testing.TB, c *redistest.Cluster) []way {
	t.Helper()
	return []way{
		throughGoRedis(t, "go-redis", goclient.NewClusterClient(&goclient.ClusterOptions{Addrs: c.Addrs()})),
		throughRueidis(t, "rueidis", ruclient.ClientOption{InitAddress: c.Addrs()}),
	}
}

// bySentinel are the ways to whatever server the sentinels name.
func bySentinel(t testing.TB, s *redistest.Sentinel) []way {
	t.Helper()
	return []way{
		throughGoRedis(t, "go-redis", goclient.NewFailoverClient(&goclient.FailoverOptions{
			MasterName: redistest.MasterName, SentinelAddrs: s.Addrs(),
		})),
		throughRueidis(t, "rueidis", ruclient.ClientOption{
			InitAddress: s.Addrs(), Sentinel: ruclient.SentinelOption{MasterSet: redistest.MasterName},
		}),
	}
}

// within calls until there is no error, as a service does whose clients come
// back, and fails the test if that takes unreasonably long.
func within(t testing.TB, call func() error) time.Duration {
	t.Helper()
	begun := time.Now()
	for {
		err := call()
		if err == nil {
			return time.Since(begun)
		}
		if time.Since(begun) > 60*time.Second {
			t.Fatalf("still failing: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// load has so many callers repeat a call, with its number, until the returned
// function is called or the test ends.
func load(t testing.TB, callers int, call func(caller, n int)) (end func()) {
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for caller := range callers {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					call(caller, n)
				}
			}
		})
	}
	end = sync.OnceFunc(func() {
		close(stop)
		wg.Wait()
	})
	t.Cleanup(end)
	return end
}
