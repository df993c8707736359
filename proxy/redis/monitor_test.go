package redis_test

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy/codec"
)

// monitor is all that a server is asked to do.
type monitor struct {
	t     testing.TB
	conn  net.Conn
	lines *bufio.Reader
	rdb   *client.Client
}

// command is one that a client sent, or that a script called.
type command struct {
	name     string // in upper case
	args     []string
	inScript bool
}

func watch(t testing.TB, s *redistest.Server) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &monitor{t, conn, bufio.NewReaderSize(conn, 1<<16), connect(t, s.URL())}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if got := m.line(); got != "OK" {
		t.Fatalf("MONITOR: %q", got)
	}
	return m
}

func (m *monitor) line() string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		m.t.Fatal(err)
	}
	line, err := m.lines.ReadString('\n')
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "+"))
}

// seen returns what was done since the last time.
func (m *monitor) seen() []command {
	m.t.Helper()
	const mark = "end of what was seen"
	if err := m.rdb.Echo(m.t.Context(), mark).Err(); err != nil {
		m.t.Fatal(err)
	}
	var all []command
	for {
		c := m.parse(m.line())
		if c.name == "ECHO" && c.args[0] == mark {
			return all
		}
		all = append(all, c)
	}
}

// parse reads a line such as
//
//	1772366400.123456 [0 lua] "GET" "key"
func (m *monitor) parse(line string) command {
	m.t.Helper()
	head, rest, found := strings.Cut(line, "] ")
	if !found {
		m.t.Fatalf("MONITOR said %q", line)
	}
	c := command{inScript: strings.HasSuffix(head, " lua")}
	var words []string
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			m.t.Fatalf("MONITOR said %q: %v", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			m.t.Fatalf("MONITOR said %q: %v", line, err)
		}
		words, rest = append(words, word), strings.TrimPrefix(rest[len(quoted):], " ")
	}
	c.name, c.args = strings.ToUpper(words[0]), words[1:]
	return c
}

// lives returns the times to live in milliseconds that were asked for, each from
// the millisecond of the decision that wrote the key.
func lives(t testing.TB, all []command) (ms []int64) {
	t.Helper()
	for _, c := range all {
		if c.name != "SET" {
			continue
		}
		if len(c.args) != 4 || c.args[2] != "PXAT" {
			t.Fatalf("SET %q: value and expiry in one command are key, value, PXAT and a number", c.args)
		}
		at, err := strconv.ParseInt(c.args[3], 10, 64)
		if err != nil {
			t.Fatalf("SET PXAT %q: %v", c.args[3], err)
		}
		e, err := codec.MessagePack{}.Decode([]byte(c.args[1]), bucket.Configuration{})
		if err != nil {
			t.Fatalf("SET %q: %v", c.args, err)
		}
		n := at - e.State.Last/1000
		if n < 1 {
			t.Fatalf("SET PXAT %d at %d: want a later instant", at, e.State.Last)
		}
		ms = append(ms, n)
	}
	return ms
}
