package memory_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	proxytest.Run(t, proxytest.Factory{
		InProcess: true,
		Open: func(_ *testing.T, c proxytest.Clock) proxy.Backend {
			if c.Now == nil {
				return memory.New()
			}
			return memory.New(memory.WithClock(c.Now))
		},
	})
}

// start is in the middle of a millisecond.
var start = time.Date(2026, time.February, 3, 4, 5, 6, 123_456_000, time.UTC)

// clock stands still until it is moved.
type clock struct{ since atomic.Int64 }

func (c *clock) Now() time.Time { return start.Add(time.Duration(c.since.Load())) }

func (c *clock) at(d time.Duration) { c.since.Store(int64(d)) }

func manager(t *testing.T, b proxy.Backend, opts ...proxy.Option) *proxy.Manager {
	t.Helper()
	m, err := proxy.NewManager(b, opts...)
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

func greedy(capacity, tokens int64, period time.Duration, opts ...bandwidth.Option) bucket.Configuration {
	return bucket.MustConfiguration(bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(tokens, period), opts...)))
}

// take takes tokens that may be there or not, and returns how many it took.
func take(t *testing.T, b bucket.Bucket, n int64) int64 {
	t.Helper()
	ok, err := b.TryConsume(t.Context(), n)
	if err != nil {
		t.Errorf("TryConsume: %v", err)
	}
	if ok {
		return n
	}
	return 0
}

func available(t *testing.T, b bucket.Bucket) int64 {
	t.Helper()
	n, err := b.Available(t.Context())
	if err != nil {
		t.Errorf("Available: %v", err)
	}
	return n
}

func TestNilClock(t *testing.T) {
	_, err := proxy.NewManager(memory.New(memory.WithClock(nil)))
	var bad *bucket.ArgumentError
	if !errors.As(err, &bad) || bad.Field != "clock" {
		t.Errorf("got %v, want an ArgumentError for the clock", err)
	}
}

func TestNilOption(t *testing.T) {
	m := manager(t, memory.New(nil))
	if take(t, m.Bucket("key", greedy(1, 1, time.Hour)), 1) != 1 {
		t.Error("refused the first token")
	}
}

func TestManagersShareABackend(t *testing.T) {
	b := memory.New()
	a, c := manager(t, b), manager(t, b)
	limit := greedy(2, 1, time.Hour)
	if take(t, a.Bucket("key", limit), 1)+take(t, c.Bucket("key", limit), 1)+take(t, a.Bucket("key", limit), 1) != 2 {
		t.Error("two managers of one backend have two buckets of one key")
	}
	if n := b.Len(); n != 1 {
		t.Errorf("Len is %d, want 1", n)
	}
}

func TestDefaultClock(t *testing.T) {
	// It refills by the time that really passes, and whoever waits is served.
	m := manager(t, memory.New())
	b := m.Bucket("key", greedy(1, 1, 2*time.Millisecond))
	for range 10 {
		if take(t, b, 1) != 1 {
			t.Fatal("refused a token that is there")
		}
		p, err := b.Estimate(t.Context(), 1)
		if err != nil || p.Wait > 2*time.Millisecond {
			t.Fatalf("a wait of %v, %v", p.Wait, err)
		}
		time.Sleep(p.Wait)
	}
}

// A zero value has an error for everything.
func TestZeroBackend(t *testing.T) {
	var b memory.Backend
	c := greedy(1, 1, time.Second)
	wantArgument := func(err error) {
		t.Helper()
		var argument *bucket.ArgumentError
		if !errors.As(err, &argument) || argument.Field != "memory backend" {
			t.Errorf("got %v, want that it is a zero value", err)
		}
	}
	_, err := proxy.NewManager(&b)
	wantArgument(err)
	d := []proxy.Decision{{Charges: make([]proxy.Charge, 1), Results: make([]bucket.Result, 1)}}
	d[0].Charges[0] = proxy.Charge{Key: "k", Request: bucket.Request{Config: c, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}}}
	b.Do(t.Context(), d)
	wantArgument(d[0].Err)
	_, err = b.TryConsume("k", c, 1, false, expiration.Rule{})
	wantArgument(err)
	if err := b.Close(); err != nil || b.Len() != 0 {
		t.Errorf("Close: %v, holds %d", err, b.Len())
	}
}
