package integration_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/integration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/proxytest"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// Every server gives the answers that every store must give, in both modes.
func TestConformance(t *testing.T) {
	for _, image := range integration.Images() {
		t.Run(image, func(t *testing.T) {
			addr := integration.StartRedis(t, image).Addr
			t.Run("Lua", func(t *testing.T) { conform(t, addr) })
			t.Run("compare and swap", func(t *testing.T) { conform(t, addr, goredis.WithCompareAndSwap()) })
			t.Run("traces", func(t *testing.T) { traces(t, addr) })
		})
	}
}

func conform(t *testing.T, addr string, opts ...goredis.Option) {
	c := client.NewClient(&client.Options{Addr: addr})
	t.Cleanup(func() { c.Close() })
	proxytest.Run(t, proxytest.Factory{
		Open: func(_ *testing.T, clock proxytest.Clock) proxy.Backend {
			opts := opts
			if clock.Now != nil {
				opts = append([]goredis.Option{goredis.WithClientClock(clock.Now, clock.Skew)}, opts...)
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

// traces plays the root module's random traces against the server.
func traces(t *testing.T, addr string) {
	test := exec.Command("go", "-C", "..", "test", "-count=1", "-run", "^TestGoRedis", "./internal/trace", "-trace.ops=5000")
	test.Env = append(os.Environ(), "SLUICE_TEST_REDIS=redis://"+addr)
	out, err := test.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
