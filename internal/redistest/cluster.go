package redistest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// Slots is how many slots a cluster has.
const Slots = 16384

// promptly spares replicas the wait for others that may want the same copy.
var promptly = []string{"--repl-diskless-sync-delay", "0"}

// Cluster is a Redis Cluster that one test owns.
type Cluster struct {
	Primaries []*Server
	Replicas  []*Server // after [Cluster.AddReplicas]: of the primary at the same place

	t    testing.TB
	args []string
}

// StartCluster starts primaries that share the slots evenly and in order, and returns when all of them agree that
// they are a cluster, which takes some seconds. The arguments are those of [Start], for each node. Without
// others a node is taken for dead after 15 s of silence.
func StartCluster(t testing.TB, primaries int, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, args: slices.Concat([]string{"--cluster-enabled", "yes"}, promptly, args)}
	for i := range primaries {
		s := Start(t, c.args...)
		s.ask("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		s.ask("CLUSTER", "ADDSLOTSRANGE", i*Slots/primaries, (i+1)*Slots/primaries-1)
		c.Primaries = append(c.Primaries, s)
		c.introduce(s)
	}
	c.Await()
	return c
}

// AddReplicas gives each primary a replica, and returns when all nodes know them and they are up to date.
func (c *Cluster) AddReplicas() {
	c.t.Helper()
	for range c.Primaries {
		s := Start(c.t, c.args...)
		c.Replicas = append(c.Replicas, s)
		c.introduce(s)
	}
	for i, s := range c.Replicas {
		of := id(c.Primaries[i])
		s.await("it knows its primary", func() bool { return strings.Contains(s.ask("CLUSTER", "NODES"), of) })
		s.ask("CLUSTER", "REPLICATE", of)
	}
	c.Await()
	for _, s := range c.Replicas {
		s.awaitLink()
	}
}

// introduce has a node meet all others, which is faster than to wait until those tell each other of it.
func (c *Cluster) introduce(s *Server) {
	c.t.Helper()
	for _, other := range c.nodes() {
		if host, port, _ := net.SplitHostPort(other.addr); other != s {
			s.ask("CLUSTER", "MEET", host, port)
		}
	}
}

// Await returns when every node finds that all are there and every slot is served.
func (c *Cluster) Await() {
	c.t.Helper()
	for _, s := range c.nodes() {
		s.await("the cluster is complete", func() bool {
			nodes := s.ask("CLUSTER", "NODES")
			return strings.Contains(s.ask("CLUSTER", "INFO"), "cluster_state:ok") &&
				strings.Count(nodes, " connected") == len(c.nodes()) && strings.Count(nodes, "slave ") == len(c.Replicas) &&
				!strings.Contains(nodes, "fail") && !strings.Contains(nodes, "handshake")
		})
	}
}

// Addrs returns the addresses of all nodes.
func (c *Cluster) Addrs() (addrs []string) {
	for _, s := range c.nodes() {
		addrs = append(addrs, s.addr)
	}
	return addrs
}

func (c *Cluster) nodes() []*Server {
	return slices.Concat(c.Primaries, c.Replicas)
}

// Owner returns the index of the primary that a slot belonged to at the start.
func (c *Cluster) Owner(slot int) int {
	owner := 0
	for slot >= (owner+1)*Slots/len(c.Primaries) {
		owner++
	}
	return owner
}

// Slot returns the slot of a key.
func (c *Cluster) Slot(key string) int {
	c.t.Helper()
	var slot int
	if _, err := fmt.Sscan(c.Primaries[0].ask("CLUSTER", "KEYSLOT", key), &slot); err != nil {
		c.t.Fatal(err)
	}
	return slot
}

// MoveSlot moves a slot with its keys from one primary to another, as operators do while clients use it: both are
// told, then the keys go one by one, and in the end all primaries learn the new owner.
func (c *Cluster) MoveSlot(slot int, from, to *Server) {
	c.t.Helper()
	c.BeginMove(slot, from, to)
	host, port, _ := net.SplitHostPort(to.addr)
	for {
		keys := strings.Fields(from.ask("CLUSTER", "GETKEYSINSLOT", slot, 10))
		if len(keys) == 0 {
			break
		}
		for _, key := range keys {
			from.ask("MIGRATE", host, port, key, 0, 10000)
		}
	}
	c.settle(slot, from, to)
}

// settle gives a slot its new owner. Among nodes that disagree the greatest epoch wins, and the new owner may not have
// heard of that of the old one yet: so it takes a greater one once all know the same, and claims the slot again.
func (c *Cluster) settle(slot int, from, to *Server) {
	c.t.Helper()
	for range 2 {
		for _, s := range append([]*Server{to, from}, c.Primaries...) {
			s.ask("CLUSTER", "SETSLOT", slot, "NODE", id(to))
		}
		for _, s := range c.Primaries {
			s.await("it has heard of every epoch", func() bool { return epoch(s) == epoch(to) && epoch(to) == epoch(from) })
		}
		to.ask("CLUSTER", "BUMPEPOCH")
	}
}

// epoch is the greatest that a node knows.
func epoch(s *Server) string {
	_, info, _ := strings.Cut(s.ask("CLUSTER", "INFO"), "cluster_current_epoch:")
	number, _, _ := strings.Cut(info, "\r")
	return number
}

// BeginMove is the first step of [Cluster.MoveSlot]: from then on the old owner redirects clients to the new one
// for keys that it has not.
func (c *Cluster) BeginMove(slot int, from, to *Server) {
	c.t.Helper()
	to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", id(from))
	from.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", id(to))
}

func id(s *Server) string { return s.ask("CLUSTER", "MYID") }
