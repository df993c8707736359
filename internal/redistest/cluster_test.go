package redistest_test

import (
	"testing"

	"github.com/sluice-go/sluice/internal/redistest"
)

func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	if slot := c.Slot("foo"); slot != 12182 {
		t.Errorf("foo is in slot %d", slot)
	}
	first, third := c.Primaries[0], c.Primaries[2]
	expect(t, third.Addr(), "SET foo bar", "+OK")
	expect(t, first.Addr(), "GET foo", "-MOVED 12182 "+third.Addr())

	c.BeginMove(12182, third, first)
	expect(t, third.Addr(), "GET {foo}new", "-ASK 12182 "+first.Addr())
	expect(t, third.Addr(), "GET foo", "$3")
	c.MoveSlot(12182, third, first)
	expect(t, first.Addr(), "GET foo", "$3")
	for _, s := range c.Primaries[1:] {
		expect(t, s.Addr(), "GET foo", "-MOVED 12182 "+first.Addr())
	}

	c.AddReplicas()
	if n := len(c.Addrs()); n != 6 {
		t.Errorf("%d nodes", n)
	}
	for i, s := range c.Replicas {
		expect(t, s.Addr(), "GET foo", "-MOVED 12182 "+first.Addr())
		expect(t, s.Addr(), "DBSIZE", []string{":1", ":0", ":0"}[i])
	}

	third.Restart()
	c.Await()
	expect(t, third.Addr(), "GET foo", "-MOVED 12182 "+first.Addr())
}

func TestSentinel(t *testing.T) {
	s := redistest.StartSentinel(t, 5000) // which no stall of a busy machine lasts
	if n := len(s.Addrs()); n != 3 {
		t.Errorf("%d sentinels", n)
	}
	expect(t, s.Primary.Addr(), "SET k v", "+OK")
	expect(t, s.Primary.Addr(), "WAIT 1 60000", ":1")
	expect(t, s.Replica.Addr(), "SET k v", "-READONLY You can't write against a read only replica.")
	s.Primary.Kill()
	s.AwaitFailover()
	expect(t, s.Replica.Addr(), "GET k", "$1")
	expect(t, s.Replica.Addr(), "SET k v", "+OK")

	first := s.Primary
	s.Rejoin()
	if s.Replica != first {
		t.Error("the old primary is not the replica")
	}
	expect(t, first.Addr(), "GET k", "$1")
	s.Primary.Kill()
	s.Rejoin()
	expect(t, first.Addr(), "SET k v", "+OK")
	expect(t, s.Replica.Addr(), "SET k v", "-READONLY You can't write against a read only replica.")
}
