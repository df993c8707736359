package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// A real server in trouble answers nothing but errors, charges nothing, and serves
// the same managers when it is well again.
func TestC67TroubledServers(t *testing.T) {
	server := redistest.Start(t, "--busy-reply-threshold", "20")
	admin := connect(t, server.URL())
	ask := func(t *testing.T, command ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), command...).Err(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
	for _, tt := range []struct {
		name       string
		ops        int // how many of ops it is the answer to
		begin, end func(t *testing.T)
	}{
		{
			"OOM", len(ops),
			func(t *testing.T) { ask(t, "CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", 1) },
			func(t *testing.T) { ask(t, "CONFIG", "SET", "maxmemory", 0) },
		},
		{
			"NOREPLICAS", len(ops),
			func(t *testing.T) { ask(t, "CONFIG", "SET", "min-replicas-to-write", 1) },
			func(t *testing.T) { ask(t, "CONFIG", "SET", "min-replicas-to-write", 0) },
		},
		{
			"READONLY", len(ops),
			func(t *testing.T) { ask(t, "REPLICAOF", "127.0.0.1", 1) }, // where nobody listens
			func(t *testing.T) { ask(t, "REPLICAOF", "NO", "ONE") },
		},
		{
			"NOAUTH", 2, // strangers are not heard out who say more than ten words
			func(t *testing.T) {
				ask(t, "CONFIG", "SET", "requirepass", "secret")
				ask(t, "CLIENT", "KILL", "TYPE", "normal") // all but the one that asks
			},
			func(t *testing.T) { ask(t, "CONFIG", "SET", "requirepass", "") },
		},
		{
			"NOPERM", len(ops),
			func(t *testing.T) { ask(t, "ACL", "SETUSER", "default", "-evalsha") },
			func(t *testing.T) { ask(t, "ACL", "SETUSER", "default", "+evalsha") },
		},
		{
			"BUSY", len(ops),
			func(t *testing.T) {
				endless := connect(t, server.URL(), func(o *client.Options) { o.ReadTimeout = patience })
				go endless.Eval(context.WithoutCancel(t.Context()), "while true do end", nil)
				for err := error(nil); err == nil || !strings.HasPrefix(err.Error(), "BUSY"); time.Sleep(time.Millisecond) {
					err = admin.Ping(t.Context()).Err()
				}
			},
			func(t *testing.T) { ask(t, "SCRIPT", "KILL") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
				prefix := redistest.Prefix(t)
				m := on.manager(t, connect(t, server.URL()), prefix, mode)
				b := m.Bucket("k", perHour(t, 10))
				take(t, b, 3, true)
				tt.begin(t)
				within(t, func() error { // connections that it ended are found out
					if err := second(b.Estimate(t.Context(), 1)); err == nil || !strings.Contains(err.Error(), tt.name) {
						return fmt.Errorf("not in trouble yet: %w", err)
					}
					return nil
				})
				for _, op := range ops[:tt.ops] {
					err := op.do(t.Context(), m, b)
					wantStoreError(t, err, proxy.ErrUnavailable, prefix+"k")
					if !strings.Contains(err.Error(), tt.name) {
						t.Errorf("%s: got %v, want the server's words", op.name, err)
					}
				}
				tt.end(t)
				within(t, func() error { return second(b.Estimate(t.Context(), 1)) })
				wantAvailable(t, b, 7)
			})
		})
	}
}

