package proxytest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// Skews of injected clocks: one that no test's steps reach, and a usual one.
const (
	wideSkew  = 24 * time.Hour
	usualSkew = time.Second
)

// patience is what a call may take. It is far more than one needs, so that a
// slow machine fails no test.
const patience = 30 * time.Second

// store is a scene of managers that share their buckets.
type store struct {
	*scene
	factory Factory
	prefix  string        // no other test has it
	own     proxy.Backend // the only one, if it is in process
}

func newStore(t *testing.T, f Factory) *store {
	s := &store{
		scene:   newScene(t, bucket.Microsecond),
		factory: f,
		prefix:  "proxytest-" + strings.ToLower(rand.Text()[:16]) + ":",
	}
	s.remote = !f.InProcess
	m := sync.OnceValue(func() *proxy.Manager { return s.manager() })
	made := 0
	s.create = func(t *testing.T, c bucket.Configuration) bucket.Bucket {
		made++
		return m().Bucket(fmt.Sprintf("bucket %d", made), c)
	}
	return s
}

// manager returns a manager on the scene's clock, as another process would have
// it.
func (s *store) manager(opts ...proxy.Option) *proxy.Manager {
	s.Helper()
	return s.managerOf(s.backend(), opts...)
}

func (s *store) managerOf(b proxy.Backend, opts ...proxy.Option) *proxy.Manager {
	s.Helper()
	m, err := proxy.NewManager(b, append([]proxy.Option{proxy.WithKeyPrefix(s.prefix), proxy.WithTimeout(patience)}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := m.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	})
	return m
}

// backend returns one on the scene's clock.
func (s *store) backend() proxy.Backend {
	if s.own != nil {
		return s.own
	}
	b := s.factory.Open(s.T, Clock{s.clock.Now, wideSkew})
	if s.factory.InProcess {
		s.own = b
	}
	return b
}

// real returns a manager on the backend's own clock.
func (s *store) real(opts ...proxy.Option) *proxy.Manager {
	s.Helper()
	return s.managerOf(s.factory.Open(s.T, Clock{}), opts...)
}

// on is a key's bucket whose answers are checked.
func (s *store) on(m *proxy.Manager, key string, c bucket.Configuration) *checked {
	return &checked{m.Bucket(key, c), s.scene}
}

// stored tells whether a key is there.
func (s *store) stored(m *proxy.Manager, key string, want bool) bucket.Configuration {
	s.Helper()
	c, got, err := m.Configuration(s.ctx, key)
	if err != nil || got != want {
		s.Fatalf("at %v: Configuration(%q): got %v, %v, want %v", s.clock.Now().Sub(start), key, got, err, want)
	}
	return c
}

// listener is an observer that remembers what it heard.
type listener struct {
	mu    sync.Mutex
	heard []proxy.Event
}

func (l *listener) Observe(_ context.Context, e proxy.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Result != nil {
		r := *e.Result
		e.Result = &r
	}
	l.heard = append(l.heard, e)
}

// kinds tells what was heard since the last time, without the hand-overs, which
// are a matter of the backend's.
func (l *listener) kinds() (kinds []proxy.EventKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.heard {
		if e.Kind != proxy.HandedToSwap {
			kinds = append(kinds, e.Kind)
		}
	}
	l.heard = nil
	return kinds
}
