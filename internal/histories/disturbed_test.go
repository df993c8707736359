package histories_test

import (
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/histories"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
)

// site is a server that is disturbed, and the service on it.
type site struct {
	*service
	server *redistest.Server
	link   *faults.Link // all traffic of the service
	admin  *goclient.Client
}

// disturbance is what happens to a site while a history goes on.
type disturbance struct {
	name   string
	open   func(*testing.T) *site
	happen func(t *testing.T, s *site, h *histories.History)
}

var disturbances = []disturbance{
	{"kill, nothing on disk", alone(), func(_ *testing.T, s *site, h *histories.History) {
		h.Lose(func() {
			s.server.Kill()
			s.server.Restart()
		})
	}},
	{"kill, everything on disk", alone("--appendonly", "yes", "--appendfsync", "always"), func(_ *testing.T, s *site, _ *histories.History) {
		s.server.Kill()
		s.server.Restart()
	}},
	{"silence", alone(), func(_ *testing.T, s *site, _ *histories.History) {
		s.server.Pause()
		time.Sleep(2 * time.Second) // the length of the silence
		s.server.Resume()
	}},
	{"scripts forgotten", alone(), func(t *testing.T, s *site, _ *histories.History) {
		for range 5 {
			if err := s.admin.ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	}},
	{"connections cut", alone(), func(_ *testing.T, s *site, h *histories.History) {
		s.link.Cut(h.Seed(), 0.1, 5)
	}},
}

func TestDisturbedHistories(t *testing.T) {
	sites := make([]*site, len(disturbances))
	p := progress{t: t, begun: time.Now()}
	counts := make([]histories.Count, len(disturbances))
	for i := range *disturbed {
		kind := i % len(disturbances)
		d := disturbances[kind]
		if sites[kind] == nil {
			sites[kind] = d.open(t)
		}
		s := sites[kind]
		// Some managers give up long before a fault is over, others outlast it.
		timeout := proxy.DefaultTimeout
		if i/len(disturbances)%2 == 1 {
			timeout = patience
		}
		h := s.history(t, *seed+uint64(i), timeout)
		h.Play(func() { d.happen(t, s, h) })
		s.link.Cut(0, 0, 0)
		if err := h.Check(); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		counts[kind].Add(h.Count())
		p.add(h.Count(), i == *disturbed-1)
	}
	for i, d := range disturbances {
		t.Logf("%s: %v", d.name, counts[i])
	}
}

// alone is a site of one server.
func alone(args ...string) func(*testing.T) *site {
	return func(t *testing.T) *site {
		t.Helper()
		server := redistest.Start(t, args...)
		link := faults.NewLink(t, server.Addr())
		admin := goclient.NewClient(&goclient.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = admin.Close() }) // closed once
		return &site{serve(t, link.Addr()), server, link, admin}
	}
}
