package redis_test

import (
	"net"
	"sync"
	"testing"

	client "github.com/redis/go-redis/v9"
)

// link stands between clients and a server and meddles with what passes.
type link struct {
	addr    string
	server  string
	meddler func() meddler
	wg      sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
}

// meddler is called before bytes of one connection go on, by a goroutine in each
// direction, and may wait there. A false result cuts the connection instead. Small commands and replies
// come in one piece.
type meddler struct {
	request, reply func(b []byte) bool
}

// through returns the URL of a link to a server, with a meddler for each connection.
func through(t testing.TB, server string, m func() meddler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	options, err := client.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{addr: listener.Addr().String(), server: options.Addr, meddler: m, conns: map[net.Conn]struct{}{}}
	l.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.join(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.closeAll()
		l.wg.Wait()
	})
	return "redis://" + l.addr
}

func (l *link) join(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp", l.server)
	if err != nil {
		return
	}
	defer up.Close()
	if !l.add(up, down) {
		return
	}
	m := l.meddler()
	var both sync.WaitGroup
	both.Go(func() { pass(up, down, m.request) })
	both.Go(func() { pass(down, up, m.reply) })
	both.Wait()
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

func (l *link) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return !l.closed
}

func (l *link) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for c := range l.conns {
		_ = c.Close() // ended by itself perhaps
	}
}