// While a server reads its keys from disk, it says so.
func TestC67LoadingServer(t *testing.T) {
	t.Parallel() // it mostly waits
	server := redistest.Start(t, "--enable-debug-command", "yes",
		"--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024")
	admin := connect(t, server.URL())
	const capacity = 1 << 40
	var buckets []proxy.Bucket
	onEachClient(t, func(_ *testing.T, on library, mode redis.Option) {
		b := on.manager(t, connect(t, server.URL()), "", mode).Bucket("k", perHour(t, capacity))
		take(t, b, 1, true)
		buckets = append(buckets, b)
	})
	if err := admin.Do(t.Context(), "DEBUG", "POPULATE", 5000, "key", 100).Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	loading := make([]atomic.Int64, len(buckets))
	end := load(t, len(buckets), func(caller, _ int) {
		if _, err := buckets[caller].Estimate(t.Context(), 1); err != nil {
			wantKind(t, err, proxy.ErrUnavailable)
			if strings.Contains(err.Error(), "LOADING") {
				loading[caller].Add(1)
			}
		}
	})
	server.Restart()
	end()
	for i := range loading {
		if loading[i].Load() == 0 {
			t.Error("the server was never met loading")
		}
	}
	for _, b := range buckets {
		within(t, func() error { return second(b.Estimate(t.Context(), 1)) })
		wantAvailable(t, b, capacity-int64(len(buckets)))
	}
}

// A cluster without a majority serves nothing, and no bucket is taken for drained
// or absent.
func TestC67ClusterDown(t *testing.T) {
	t.Parallel() // it mostly waits
	c := redistest.StartCluster(t, 3, "--cluster-node-timeout", "3000")
	// The prefix of the first primary's keys, which is the one that stays.
	prefix := redistest.Prefix(t)
	for c.Slot(prefix+"k") >= redistest.Slots/3 {
		prefix = redistest.Prefix(t)
	}
	var managers []*proxy.Manager
	for _, backend := range everyone(intoCluster(t, c)) {
		m := manage(t, backend, prefix)
		take(t, m.Bucket("k", perHour(t, 10)), 1, true)
		managers = append(managers, m)
	}
	for _, s := range c.Primaries[1:] {
		s.Kill()
	}
	admin := connect(t, c.Primaries[0].URL())
	within(t, func() error {
		if info := admin.ClusterInfo(t.Context()).Val(); !strings.Contains(info, "cluster_state:fail") {
			return errors.New(info)
		}
		return nil
	})
	for _, m := range managers {
		for _, op := range ops {
			err := op.do(t.Context(), m, m.Bucket("k", perHour(t, 10)))
			wantStoreError(t, err, proxy.ErrUnavailable, prefix+"k")
			if !strings.Contains(err.Error(), "CLUSTERDOWN") {
				t.Errorf("%s: got %v", op.name, err)
			}
		}
	}
	for _, s := range c.Primaries[1:] {
		s.Restart()
	}
	c.Await()
	for _, m := range managers {
		b := m.Bucket("k", perHour(t, 10))
		within(t, func() error { return second(b.Estimate(t.Context(), 1)) })
		wantAvailable(t, b, 10-int64(len(managers)))
	}
}

// A server that evicts makes buckets full again and is otherwise no trouble.
func TestC70EvictionIsSilent(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			server := redistest.Start(t, "--maxmemory", "3mb", "--maxmemory-policy", policy)
			rdb := connect(t, server.URL())
			const batches, size = 40, 250
			onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
				b, prefix := on(t, rdb, mode), redistest.Prefix(t)
				n := batches
				if mode != nil {
					n /= 10
				}
				for from := range n {
					keys := make([]string, size)
					for i := range keys {
						keys[i] = fmt.Sprint(from*size + i)
					}
					for i, d := range batch(t, b, prefix, keys, perHour(t, 10)) {
						if d.Err != nil {
							wantStoreError(t, d.Err, proxy.ErrUnavailable, prefix+keys[i])
							if !strings.Contains(d.Err.Error(), "OOM") {
								t.Fatal(d.Err)
							}
						} else if r := d.Results[0]; !r.Consumed || r.RemainingTokens != 9 {
							t.Fatalf("a new bucket has %d left, consumed %t", r.RemainingTokens, r.Consumed)
						}
					}
				}
			})
			info := rdb.Info(t.Context(), "stats").Val()
			if strings.Contains(info, "evicted_keys:0\r") {
				t.Error("nothing was evicted")
			}
		})
	}
}
