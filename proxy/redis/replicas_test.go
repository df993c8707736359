package redis_test

import (
	"net"
	"strings"
	"testing"

	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// A server that has become a replica keeps its connections and its keys, but
// decides nothing any more, not even a refusal, until it is a primary again.
func TestC30ReplicaDecidesNothing(t *testing.T) {
	primary, server := redistest.Start(t), redistest.Start(t)
	rdb := connect(t, server.URL())
	host, port, _ := net.SplitHostPort(primary.Addr())
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		prefix := redistest.Prefix(t)
		m := on.manager(t, rdb, prefix, mode)
		b := m.Bucket("k", perHour(t, 10))
		take(t, b, 10, true)
		if err := rdb.ReplicaOf(t.Context(), host, port).Err(); err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			err := op.do(t.Context(), m, b)
			wantStoreError(t, err, proxy.ErrUnavailable, prefix+"k")
			if !strings.Contains(err.Error(), "READONLY") {
				t.Errorf("%s: got %v", op.name, err)
			}
		}
		if err := rdb.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		within(t, func() error { return second(b.Consume(t.Context(), 1)) })
	})
}

// Whatever routing a cluster client was given, decisions are the primary's, or
// there is none.
func TestC30ClientsThatPreferReplicas(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	c.AddReplicas()
	addrs := c.Addrs()
	cluster := func(name string, o goclient.ClusterOptions) way {
		o.Addrs = addrs
		return throughGoRedis(t, "go-redis "+name, goclient.NewClusterClient(&o))
	}
	everything := func(ruclient.Completed) bool { return true }
	last := func(_ uint16, nodes []ruclient.NodeInfo) int { return len(nodes) - 1 }
	ways := []way{
		cluster("ReadOnly", goclient.ClusterOptions{ReadOnly: true}),
		cluster("RouteByLatency", goclient.ClusterOptions{RouteByLatency: true}),
		cluster("RouteRandomly", goclient.ClusterOptions{RouteRandomly: true}),
		throughRueidis(t, "rueidis SendToReplicas what reads", ruclient.ClientOption{
			InitAddress: addrs, SendToReplicas: func(cmd ruclient.Completed) bool { return cmd.IsReadOnly() },
		}),
		throughRueidis(t, "rueidis SendToReplicas", ruclient.ClientOption{InitAddress: addrs, SendToReplicas: everything}),
		throughRueidis(t, "rueidis ReplicaSelector", ruclient.ClientOption{
			InitAddress: addrs, SendToReplicas: everything,
			//lint:ignore SA1019 deprecated is not gone
			ReplicaSelector: last,
		}),
		throughRueidis(t, "rueidis ReadNodeSelector", ruclient.ClientOption{
			InitAddress: addrs, SendToReplicas: everything, ReadNodeSelector: last,
		}),
		throughRueidis(t, "rueidis ReplicaOnly", ruclient.ClientOption{InitAddress: addrs, ReplicaOnly: true}),
	}
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	const capacity = 3
	limit := perHour(t, capacity)
	inEachWay(t, ways, func(t *testing.T, w way, mode redis.Option) {
		prefix := redistest.Prefix(t)
		m := manage(t, w.backend(mode), prefix)
		answered := 0
		for taken := range capacity + 2 {
			for i, d := range batch(t, w.backend(mode), prefix, keys, limit) {
				if d.Err != nil {
					wantStoreError(t, d.Err, proxy.ErrUnavailable, prefix+keys[i])
					continue
				}
				answered++
				if r := d.Results[0]; r.Consumed != (taken < capacity) {
					t.Errorf("take %d of key %s: consumed %t, %d left", taken+1, keys[i], r.Consumed, r.RemainingTokens)
				}
			}
			for _, key := range keys {
				if left, err := m.Bucket(key, limit).Available(t.Context()); err != nil {
					wantStoreError(t, err, proxy.ErrUnavailable, prefix+key)
				} else if want := max(int64(capacity-taken-1), 0); left != want {
					t.Errorf("key %s: %d available, want %d", key, left, want)
				}
			}
		}
		if all := len(keys) * (capacity + 2); answered != all {
			t.Errorf("%d of %d takes were decided", answered, all)
		}
	})
	// What replicas have done is known to them alone.
	for i, s := range c.Replicas {
		if calls := commandCalls(t, connect(t, s.URL())); calls["get"]+calls["time"] > 0 {
			t.Errorf("replica %d has run scripts: %v", i, calls)
		}
	}
}
