package redistest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ask sends one command and returns the answer's words.
func (s *Server) ask(command ...any) string {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: 2, DisableIdentity: true, ReadTimeout: patience, PoolSize: 1})
	defer c.Close()
	answer, err := c.Do(context.Background(), command...).Result()
	if err != nil {
		s.t.Fatalf("redistest: %v: %v", command, err)
	}
	return words(answer)
}

func words(answer any) string {
	list, ok := answer.([]any)
	if !ok {
		return fmt.Sprint(answer)
	}
	each := make([]string, len(list))
	for i, one := range list {
		each[i] = words(one)
	}
	return strings.Join(each, " ")
}

// patience is longer than what servers do among themselves takes on a busy machine.
const patience = 60 * time.Second

// await returns when something has come true.
func (s *Server) await(what string, so func() bool) {
	s.t.Helper()
	for begun := time.Now(); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > patience {
			s.t.Fatalf("redistest: after %v it is not true that %s. The server's log:\n%s", patience, what, s.log())
		}
	}
}

// awaitLink returns when a replica has all of its primary's keys.
func (s *Server) awaitLink() {
	s.t.Helper()
	s.await("the replica is linked", func() bool { return strings.Contains(s.ask("INFO", "replication"), "master_link_status:up") })
}
