package integration

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"
)

// patience bounds every wait for the Docker engine or for a server in it.
const patience = 30 * time.Second

// Images names the server images to test against: those of SLUICE_TEST_IMAGES,
// separated by commas, or else what scripts/images/build builds.
func Images() []string {
	if list := os.Getenv("SLUICE_TEST_IMAGES"); list != "" {
		return strings.Split(list, ",")
	}
	return []string{"sluice-test/redis:7.0", "sluice-test/redis:8.0", "sluice-test/valkey:8.1"}
}

// Redis is a Redis or Valkey server in a container. It keeps nothing on disk,
// so a restart empties it.
type Redis struct {
	// Addr is the server's host:port on the loopback interface, which it keeps
	// when it is stopped and started again.
	Addr string

	container *testcontainers.DockerContainer
}

// StartRedis starts the image with the given server options, such as
// "--cluster-enabled", "yes", waits until it answers, and removes it when the
// test ends.
func StartRedis(t testing.TB, image string, options ...string) *Redis {
	t.Helper()
	addr := netip.MustParseAddrPort(FreeAddr(t))
	r := &Redis{Addr: addr.String()}
	port := network.MustParsePort("6379/tcp")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctr, err := testcontainers.Run(ctx, image,
		testcontainers.WithLogger(log.TestLogger(t)),
		testcontainers.WithCmd(append([]string{"--save", "", "--protected-mode", "no"}, options...)...),
		testcontainers.WithExposedPorts(port.String()),
		// A port that the engine chose would be another one after a restart.
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			host.PortBindings = network.PortMap{port: {{HostIP: addr.Addr(), HostPort: fmt.Sprint(addr.Port())}}}
		}),
		testcontainers.WithWaitStrategy(wait.ForNop(r.answers)),
	)
	testcontainers.CleanupContainer(t, ctr)
	if err != nil {
		t.Fatalf("start %s (scripts/images/build builds the images of sluice-test): %v", image, err)
	}
	r.container = ctr
	return r
}

// Stop ends the server: connections to its address are refused.
func (r *Redis) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.container.Stop(ctx, nil); err != nil {
		t.Fatalf("stop the server at %s: %v", r.Addr, err)
	}
}

// Start starts the server again after Stop, empty and on the same address.
func (r *Redis) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.container.Start(ctx); err != nil {
		t.Fatalf("start the server at %s again: %v", r.Addr, err)
	}
}

// Silence makes the server accept connections and answer nothing for a while.
func (r *Redis) Silence(t testing.TB, d time.Duration) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer client.Close()
	if err := client.Do(t.Context(), "CLIENT", "PAUSE", d.Milliseconds(), "ALL").Err(); err != nil {
		t.Fatalf("silence the server at %s: %v", r.Addr, err)
	}
}

// answers waits for a PONG: the engine's proxy accepts connections before the
// server behind it does.
func (r *Redis) answers(ctx context.Context, _ wait.StrategyTarget) error {
	client := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer client.Close()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w", r.Addr, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// FreeAddr returns a loopback host:port on which nothing listens.
func FreeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
