package integration_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"
	rueidisclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/integration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/proxytest"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// backends are the ways to keep buckets in a server.
type backends struct {
	name  string
	inAll bool // by each server, and not only by the first
	open  func(addr string) (func(...redis.Option) proxy.Backend, func(), error)
	mode  redis.Option
}

var ways = []backends{
	{"go-redis, Lua", true, onGoRedis, nil},
	{"go-redis, compare and swap", false, onGoRedis, redis.WithCompareAndSwap()},
	{"rueidis, Lua", false, onRueidis, nil},
	{"rueidis, compare and swap", true, onRueidis, redis.WithCompareAndSwap()},
}

func onGoRedis(addr string) (func(...redis.Option) proxy.Backend, func(), error) {
	c := client.NewClient(&client.Options{Addr: addr})
	return func(opts ...redis.Option) proxy.Backend { return goredis.New(c, opts...) }, func() { c.Close() }, nil
}

func onRueidis(addr string) (func(...redis.Option) proxy.Backend, func(), error) {
	c, err := rueidisclient.NewClient(rueidisclient.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return nil, nil, err
	}
	return func(opts ...redis.Option) proxy.Backend { return rueidis.New(c, opts...) }, c.Close, nil
}

// Every server gives the answers that every store must give. The first one is
// asked by each client in each mode, and so are the others with
// SLUICE_TEST_SERVERS=all; otherwise each client and each mode is met there.
func TestConformance(t *testing.T) {
	all := os.Getenv("SLUICE_TEST_SERVERS") == "all"
	for i, image := range integration.Images() {
		t.Run(image, func(t *testing.T) {
			addr := integration.StartRedis(t, image).Addr
			for _, w := range ways {
				if all || i == 0 || w.inAll {
					t.Run(w.name, func(t *testing.T) { conform(t, addr, w) })
				}
			}
			t.Run("traces", func(t *testing.T) { traces(t, addr) })
		})
	}
}

func conform(t *testing.T, addr string, w backends) {
	open, done, err := w.open(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	c := client.NewClient(&client.Options{Addr: addr})
	t.Cleanup(func() { c.Close() })
	proxytest.Run(t, proxytest.Factory{
		Open: func(_ *testing.T, clock proxytest.Clock) proxy.Backend {
			if clock.Now == nil {
				return open(w.mode)
			}
			return open(w.mode, redis.WithClientClock(clock.Now, clock.Skew))
		},
		Put: func(t *testing.T, key string, b []byte) {
			if err := c.Set(t.Context(), key, b, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// traces plays the root module's random traces against the server.
func traces(t *testing.T, addr string) {
	test := exec.Command("go", "-C", "..", "test", "-count=1", "-run", "^Test(GoRedis|Rueidis)", "./internal/trace", "-trace.ops=5000")
	test.Env = append(os.Environ(), "SLUICE_TEST_REDIS=redis://"+addr)
	out, err := test.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
