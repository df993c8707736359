package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// tap stands between clients and a server and keeps the commands that it passes on.
type tap struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup
	mu       sync.Mutex
	commands [][]any
}

// sent is what a contender sends while it does the last of some things: it does them one after the other.
func (s *server) sent(c contender, l limit, do ...func(taker) error) ([][]any, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{listener: listener, server: s.addr}
	t.wg.Go(t.accept)
	defer t.wg.Wait()
	defer listener.Close()

	take, done, err := c.open(listener.Addr().String(), l)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, one := range do {
		t.mu.Lock()
		t.commands = nil
		t.mu.Unlock()
		if err := one(take); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.commands, nil
}

func (t *tap) accept() {
	for {
		client, err := t.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", t.server)
		if err != nil {
			client.Close()
			continue
		}
		t.wg.Go(func() {
			defer server.Close()
			_ = t.requests(bufio.NewReader(client), server) // until the client hangs up
		})
		t.wg.Go(func() {
			defer client.Close()
			_, _ = io.Copy(client, server) // until the server does
		})
	}
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
