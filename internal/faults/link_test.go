package faults_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/redistest"
)

// ping sends pings on one connection at once and returns when all answers are there.
func ping(conn net.Conn, times int) error {
	for range times {
		if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
			return err
		}
	}
	in := bufio.NewReader(conn)
	for range times {
		if line, err := in.ReadString('\n'); err != nil || line != "+PONG\r\n" {
			return fmt.Errorf("%q, %w", line, err)
		}
	}
	return nil
}

func dial(t *testing.T, l *faults.Link) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestLinkDelaysReplies(t *testing.T) {
	l := faults.NewLink(t, redistest.Start(t).Addr())
	conn := dial(t, l)
	if err := ping(conn, 1); err != nil {
		t.Fatal(err)
	}
	const late = 100 * time.Millisecond
	l.Delay(late)
	begun := time.Now()
	if err := ping(conn, 1); err != nil || time.Since(begun) < late {
		t.Errorf("an answer after %v, %v; want at least %v", time.Since(begun), err, late)
	}
}

func TestLinkCutsAsOftenAsItIsTold(t *testing.T) {
	l := faults.NewLink(t, redistest.Start(t).Addr())
	l.Cut(1, 1, 2)
	for i, cut := range []bool{true, true, false} {
		if err := ping(dial(t, l), 1); (err != nil) != cut {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}
