package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/internal/redistest"
)

// tap keeps the commands that it passes on to a server.
type tap struct {
	mu       sync.Mutex
	commands [][]any
}

// sent is what a contender sends while it does the last of some things: it does them one after the other.
func (s *server) sent(c contender, l limit, do ...func(taker) error) (commands [][]any, err error) {
	var t tap
	err = owned(func(own *owner) error {
		take, done, err := c.open(redistest.Relay(own, s.addr, t.join), l)
		if err != nil {
			return err
		}
		defer done()
		for _, one := range do {
			t.mu.Lock()
			t.commands = nil
			t.mu.Unlock()
			if err := one(take); err != nil {
				return err
			}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		commands = t.commands // a client may send more as it closes
		return nil
	})
	return commands, err
}

func (t *tap) join(client, server net.Conn) {
	var replies sync.WaitGroup
	defer replies.Wait()
	replies.Go(func() {
		defer client.Close()
		_, _ = io.Copy(client, server) // until the server hangs up
	})
	defer server.Close()
	_ = t.requests(bufio.NewReader(client), server) // until the client does
}

// keep notes a command that is not part of how a client says hello.
func (t *tap) keep(command []any) {
	switch name := strings.ToLower(command[0].(string)); name {
	case "hello", "client":
	default:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.commands = append(t.commands, command)
	}
}

// requests passes on what a client asks, command by command.
func (t *tap) requests(from *bufio.Reader, to net.Conn) error {
	var raw []byte
	number := func(mark byte) (int, error) {
		line, err := from.ReadBytes('\n')
		raw = append(raw, line...)
		if err != nil || len(line) < 4 || line[0] != mark {
			return 0, fmt.Errorf("%q, %w", line, err)
		}
		return strconv.Atoi(string(line[1 : len(line)-2]))
	}
	for {
		raw = raw[:0]
		n, err := number('*')
		if err != nil {
			return err
		}
		command := make([]any, n)
		for i := range command {
			length, err := number('$')
			if err != nil {
				return err
			}
			word := make([]byte, length+2)
			if _, err := io.ReadFull(from, word); err != nil {
				return err
			}
			raw = append(raw, word...)
			command[i] = string(word[:length])
		}
		t.keep(command)
		if _, err := to.Write(raw); err != nil {
			return err
		}
	}
}
