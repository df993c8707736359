package rueidis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	client "github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// oneConnection makes a client whose calls all go through one connection.
func oneConnection(o *client.ClientOption) { o.PipelineMultiplex = -1 }

// inTime is when a call with a short deadline has ended, on a busy machine too.
const inTime = 5 * time.Second

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, proxy.ErrUnavailable) || errors.Is(err, proxy.ErrOutcomeUnknown) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func wantUnknown(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, proxy.ErrOutcomeUnknown) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
}

// Where nothing listens a call surely did nothing, the first one too.
func TestRefusedConnectionIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c, err := client.NewClient(client.ClientOption{InitAddress: []string{l.Addr().String()}, ForceSingleClient: true})
	if err == nil {
		t.Fatal("somebody listens")
	}
	defer c.Close()
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := manage(t, c, mode).Bucket("k", hourly)
		for name, call := range map[string]func() error{
			"take": func() error { _, err := b.Consume(t.Context(), 1); return err },
			"look": func() error { _, err := b.Inspect(t.Context()); return err },
		} {
			begun := time.Now()
			err := call()
			wantUnavailable(t, err)
			var network *net.OpError
			if !errors.As(err, &network) || network.Op != "dial" {
				t.Errorf("%s: got %v, want another cause", name, err)
			}
			if took := time.Since(begun); took > inTime {
				t.Errorf("%s: took %v", name, took)
			}
		}
	})
}

// While one call dials, others wait for the same connection: each ends with its
// own context, and none is sent later. Those who have more time and share a trip
// with one who has not are sent all the same.
func TestCallGivenUpIsNotSentLater(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL(), oneConnection)
	b := manage(t, c, rueidis.WithoutCoalescing()).Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	killer := connect(t, server.URL())
	if err := killer.Do(t.Context(), killer.B().ClientKill().TypeNormal().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; { // until the client knows that its connection is gone
		if _, err := b.Inspect(t.Context()); err != nil {
			break
		}
		if time.Since(begun) > inTime {
			t.Fatal("the connection is still there")
		}
	}
	server.Pause()
	begun := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := b.Consume(ctx, 1)
			wantUnavailable(t, err)
		})
	}
	var patient sync.WaitGroup
	for range 3 {
		patient.Go(func() {
			if probe, err := b.Consume(t.Context(), 1); err != nil || !probe.Consumed {
				t.Errorf("the patient call: %+v, %v", probe, err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begun); took > inTime {
		t.Errorf("ended after %v", took)
	}
	server.Resume()
	patient.Wait()
	if n, err := b.Available(t.Context()); err != nil || n != 6 {
		t.Errorf("available: %d, %v; want 6", n, err)
	}
}

// A silent server fills the client's queue, and the calls that wait for a place
// there end with their contexts as well. Nothing is left once it answers.
func TestFullQueueKeepsDeadlines(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL(), oneConnection, func(o *client.ClientOption) { o.RingScaleEachConn = 1 })
	b := manage(t, c, rueidis.WithoutCoalescing()).Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ours := goleak.IgnoreCurrent()
	server.Pause()
	begun := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := b.Consume(ctx, 1)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want a DeadlineExceeded", err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begun); took > inTime {
		t.Errorf("ended after %v", took)
	}
	server.Resume()
	if _, err := b.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ours,
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*pipe)._background"), // the connection's own
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*pipe)._backgroundWrite"))
}

// A caller's deadline does not break the connection that others wait on.
func TestDeadlineIsOneCallersOwn(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL(), oneConnection)
	b := manage(t, c, nil).Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := b.Consume(t.Context(), 1)
		if err != nil {
			t.Errorf("the patient call: %v", err)
		}
	})
	if _, err := b.Consume(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a DeadlineExceeded", err)
	}
	server.Resume()
	wg.Wait()
}

// A closed client sends nothing; what it had sent by then is unknown.
func TestClosedClient(t *testing.T) {
	server := redistest.Start(t)
	wrote := make(chan struct{}, 100)
	c := connect(t, server.URL(), func(o *client.ClientOption) {
		o.AlwaysPipelining = true
		o.Dialer.KeepAlive = time.Minute // no pings
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", addr)
			return &tapped{conn, wrote}, err
		}
	}, oneConnection)
	b := manage(t, c, nil).Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	defer server.Resume()
	for len(wrote) > 0 {
		<-wrote
	}
	underWay := make(chan error)
	go func() {
		_, err := b.Consume(t.Context(), 1)
		underWay <- err
	}()
	<-wrote
	c.Close()
	wantUnknown(t, <-underWay)

	_, err := b.Consume(t.Context(), 1)
	wantUnavailable(t, err)
	if !errors.Is(err, client.ErrClosing) {
		t.Errorf("got %v, want that it is closed", err)
	}
}

// tapped is a connection that tells of each write.
type tapped struct {
	net.Conn
	wrote chan<- struct{}
}

func (c *tapped) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote <- struct{}{}
	return n, err
}

// Wrappers may hand rueidis another context than the adapter's, so that nothing
// is known of what it did: then a call without an answer is never said not to
// have been sent.
func TestWrappedClientIsNotTrusted(t *testing.T) {
	server := redistest.Start(t)
	b := manage(t, wrapped{connect(t, server.URL())}, nil).Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := b.Consume(ctx, 1)
	wantUnknown(t, err)
}

// wrapped is a client that limits each call by itself.
type wrapped struct{ rueidis.Client }

func (w wrapped) Do(ctx context.Context, cmd client.Completed) client.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	return w.Client.Do(ctx, cmd)
}
