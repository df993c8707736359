package goredis_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// freezer stands before a server. The connections made before it freezes then answer
// no more, as behind a firewall that has forgotten them; later ones do.
type freezer struct {
	frozen atomic.Bool
	thaw   chan struct{}
}

func (f *freezer) before(t *testing.T, server string) (addr string) {
	t.Helper()
	addr = redistest.Relay(t, server, f.join)
	f.thaw = make(chan struct{})
	t.Cleanup(func() { close(f.thaw) })
	return addr
}

func (f *freezer) join(down, up net.Conn) {
	freezes := !f.frozen.Load()
	var requests sync.WaitGroup
	defer requests.Wait()
	requests.Go(func() {
		_, _ = io.Copy(up, down)
		_ = up.Close()
	})
	defer down.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := up.Read(b)
		if err != nil {
			return
		}
		if freezes && f.frozen.Load() {
			<-f.thaw
			return
		}
		if _, err := down.Write(b[:n]); err != nil {
			return
		}
	}
}

// Connections that are dead, and that the client does not give up by itself, take the
// calls that are on them along, and no others.
func TestFrozenConnectionsHoldUpNobodyElse(t *testing.T) {
	for name, keepsTime := range map[string]bool{"client keeps time": true, "client does not": false} {
		t.Run(name, func(t *testing.T) {
			f := new(freezer)
			const conns = 12
			rdb := client.NewClient(&client.Options{
				Addr: f.before(t, redistest.Start(t).Addr()), PoolSize: 200, ReadTimeout: -1, WriteTimeout: -1, ContextTimeoutEnabled: keepsTime,
			})
			t.Cleanup(func() { rdb.Close() })
			m, err := proxy.NewManager(goredis.New(rdb))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Bucket("first", hourly).Consume(t.Context(), 1); err != nil { // the script is known
				t.Fatal(err)
			}
			var open []*client.Conn
			for range conns {
				c := rdb.Conn()
				if err := c.Ping(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				open = append(open, c)
			}
			for _, c := range open {
				_ = c.Close() // back into the pool
			}

			f.frozen.Store(true)
			const callers, rounds = 30, 12
			for round := range rounds {
				var failed atomic.Int64
				var all sync.WaitGroup
				for i := range callers {
					all.Go(func() {
						begun := time.Now()
						_, err := m.Bucket(fmt.Sprint("key ", round, i), hourly).Consume(t.Context(), 1)
						if err != nil {
							failed.Add(1)
						}
						if took := time.Since(begun); took > 2*time.Second {
							t.Errorf("ended after %v", took)
						}
					})
				}
				all.Wait()
				t.Logf("round %d: %d of %d failed", round, failed.Load(), callers)
				if failed.Load() == 0 {
					return
				}
			}
			t.Errorf("in %d rounds some calls failed, though new connections serve", rounds)
		})
	}
}
