package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// trips counts what goes to the server, by hooks of the client.
type trips struct{ single, shared, carried atomic.Int64 }

func (*trips) DialHook(next client.DialHook) client.DialHook { return next }

func (h *trips) ProcessHook(next client.ProcessHook) client.ProcessHook {
	return func(ctx context.Context, cmd client.Cmder) error {
		h.single.Add(scripts(cmd))
		return next(ctx, cmd)
	}
}

func (h *trips) ProcessPipelineHook(next client.ProcessPipelineHook) client.ProcessPipelineHook {
	return func(ctx context.Context, cmds []client.Cmder) error {
		if n := scripts(cmds...); n > 0 {
			h.shared.Add(1)
			h.carried.Add(n)
		}
		return next(ctx, cmds)
	}
}

// scripts counts the commands that are not the client's own.
func scripts(cmds ...client.Cmder) (n int64) {
	for _, cmd := range cmds {
		if cmd.Name() == "evalsha" {
			n++
		}
	}
	return n
}

// start opens a server with a client and a manager on it, whose script it knows.
func start(t *testing.T, options *client.Options, opts ...proxy.Option) (*redistest.Server, *client.Client, *proxy.Manager, *trips) {
	t.Helper()
	server := redistest.Start(t)
	options.Addr = server.Addr()
	rdb := client.NewClient(options)
	t.Cleanup(func() { rdb.Close() })
	counted := new(trips)
	rdb.AddHook(counted)
	m, err := proxy.NewManager(goredis.New(rdb), append([]proxy.Option{proxy.WithKeyPrefix("")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Bucket("first", hourly).Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return server, rdb, m, counted
}

// Calls on many keys that meet share pipelines, and each gets its own answer.
func TestKeysShareTrips(t *testing.T) {
	server, _, m, counted := start(t, new(client.Options), proxy.WithTimeout(10*time.Second))
	const callers = 64
	server.Pause() // so that they meet
	before := counted.single.Load()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			cost := int64(i%10 + 1)
			p, err := m.Bucket(fmt.Sprint("key ", i), hourly).Consume(t.Context(), cost)
			if err != nil || p.RemainingTokens != 10-cost {
				t.Errorf("a take of %d: %d left, %v", cost, p.RemainingTokens, err)
			}
		})
	}
	time.Sleep(200 * time.Millisecond) // none can be answered
	server.Resume()
	all.Wait()
	single, shared, carried := counted.single.Load()-before, counted.shared.Load(), counted.carried.Load()
	t.Logf("%d calls: %d trips alone, %d shared by %d", callers, single, shared, carried)
	if single+carried != callers || shared < 1 || single+shared > callers/2 {
		t.Errorf("%d calls in %d trips alone and %d shared by %d", callers, single, shared, carried)
	}
}

// Who leaves before his trip is written is not charged, and those who stay are served.
func TestWhoLeavesBeforeATripIsNotCharged(t *testing.T) {
	for name, options := range map[string]*client.Options{
		"connections are still to be made":   {},
		"trips wait for the only connection": {PoolSize: 1, PipelinePoolSize: 1, PoolTimeout: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			server, _, m, _ := start(t, options, proxy.WithTimeout(10*time.Second))
			const callers = 64
			server.Pause()
			var all sync.WaitGroup
			var unavailable, unknown atomic.Int64
			leaves := func(i int) bool { return i%2 == 1 }
			outcomes := make([]error, callers)
			for i := range callers {
				all.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if leaves(i) {
						time.AfterFunc(150*time.Millisecond, cancel)
					}
					_, outcomes[i] = m.Bucket(fmt.Sprint("key ", i), hourly).Consume(ctx, 1)
				})
			}
			time.Sleep(400 * time.Millisecond)
			server.Resume()
			all.Wait()
			for i, err := range outcomes {
				n, err2 := m.Bucket(fmt.Sprint("key ", i), hourly).Available(t.Context())
				if err2 != nil {
					t.Fatal(err2)
				}
				switch {
				case err == nil && (n != 9 || leaves(i)):
					t.Errorf("caller %d was served, and %d are left", i, n)
				case errors.Is(err, proxy.ErrOutcomeUnknown):
					unknown.Add(1)
				case errors.Is(err, proxy.ErrUnavailable):
					unavailable.Add(1)
					if n != 10 {
						t.Errorf("caller %d was told that nothing was sent, and %d are left", i, n)
					}
				case err != nil:
					t.Errorf("caller %d: %v", i, err)
				}
				if err != nil && (!leaves(i) || !errors.Is(err, context.Canceled)) {
					t.Errorf("caller %d, who leaves: %t: %v", i, leaves(i), err)
				}
			}
			t.Logf("of %d who left %d had sent nothing", unavailable.Load()+unknown.Load(), unavailable.Load())
			if unavailable.Load() < callers/4 {
				t.Errorf("only %d of those who left are known to have sent nothing", unavailable.Load())
			}
		})
	}
}

// Where the client keeps time, nobody watches over a call that goes alone: a
// cancelled context ends it by its deadline.
func TestCancellationEndsACallByItsDeadline(t *testing.T) {
	server, _, m, _ := start(t, &client.Options{ContextTimeoutEnabled: true})
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	begun := time.Now()
	_, err := m.Bucket("first", hourly).Consume(ctx, 1)
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("ended after %v", took)
	}
	if !errors.Is(err, context.Canceled) || !errors.Is(err, proxy.ErrOutcomeUnknown) {
		t.Errorf("got %v, want an unknown outcome and Canceled", err)
	}
}
