package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Relay returns an address, as host:port, whose connections are carried on to a server until the test ends. carry is
// called for each connection, in a goroutine of its own, with both of its ends, which are closed when it returns.
func Relay(t testing.TB, server string, carry func(client, server net.Conn)) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { join(ctx, client, server, carry) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		end()
		wg.Wait()
	})
	return listener.Addr().String()
}

func join(ctx context.Context, client net.Conn, addr string, carry func(client, server net.Conn)) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})()
	carry(client, server)
}
