package histories_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/histories"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// blind is a store that swaps without comparing, so that updates are lost.
type blind struct{ client *goclient.Client }

func (b blind) Load(ctx context.Context, key string) (proxy.Stored, error) {
	bytes, err := b.client.Get(ctx, key).Bytes()
	if err != nil && err != goclient.Nil {
		return proxy.Stored{}, err
	}
	return proxy.Stored{Bytes: bytes, At: bucket.Moment{Now: time.Now().UnixMicro()}}, nil
}

func (b blind) Swap(ctx context.Context, key string, _ proxy.Stored, next []byte, _ expiration.Life) (proxy.Stored, bool, error) {
	if next == nil {
		return proxy.Stored{}, true, b.client.Del(ctx, key).Err()
	}
	return proxy.Stored{}, true, b.client.Set(ctx, key, next, time.Hour).Err()
}

func (blind) Close() error { return nil }

// resent is a backend that sends some calls again and tells of the second answer, as a client library does that
// knows nothing of takes.
type resent struct {
	proxy.Backend
	calls *atomic.Int64
}

func (r resent) Do(ctx context.Context, ds []proxy.Decision) {
	r.Backend.Do(ctx, ds)
	if r.calls.Add(1)%20 == 0 {
		r.Backend.Do(ctx, ds)
	}
}

// A checker that finds nothing wrong must be one that would.
func TestFaultyStoresAreCaught(t *testing.T) {
	c := goclient.NewClient(&goclient.Options{Addr: redistest.Start(t).Addr()})
	defer c.Close()
	for name, faulty := range map[string]proxy.Backend{
		"updates lost":  proxy.CompareAndSwap(blind{c}, codec.MessagePack{}),
		"charged twice": resent{goredis.New(c), new(atomic.Int64)},
	} {
		t.Run(name, func(t *testing.T) { isCaught(t, faulty, func(*histories.History) {}) })
		t.Run(name+" after a failover", func(t *testing.T) {
			isCaught(t, faulty, func(h *histories.History) { h.FailOver(func() {}) }) // which explains nothing later
		})
	}
}

func isCaught(t *testing.T, faulty proxy.Backend, disturb func(*histories.History)) {
	t.Helper()
	prefix := redistest.Prefix(t)
	for n := range uint64(50) {
		h := histories.Begin(n, manage(t, faulty, prefix+strings.Repeat("x", int(n)), patience))
		h.Play(func() { disturb(h) })
		if err := h.Check(); err != nil {
			if !strings.Contains(err.Error(), "no order of these calls") {
				t.Fatal(err)
			}
			return
		}
	}
	t.Error("50 histories look sound")
}

// A server that forgets is explained by a failover, and by nothing else.
func TestForgettingIsCaughtUnlessAmidAFailover(t *testing.T) {
	c := goclient.NewClient(&goclient.Options{Addr: redistest.Start(t).Addr()})
	defer c.Close()
	forget := func() {
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	isCaught(t, goredis.New(c), func(*histories.History) { forget() })
	prefix := redistest.Prefix(t)
	for n := range uint64(20) {
		h := histories.Begin(n, manage(t, goredis.New(c), prefix+strings.Repeat("x", int(n)), patience))
		h.Play(func() { h.FailOver(forget) })
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
	}
}
