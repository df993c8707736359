package redis_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// inEachMode runs a test with scripts that decide, and with scripts that swap.
func inEachMode(t *testing.T, run func(t *testing.T, mode redis.Option)) {
	t.Run("script", func(t *testing.T) { run(t, nil) })
	t.Run("swap", func(t *testing.T) { run(t, redis.WithCompareAndSwap()) })
}

// connect returns a client of a server, by default the shared one.
func connect(t testing.TB, url string, change ...func(*client.Options)) *client.Client {
	t.Helper()
	options, err := client.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(options)
	}
	c := client.NewClient(options)
	t.Cleanup(func() { _ = c.Close() }) // a test may have closed it
	return c
}

// shared is a client of the shared server and a prefix for the test's keys.
func shared(t testing.TB) (*client.Client, string) {
	t.Helper()
	return connect(t, redistest.URL(t)), redistest.Prefix(t)
}

// patience is longer than any call of a sound server takes, on a slow machine
// with the race detector too.
const patience = 20 * time.Second

func manage(t testing.TB, b proxy.Backend, prefix string, options ...proxy.Option) *proxy.Manager {
	t.Helper()
	options = append([]proxy.Option{proxy.WithKeyPrefix(prefix), proxy.WithTimeout(patience)}, options...)
	m, err := proxy.NewManager(b, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// onClient is a manager in a mode on a client.
func onClient(t testing.TB, c goredis.Client, prefix string, mode redis.Option, options ...proxy.Option) *proxy.Manager {
	t.Helper()
	return manage(t, goredis.New(c, mode), prefix, options...)
}

func config(t testing.TB, capacity int64, refill bandwidth.Refill, options ...bandwidth.Option) bucket.Configuration {
	t.Helper()
	b, err := bandwidth.New(capacity, refill, options...)
	if err != nil {
		t.Fatal(err)
	}
	return bucket.MustConfiguration(b)
}

// perHour is a limit that gives nothing back while a test runs.
func perHour(t testing.TB, n int64) bucket.Configuration {
	return config(t, n, bandwidth.Greedy(1, time.Hour))
}

// clock is a client's clock that a test sets.
type clock struct{ micros atomic.Int64 }

// newClock starts in the middle of a millisecond.
func newClock() *clock {
	c := new(clock)
	c.set(time.Date(2026, 3, 1, 12, 0, 0, 123_456_000, time.UTC))
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) set(t time.Time)         { c.micros.Store(t.UnixMicro()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// ear is an observer that remembers.
type ear struct {
	mu     sync.Mutex
	events []proxy.Event
}

func (e *ear) Observe(_ context.Context, event proxy.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if event.Result != nil {
		result := *event.Result
		event.Result = &result
	}
	e.events = append(e.events, event)
}

// count returns how many events of a kind there were, and forgets them all.
func (e *ear) count(kind proxy.EventKind) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.events {
		if event.Kind == kind {
			n++
		}
	}
	e.events = nil
	return n
}

func (e *ear) forget() { e.count(0) }

// take consumes n tokens and fails the test unless the answer is as wanted.
func take(t testing.TB, b proxy.Bucket, n int64, want bool) bucket.Probe {
	t.Helper()
	p, err := b.Consume(t.Context(), n)
	if err != nil {
		t.Fatalf("take %d: %v", n, err)
	}
	if p.Consumed != want {
		t.Fatalf("take %d: consumed %t with %d left, want %t", n, p.Consumed, p.RemainingTokens, want)
	}
	return p
}

func wantAvailable(t testing.TB, b proxy.Bucket, want int64) {
	t.Helper()
	if got, err := b.Available(t.Context()); err != nil || got != want {
		t.Fatalf("available: got %d, %v; want %d", got, err, want)
	}
}

// stored reads and decodes what is under a key.
func stored(t testing.TB, rdb *client.Client, key string) bucket.Entry {
	t.Helper()
	b, err := rdb.Get(t.Context(), key).Bytes()
	if err != nil {
		t.Fatalf("key %q: %v", key, err)
	}
	e, err := codec.MessagePack{}.Decode(b, bucket.Configuration{})
	if err != nil {
		t.Fatalf("key %q: %v", key, err)
	}
	return e
}

func encoded(e bucket.Entry) []byte { return codec.MessagePack{}.Append(nil, e) }

func wantAbsent(t testing.TB, rdb *client.Client, key string) {
	t.Helper()
	if n, err := rdb.Exists(t.Context(), key).Result(); err != nil || n != 0 {
		t.Fatalf("key %q: exists %d, %v; want none", key, n, err)
	}
}

// wantStoreError fails the test unless err is a StoreError of a kind that names
// the key.
func wantStoreError(t testing.TB, err, kind error, key string) {
	t.Helper()
	var store *proxy.StoreError
	switch {
	case !errors.As(err, &store):
		t.Fatalf("got %v, want a StoreError", err)
	case !errors.Is(err, kind):
		t.Fatalf("got %v, want %v", err, kind)
	case store.Key != key:
		t.Fatalf("got the key %q, want %q", store.Key, key)
	}
}

// decide has a backend decide on charges in one batch.
func decide(t testing.TB, b proxy.Backend, charges ...proxy.Charge) []proxy.Decision {
	t.Helper()
	ds := make([]proxy.Decision, len(charges))
	for i := range charges {
		ds[i] = proxy.Decision{Charges: charges[i : i+1], Results: make([]bucket.Result, 1)}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b.Do(ctx, ds)
	return ds
}

// longLife keeps keys that a test writes on a clock of its own.
var longLife = expiration.TimeToFull(time.Hour)
