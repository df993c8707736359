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
	Primary, Replica *Server // as they begin
	Sentinels        []*Server
}

// StartSentinel starts all of them, and returns when the sentinels know each other and the replica, which takes some
// seconds. They take a server for dead after so many milliseconds of silence: few make failovers fast, and let a
// busy machine look dead.
func StartSentinel(t testing.TB, downAfter int) *Sentinel {
	t.Helper()
	s := &Sentinel{Primary: Start(t, promptly...)}
	host, port, _ := net.SplitHostPort(s.Primary.addr)
	s.Replica = Start(t, append([]string{"--replicaof", host, port}, promptly...)...)
	s.Replica.awaitLink()
	conf := fmt.Sprintf("sentinel monitor %s %s %s 2\n", MasterName, host, port) +
		fmt.Sprintf("sentinel down-after-milliseconds %s %d\n", MasterName, downAfter) +
		fmt.Sprintf("sentinel failover-timeout %s 10000\n", MasterName)
	for range 3 {
		s.Sentinels = append(s.Sentinels, start(t, conf, "--sentinel"))
	}
	for _, one := range s.Sentinels {
		one.await("the sentinels know each other and the replica", func() bool {
			seen := one.ask("SENTINEL", "MASTER", MasterName)
			return strings.Contains(seen, "num-slaves 1") && strings.Contains(seen, "num-other-sentinels 2") && strings.Contains(seen, "flags master ")
		})
	}
	return s
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
