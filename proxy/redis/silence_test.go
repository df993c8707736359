package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// A client's socket timeout is 3 s by default. Calls end long before.
const (
	patienceOfCaller = 100 * time.Millisecond
	inTime           = 2 * time.Second
)

// ops are a call of each kind, and whether it only reads.
var ops = []struct {
	name  string
	reads bool
	do    func(context.Context, *proxy.Manager, proxy.Bucket) error
}{
	{"take", false, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error { return second(b.Consume(ctx, 1)) }},
	{"estimate", true, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error { return second(b.Estimate(ctx, 1)) }},
	{"upto", false, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error {
		return second(b.ConsumeUpTo(ctx, 1))
	}},
	{"add", false, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error { return second(b.Add(ctx, 1)) }},
	{"reset", false, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error { return b.Reset(ctx) }},
	{"remove", false, func(ctx context.Context, m *proxy.Manager, _ proxy.Bucket) error { return second(m.Remove(ctx, "k")) }},
	{"available", true, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error { return second(b.Available(ctx)) }},
	{"inspect", true, func(ctx context.Context, _ *proxy.Manager, b proxy.Bucket) error { return second(b.Inspect(ctx)) }},
}

func second[T any](_ T, err error) error { return err }

func TestC09DeadlineIsKeptWhileRedisIsSilent(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, silence := range []struct {
		name       string
		ops        int // how many of ops it takes time for
		begin, end func(*redistest.Server, *client.Client) error
	}{
		{
			"client pause", 2, // nothing can end it but time
			func(_ *redistest.Server, c *client.Client) error {
				return c.Do(context.Background(), "CLIENT", "PAUSE", "1500", "ALL").Err()
			},
			func(*redistest.Server, *client.Client) error { return nil },
		},
		{
			"stopped process", len(ops),
			func(s *redistest.Server, _ *client.Client) error { s.Pause(); return nil },
			func(s *redistest.Server, _ *client.Client) error { s.Resume(); return nil },
		},
	} {
		t.Run(silence.name, func(t *testing.T) {
			server := redistest.Start(t)
			rdb := connect(t, server.URL())
			onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
				patient := manage(t, on(t, rdb, mode), "")
				hasty := manage(t, on(t, rdb, mode), "", proxy.WithTimeout(patienceOfCaller))
				limit := perHour(t, 100)
				take(t, patient.Bucket("k", limit), 1, true)

				if err := silence.begin(server, rdb); err != nil {
					t.Fatal(err)
				}
				for i, op := range ops[:silence.ops] {
					kinds := []error{proxy.ErrUnavailable}
					if mode == nil && !op.reads {
						kinds = []error{proxy.ErrOutcomeUnknown}
						if i > 0 { // it may have waited for a connection, and not been sent
							kinds = append(kinds, proxy.ErrUnavailable)
						}
					}
					begun := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), patienceOfCaller)
					err := op.do(ctx, patient, patient.Bucket("k", limit))
					cancel()
					wantDeadline(t, op.name+" with a deadline", err, time.Since(begun), kinds...)

					if mode == nil && !op.reads {
						kinds = []error{proxy.ErrOutcomeUnknown, proxy.ErrUnavailable}
					}
					begun = time.Now()
					err = op.do(t.Context(), hasty, hasty.Bucket("k", limit))
					wantDeadline(t, op.name+" with the manager's timeout", err, time.Since(begun), kinds...)
				}
				if err := silence.end(server, rdb); err != nil {
					t.Fatal(err)
				}
				if err := patient.Bucket("k", limit).Reset(t.Context()); err != nil {
					t.Errorf("after the silence: %v", err)
				}
			})
		})
	}
}

// wantDeadline checks the end of a call that got no answer. What begins by
// reading, which is every call where this process decides, changed nothing.
func wantDeadline(t *testing.T, what string, err error, took time.Duration, kinds ...error) {
	t.Helper()
	wantStoreErrorOneOf(t, err, "k", kinds...)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: got %v, want that to be a DeadlineExceeded", what, err)
	}
	if took < patienceOfCaller || took > inTime {
		t.Errorf("%s: ended after %v, want %v", what, took, patienceOfCaller)
	}
}

func TestCancellationEndsACall(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		heard := new(ear)
		b := on.manager(t, rdb, "", mode, proxy.WithObserver(heard)).Bucket("k", perHour(t, 100))
		take(t, b, 1, true)
		server.Pause()
		defer server.Resume()

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(patienceOfCaller, cancel)
		begun := time.Now()
		_, err := b.Consume(ctx, 1)
		if took := time.Since(begun); took > inTime {
			t.Errorf("ended after %v", took)
		}
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a Canceled", err)
		}
		if got := heard.count(proxy.StoreFailed); got != 1 {
			t.Errorf("the observer heard of %d failures, want 1", got)
		}

		// A context that is done before sends nothing: the server is silent still.
		if _, err := b.Consume(ctx, 1); err != context.Canceled {
			t.Errorf("done at entry: got %v, want it as it is", err)
		}
		if got := heard.count(proxy.StoreFailed); got != 0 {
			t.Errorf("done at entry: the observer heard of %d failures", got)
		}
	})
}

// A swap whose answer is lost may have been carried out, though the load before
// it was answered.
func TestSilentSwapIsUnknown(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			silentSwapIsUnknown(t, l.on)
		})
	}
}

func silentSwapIsUnknown(t *testing.T, on library) {
	direct, prefix := shared(t)
	late := new(late)
	rdb := connect(t, through(t, redistest.URL(t), late.meddler))
	m := on.manager(t, rdb, prefix, redis.WithCompareAndSwap())
	b := m.Bucket("k", perHour(t, 10))
	take(t, b, 1, true)

	late.hold(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfCaller)
	defer cancel()
	begun := time.Now()
	_, err := b.Consume(ctx, 1)
	wantStoreError(t, err, proxy.ErrOutcomeUnknown, prefix+"k")
	if took := time.Since(begun); took > inTime*9/10 {
		t.Errorf("ended after %v", took)
	}
	wantAvailable(t, on.manager(t, direct, prefix, nil).Bucket("k", perHour(t, 10)), 8)
}
