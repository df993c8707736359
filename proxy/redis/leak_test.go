package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Calls that are given up go on for one socket timeout, and are then gone, though
// the server is silent still.
func TestAbandonedCallsEnd(t *testing.T) {
	const socketTimeout = 400 * time.Millisecond // longer than five callers wait
	server := redistest.Start(t)
	rdb := connect(t, server.URL(), func(o *client.Options) {
		o.ReadTimeout = socketTimeout
	})
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		hasty := on.manager(t, rdb, "", mode, proxy.WithTimeout(20*time.Millisecond)).Bucket("k", perHour(t, 1000))
		take(t, on.manager(t, rdb, "", mode).Bucket("k", perHour(t, 1000)), 1, true) // connected
		ours := goleak.IgnoreCurrent()

		server.Pause()
		defer server.Resume()
		for range 5 {
			if _, err := hasty.Consume(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, want a DeadlineExceeded", err)
			}
		}
		var left error
		for end := time.Now().Add(10 * socketTimeout); time.Now().Before(end); {
			if left = goleak.Find(ours); left == nil {
				return
			}
		}
		t.Error(left)
	})
}

// Close ends nothing of the caller's, and no manager keeps a goroutine.
func TestC42ManagersLeaveNothingBehind(t *testing.T) {
	rdb, prefix := shared(t)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		limit := perHour(t, 1000)
		take(t, on.manager(t, rdb, prefix, mode).Bucket("k", limit), 1, true) // connected
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
		for i := range 1000 {
			m, err := proxy.NewManager(on(t, rdb, mode), proxy.WithKeyPrefix(prefix))
			if err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				take(t, m.Bucket("k", limit), 0, true)
			}
			for range 2 {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := m.Bucket("k", limit).Consume(t.Context(), 1); !errors.Is(err, proxy.ErrClosed) {
				t.Fatalf("after Close: got %v", err)
			}
		}
		if err := rdb.Ping(t.Context()).Err(); err != nil {
			t.Errorf("the client is closed: %v", err)
		}
	})
}
