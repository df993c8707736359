package histories_test

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/histories"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

var (
	calm      = flag.Int("histories.calm", 25, "histories that nothing disturbs")
	disturbed = flag.Int("histories.faults", 10, "histories with a fault, of each kind in turn")
	moved     = flag.Int("histories.failovers", 2, "histories amid a migration of slots and amid a failover, in turn")
	seed      = flag.Uint64("histories.seed", 1, "seed of the first history; the next has the next number")
)

// patience is longer than any call of a sound server takes, on a busy machine too.
const patience = 30 * time.Second

// service is the four ways to use one store, all of them on the same buckets.
type service struct {
	clients  []*faults.Client
	prefixes atomic.Int64
	prefix   string
}

func serve(t *testing.T, addr string) *service {
	t.Helper()
	var clients []*faults.Client
	for _, library := range faults.Libraries {
		c, err := library.Dial(addr, faults.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		clients = append(clients, c)
	}
	return &service{prefix: redistest.Prefix(t), clients: clients}
}

// history begins one on new keys. Every other pair of seeds goes without coalescing.
func (s *service) history(t *testing.T, seed uint64, timeout time.Duration) *histories.History {
	t.Helper()
	var options []redis.Option
	if seed/2%2 == 1 {
		options = append(options, redis.WithoutCoalescing())
	}
	_, managers := s.managers(t, timeout, options...)
	return histories.Begin(seed, managers...)
}

// managers are one on each client in each mode, for new keys under a prefix.
func (s *service) managers(t *testing.T, timeout time.Duration, options ...redis.Option) (prefix string, managers []*proxy.Manager) {
	t.Helper()
	prefix = fmt.Sprint(s.prefix, s.prefixes.Add(1), ":")
	for _, c := range s.clients {
		managers = append(managers,
			manage(t, c.Backend(options...), prefix, timeout),
			manage(t, c.Backend(append(options, redis.WithCompareAndSwap())...), prefix, timeout))
	}
	return prefix, managers
}

func manage(t *testing.T, b proxy.Backend, prefix string, timeout time.Duration) *proxy.Manager {
	t.Helper()
	m, err := proxy.NewManager(b, proxy.WithKeyPrefix(prefix), proxy.WithTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// progress is told now and then, and at the end.
type progress struct {
	t     *testing.T
	begun time.Time
	told  time.Time
	count histories.Count
	done  int
}

func (p *progress) add(c histories.Count, last bool) {
	p.count.Add(c)
	p.done++
	if now := time.Now(); last || now.Sub(p.told) > 5*time.Second {
		p.told = now
		fmt.Printf("%s: %d histories in %v: %v\n",
			strings.TrimPrefix(p.t.Name(), "Test"), p.done, now.Sub(p.begun).Round(time.Second), p.count)
	}
}
