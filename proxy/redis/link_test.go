package redis_test

import (
	"net"
	"sync"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
)

// meddler is called before bytes of one connection go on, by a goroutine in each
// direction, and may wait there. A false result cuts the connection instead. Small commands and replies
// come in one piece.
type meddler struct {
	request, reply func(b []byte) bool
}

// through returns the URL of a relay to a server, with a meddler for each connection.
func through(t testing.TB, server string, m func() meddler) string {
	t.Helper()
	options, err := client.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	return "redis://" + redistest.Relay(t, options.Addr, func(down, up net.Conn) {
		m := m()
		var both sync.WaitGroup
		both.Go(func() { pass(up, down, m.request) })
		both.Go(func() { pass(down, up, m.reply) })
		both.Wait()
	})
}

func pass(to, from net.Conn, meddle func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 1<<20)
	for {
		n, err := from.Read(b)
		if err != nil || meddle != nil && !meddle(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
