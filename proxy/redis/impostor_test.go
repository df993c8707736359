package redis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// impostor is a server that answers every script call as the test says and
// everything else with OK.
type impostor struct {
	url string

	mu    sync.Mutex
	reply string // as sent, but for the last line's end
}

func newImpostor(t testing.TB) *impostor {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{url: "redis://" + listener.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				i.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close() // ended by itself perhaps
		}
		mu.Unlock()
		wg.Wait()
	})
	return i
}

// answer sets the reply to script calls. An empty one hangs up.
func (i *impostor) answer(reply string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reply = reply
}

func (i *impostor) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		name, err := readCommand(in)
		if err != nil {
			return
		}
		reply := "+OK"
		switch strings.ToLower(name) {
		case "hello":
			reply = "-ERR unknown command 'hello'"
		case "eval", "evalsha":
			i.mu.Lock()
			reply = i.reply
			i.mu.Unlock()
		}
		if reply == "" {
			return
		}
		if _, err := io.WriteString(conn, reply+"\r\n"); err != nil {
			return
		}
	}
}

// readCommand reads one command and returns its name.
func readCommand(in *bufio.Reader) (name string, err error) {
	number := func(mark byte) (int, error) {
		line, err := in.ReadString('\n')
		if err == nil && line[0] != mark {
			err = fmt.Errorf("%q does not begin with %c", line, mark)
		}
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	words, err := number('*')
	for n := range words {
		size, err := number('$')
		if err != nil {
			return "", err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, word); err != nil {
			return "", err
		}
		if n == 0 {
			name = string(word[:size])
		}
	}
	return name, err
}
