package redistest

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// MasterName is what the sentinels of [StartSentinel] call the primary.
const MasterName = "sluice"

// Sentinel is a primary, its replica and three sentinels that watch them, all owned by one test.
type Sentinel struct {
	Primary, Replica *Server // as they begin, or were before the failover that [Sentinel.Rejoin] ends
	Sentinels        []*Server
}

// StartSentinel starts all of them, and returns when the sentinels know each other and the replica, which takes some
// seconds. They take a server for dead after so many milliseconds of silence: few make failovers fast, and let a
// busy machine look dead.
func StartSentinel(t testing.TB, downAfter int) *Sentinel {
	t.Helper()
	s := &Sentinel{Primary: Start(t, promptly...)}
	s.Replica = Start(t, replicaOf(s.Primary)...)
	s.Replica.awaitLink()
	host, port, _ := net.SplitHostPort(s.Primary.addr)
	conf := fmt.Sprintf("sentinel monitor %s %s %s 2\n", MasterName, host, port) +
		fmt.Sprintf("sentinel down-after-milliseconds %s %d\n", MasterName, downAfter) +
		fmt.Sprintf("sentinel failover-timeout %s 10000\n", MasterName)
	for range 3 {
		s.Sentinels = append(s.Sentinels, start(t, conf, "--sentinel"))
	}
	s.awaitCalm()
	return s
}

// replicaOf are the arguments of a replica.
func replicaOf(primary *Server) []string {
	host, port, _ := net.SplitHostPort(primary.addr)
	return append([]string{"--replicaof", host, port}, promptly...)
}

// awaitCalm returns when all sentinels could do a failover.
func (s *Sentinel) awaitCalm() {
	s.Primary.t.Helper()
	for _, one := range s.Sentinels {
		one.await("the sentinels know each other and the replica", func() bool {
			seen, replicas := one.ask("SENTINEL", "MASTER", MasterName), one.ask("SENTINEL", "REPLICAS", MasterName)
			return strings.Contains(seen, "num-slaves 1") && strings.Contains(seen, "num-other-sentinels 2") &&
				strings.Contains(seen, "flags master ") && strings.Contains(replicas, "flags slave ")
		})
	}
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinel) Addrs() (addrs []string) {
	for _, one := range s.Sentinels {
		addrs = append(addrs, one.addr)
	}
	return addrs
}

// AwaitFailover returns when all sentinels name the replica as the primary.
func (s *Sentinel) AwaitFailover() {
	s.Primary.t.Helper()
	for _, one := range s.Sentinels {
		one.await("the replica is the primary", func() bool {
			return strings.Join(strings.Fields(one.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)), ":") == s.Replica.addr
		})
	}
}

// Rejoin returns when, after a failover, the old primary is the replica of the new one, started again if it is down:
// one that lives takes itself for a primary until sentinels tell it otherwise, some 10 s later. From then on each has
// the name of the other, and there may be another failover.
func (s *Sentinel) Rejoin() {
	s.Primary.t.Helper()
	s.AwaitFailover()
	s.Primary, s.Replica = s.Replica, s.Primary
	if s.Replica.process == nil {
		s.Replica.args = replicaOf(s.Primary) // sentinels would take 10 s to say so
		s.Replica.Restart()
	}
	s.Replica.awaitLink()
	s.awaitCalm()
}
