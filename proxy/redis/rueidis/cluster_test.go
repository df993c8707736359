package rueidis_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// node is one primary of a cluster, and a client of it alone.
type node struct {
	*redistest.Server
	plain client.Client
	id    string
}

// startCluster starts a cluster whose first primary owns every slot.
func startCluster(t testing.TB, size int) (nodes []node) {
	t.Helper()
	for range size {
		s := redistest.Start(t, "--cluster-enabled", "yes")
		n := node{s, connect(t, s.URL(), func(o *client.ClientOption) { o.ForceSingleClient = true }), ""}
		n.id = n.ask(t, "CLUSTER", "MYID")
		nodes = append(nodes, n)
	}
	nodes[0].ask(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	for i, n := range nodes[1:] {
		host, port, _ := net.SplitHostPort(n.Addr())
		n.ask(t, "CLUSTER", "SET-CONFIG-EPOCH", string(rune('2'+i)))
		nodes[0].ask(t, "CLUSTER", "MEET", host, port)
	}
	for _, n := range nodes {
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			info := n.ask(t, "CLUSTER", "INFO")
			if strings.Contains(info, "cluster_state:ok") && strings.Count(n.ask(t, "CLUSTER", "NODES"), "connected") == size {
				break
			}
			if time.Since(begun) > 30*time.Second {
				t.Fatalf("the cluster does not come up:\n%s", info)
			}
		}
	}
	return nodes
}

// ask returns a node's answer to one command.
func (n node) ask(t testing.TB, words ...string) string {
	t.Helper()
	m, err := n.plain.Do(t.Context(), n.plain.B().Arbitrary(words...).Build()).ToMessage()
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	text, _ := m.ToString()
	return text
}

// takes are charges of 1, 2, 3 and so on for keys.
func takes(keys ...string) []proxy.Decision {
	ds := make([]proxy.Decision, len(keys))
	for i, key := range keys {
		ds[i] = proxy.Decision{
			Charges: []proxy.Charge{{
				Key:     key,
				Request: bucket.Request{Config: hourly, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: int64(i + 1)}},
			}},
			Results: make([]bucket.Result, 1),
		}
	}
	return ds
}

// One key a command: braces and batches over several slots are nothing special.
func TestClusterClient(t *testing.T) {
	one := startCluster(t, 1)[0]
	c := connect(t, one.URL())
	if got := c.Mode(); got != client.ClientModeCluster {
		t.Fatalf("the client is %s", got)
	}
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		one.ask(t, "SCRIPT", "FLUSH")
		one.ask(t, "FLUSHALL")
		ds := takes("a", "b", "{a}b", "}{", "{", "{}x", "é{ü}")
		rueidis.New(c, mode).Do(t.Context(), ds)
		for i, d := range ds {
			if d.Err != nil || d.Results[0].RemainingTokens != int64(9-i) {
				t.Errorf("key %q: %d left, %v", d.Charges[0].Key, d.Results[0].RemainingTokens, d.Err)
			}
		}
	})
}

// A slot that has moved, or is about to, is found where it is, by single calls
// and in batches.
func TestRedirectionsAreFollowed(t *testing.T) {
	nodes := startCluster(t, 2)
	from, to := nodes[0], nodes[1]
	c := connect(t, from.URL(), func(o *client.ClientOption) { o.InitAddress = []string{from.Addr()} })
	for _, tt := range []struct {
		name string
		move func(slot string)
	}{
		{"ask", func(slot string) {
			to.ask(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id)
			from.ask(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
		}},
		{"moved", func(slot string) {
			to.ask(t, "CLUSTER", "SETSLOT", slot, "NODE", to.id)
			from.ask(t, "CLUSTER", "SETSLOT", slot, "NODE", to.id)
		}},
	} {
		for _, batch := range []bool{false, true} {
			for _, mode := range []redis.Option{nil, rueidis.WithCompareAndSwap()} {
				key := fmt.Sprint(tt.name, batch, mode != nil)
				slot, err := from.plain.Do(t.Context(), from.plain.B().ClusterKeyslot().Key(key).Build()).ToInt64()
				if err != nil {
					t.Fatal(err)
				}
				tt.move(strconv.FormatInt(slot, 10))
				ds := takes(key, "stays", "stays too")
				if !batch {
					ds = ds[:1]
				}
				rueidis.New(c, mode).Do(t.Context(), ds)
				if d := ds[0]; d.Err != nil || d.Results[0].RemainingTokens != 9 {
					t.Errorf("%s, batch %t, swap %t: %d left, %v; want 9", tt.name, batch, mode != nil, d.Results[0].RemainingTokens, d.Err)
				}
			}
		}
	}
}
