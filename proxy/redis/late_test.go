package redis_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// late holds back the reply to a script call.
type late struct {
	mu    sync.Mutex
	until int // the calls until the one to be late; 0: none
	calls int
	held  chan struct{} // closed when the reply may come
}

// hold makes the reply to the n-th call from now wait until it is released, or the test has ended.
func (l *late) hold(t testing.TB, n int) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := make(chan struct{})
	l.until, l.calls, l.held = n, 0, held
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	return release
}

// sent is how many script calls went to the server since hold, and whether the one to be late was among them.
func (l *late) sent() (calls int, reached bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls, l.until == 0
}

// next counts script calls in a request, and tells what the reply must wait for, if anything.
func (l *late) next(request []byte) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := bytes.Count(bytes.ToLower(request), []byte("\r\neval")) // also evalsha
	l.calls += n
	if l.until == 0 || n == 0 {
		return nil
	}
	if l.until = max(l.until-n, 0); l.until > 0 {
		return nil
	}
	return l.held
}

// meddler is for one connection: another one may have a reply of its own on the way, which is not held back.
func (l *late) meddler() meddler {
	due := make(chan (<-chan struct{}), 1)
	return meddler{
		request: func(b []byte) bool {
			if held := l.next(b); held != nil {
				due <- held
			}
			return true
		},
		reply: func([]byte) bool {
			select {
			case held := <-due:
				select {
				case <-held:
				case <-time.After(patience): // nobody gives up
				}
			default:
			}
			return true
		},
	}
}

// How long clients wait for a reply, and how late it is then. A call that a busy machine has not let come so far is
// made again.
const (
	socketTimeout = 100 * time.Millisecond
	lateness      = 300 * time.Millisecond
)

// lateWays are clients that reach a server, or a cluster of one, through a link, with a short socket timeout and
// otherwise as they come.
func lateWays(t testing.TB, link string, cluster bool) []way {
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) { // whatever address the cluster tells
		return new(net.Dialer).DialContext(ctx, network, u.Host)
	}
	var rdb goclient.UniversalClient = goclient.NewClient(&goclient.Options{Addr: u.Host, ReadTimeout: socketTimeout})
	options := ruclient.ClientOption{InitAddress: []string{u.Host}, ConnWriteTimeout: socketTimeout}
	if cluster {
		rdb = goclient.NewClusterClient(&goclient.ClusterOptions{Addrs: []string{u.Host}, ReadTimeout: socketTimeout, Dialer: dial})
		options.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dial(ctx, "tcp", addr)
		}
	}
	within(t, func() error { // a machine may be too busy to greet in time
		c, err := ruclient.NewClient(options)
		if err == nil {
			c.Close()
		}
		return err
	})
	return []way{throughGoRedis(t, "go-redis", rdb), throughRueidis(t, "rueidis", options)}
}

// Clients by themselves would send a call again whose reply is late.
func TestLateReplyIsChargedOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	t.Run("server", func(t *testing.T) { lateReplyIsChargedOnce(t, redistest.Start(t), false) })
	t.Run("cluster", func(t *testing.T) { lateReplyIsChargedOnce(t, redistest.StartCluster(t, 1).Primaries[0], true) })
}

func lateReplyIsChargedOnce(t *testing.T, server *redistest.Server, cluster bool) {
	late := new(late)
	ways := lateWays(t, through(t, server.URL(), late.meddler), cluster)
	inEachWay(t, ways, func(t *testing.T, w way, mode redis.Option) {
		s := &lateTakes{late: late, on: w.backend(mode), prefix: redistest.Prefix(t), limit: perHour(t, 1000), writes: 1}
		if mode != nil {
			s.writes = 2
		}
		s.plain = onClient(t, connect(t, server.URL()), s.prefix, nil)
		within(t, func() error { return errors.Join(s.take(t, "0", "1", "2")...) }) // connected
		t.Run("single", func(t *testing.T) { s.try(t, "0") })
		t.Run("batch", func(t *testing.T) { s.try(t, "0", "1", "2") })
	})
}

// lateTakes are takes of a token of some keys, of which one is late.
type lateTakes struct {
	late   *late
	on     proxy.Backend
	plain  *proxy.Manager // not late
	prefix string
	limit  bucket.Configuration
	writes int // the script call that writes
}

func (s *lateTakes) take(t *testing.T, keys ...string) (errs []error) {
	for _, d := range batch(t, s.on, s.prefix, keys, s.limit) {
		errs = append(errs, d.Err)
	}
	return errs
}

func (s *lateTakes) left(t *testing.T, keys ...string) (left []int64) {
	for _, key := range keys {
		n, err := s.plain.Bucket(key, s.limit).Available(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, n)
	}
	return left
}

func (s *lateTakes) try(t *testing.T, keys ...string) {
	var was []int64
	var errs []error
	within(t, func() error {
		was = s.left(t, keys...)
		release := s.late.hold(t, s.writes)
		begun := time.Now()
		errs = s.take(t, keys...)
		time.Sleep(time.Until(begun.Add(socketTimeout + lateness)))
		release()
		if _, reached := s.late.sent(); !reached {
			return fmt.Errorf("no call was late: %w", errors.Join(errs...))
		}
		return nil
	})
	time.Sleep(lateness) // for anything sent again
	for i, now := range s.left(t, keys...) {
		gone := was[i] - now
		switch {
		case gone > 1, errs[i] == nil && gone != 1:
			t.Errorf("key %s: %d tokens are gone, %v", keys[i], gone, errs[i])
		case s.writes == 1 || i == 0: // one trip for all
			wantStoreError(t, errs[i], proxy.ErrOutcomeUnknown, s.prefix+keys[i])
		case errs[i] != nil: // a busy machine
			wantStoreError(t, errs[i], proxy.ErrUnavailable, s.prefix+keys[i])
		}
	}
	if n, _ := s.late.sent(); len(keys) == 1 && n != s.writes {
		t.Errorf("%d calls were sent, want %d", n, s.writes)
	}
}

// A load whose answer is late did nothing, so that the caller knows the outcome.
func TestLateLoadIsNotUnknown(t *testing.T) {
	t.Parallel() // it mostly waits
	late := new(late)
	for _, w := range lateWays(t, through(t, redistest.URL(t), late.meddler), false) {
		t.Run(w.name, func(t *testing.T) {
			prefix := redistest.Prefix(t)
			b := manage(t, w.backend(redis.WithCompareAndSwap()), prefix).Bucket("k", perHour(t, 10))
			within(t, func() error { _, err := b.Available(t.Context()); return err }) // connected
			late.hold(t, 1)
			_, err := b.Consume(t.Context(), 1)
			wantStoreError(t, err, proxy.ErrUnavailable, prefix+"k")
			wantAvailable(t, manage(t, onGoRedis(t, connect(t, redistest.URL(t))), prefix).Bucket("k", perHour(t, 10)), 10)
		})
	}
}
