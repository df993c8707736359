package goredis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// closedPort is an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Where nothing listens a call surely did nothing. By default the client dials
// for longer than the manager waits, so that only the deadline ends the call.
func TestRefusedConnectionIsUnavailable(t *testing.T) {
	for _, tt := range []struct {
		name     string
		attempts int
		cause    error
		timeout  time.Duration
	}{
		{"client dials once", 1, nil, 10 * time.Second},
		{"client dials again", 0, context.DeadlineExceeded, proxy.DefaultTimeout},
	} {
		for _, mode := range []redis.Option{nil, redis.WithCompareAndSwap()} {
			rdb := client.NewClient(&client.Options{Addr: closedPort(t), DialerRetries: tt.attempts})
			defer rdb.Close()
			m, err := proxy.NewManager(goredis.New(rdb, mode), proxy.WithKeyPrefix(""), proxy.WithTimeout(tt.timeout))
			if err != nil {
				t.Fatal(err)
			}
			for name, call := range map[string]func(context.Context, proxy.Bucket) error{
				"take": func(ctx context.Context, b proxy.Bucket) error { _, err := b.Consume(ctx, 1); return err },
				"look": func(ctx context.Context, b proxy.Bucket) error { _, err := b.Inspect(ctx); return err },
			} {
				begun := time.Now()
				err := call(t.Context(), m.Bucket("k", hourly))
				took := time.Since(begun)
				var store *proxy.StoreError
				if !errors.As(err, &store) || store.Kind != proxy.ErrUnavailable || store.Key != "k" {
					t.Errorf("%s, %s, swap %t: got %v, want unavailable", tt.name, name, mode != nil, err)
				}
				var network *net.OpError
				if tt.cause == nil && (!errors.As(err, &network) || network.Op != "dial") || tt.cause != nil && !errors.Is(err, tt.cause) {
					t.Errorf("%s, %s, swap %t: got %v, want another cause", tt.name, name, mode != nil, err)
				}
				if took > 2*time.Second {
					t.Errorf("%s, %s, swap %t: took %v", tt.name, name, mode != nil, took)
				}
			}
		}
	}
}

// A call that is given up before it was sent is not sent later.
func TestCallGivenUpIsNotSentLater(t *testing.T) {
	for _, trouble := range []struct {
		name       string
		begin, end func(*redistest.Server)
	}{
		{"refused", (*redistest.Server).Kill, (*redistest.Server).Restart},
		{"silent", (*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			server := redistest.Start(t)
			rdb := client.NewClient(&client.Options{Addr: server.Addr(), DialerRetries: 50, DialerRetryTimeout: 20 * time.Millisecond})
			defer rdb.Close()
			m, err := proxy.NewManager(goredis.New(rdb), proxy.WithKeyPrefix(""), proxy.WithTimeout(10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			b := m.Bucket("k", hourly)
			trouble.begin(server)
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
				_, err := b.Consume(ctx, 1)
				cancel()
				if !errors.Is(err, proxy.ErrUnavailable) || errors.Is(err, proxy.ErrOutcomeUnknown) {
					t.Errorf("got %v, want unavailable", err)
				}
			}
			trouble.end(server)
			time.Sleep(300 * time.Millisecond) // for what the client still does
			n, err := b.Available(t.Context())
			if err != nil || n != 10 {
				t.Errorf("available: %d, %v; want all 10", n, err)
			}
		})
	}
}

// Calls that wait for a connection of the client's pool were not sent either.
func TestExhaustedPoolIsUnavailable(t *testing.T) {
	server := redistest.Start(t)
	rdb := client.NewClient(&client.Options{Addr: server.Addr(), PoolSize: 1, PoolTimeout: 50 * time.Millisecond})
	defer rdb.Close()
	m, err := proxy.NewManager(goredis.New(rdb), proxy.WithKeyPrefix(""), proxy.WithTimeout(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	first := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := b.Consume(ctx, 1)
		first <- err
	}()
	for rdb.PoolStats().IdleConns > 0 {
		time.Sleep(time.Millisecond)
	}
	_, err = m.Bucket("other", hourly).Consume(t.Context(), 1)
	if !errors.Is(err, proxy.ErrUnavailable) || !errors.Is(err, client.ErrPoolTimeout) || errors.Is(err, proxy.ErrOutcomeUnknown) {
		t.Errorf("got %v, want unavailable because of the pool", err)
	}
	server.Resume()
	if err := <-first; err != nil {
		t.Errorf("the call on the only connection: %v", err)
	}
}

func TestClosedClientIsUnavailable(t *testing.T) {
	rdb := client.NewClient(&client.Options{Addr: closedPort(t)})
	rdb.Close()
	for _, mode := range []redis.Option{nil, redis.WithCompareAndSwap()} {
		m, err := proxy.NewManager(goredis.New(rdb, mode))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Bucket("k", hourly).Consume(t.Context(), 1)
		if !errors.Is(err, proxy.ErrUnavailable) || !errors.Is(err, client.ErrClosed) {
			t.Errorf("got %v, want unavailable because it is closed", err)
		}
	}
}

// Managers are made while the server is down, and work once it is up.
func TestServerMayComeLater(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	rdb := client.NewClient(&client.Options{Addr: server.Addr()})
	defer rdb.Close()
	m, err := proxy.NewManager(goredis.New(rdb))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); !errors.Is(err, proxy.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	server.Restart()
	up := time.Now()
	for {
		if _, err = b.Consume(t.Context(), 1); err == nil {
			break
		}
		if time.Since(up) > 10*time.Second {
			t.Fatalf("10 s after the server is up: %v", err)
		}
	}
	t.Logf("served %v after the server was up", time.Since(up))
}
