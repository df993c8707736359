package proxy_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// moody is a backend that is in trouble when its test says so.
type moody struct {
	proxy.Backend
	err   error
	calls int
	slow  bool // silent until the context ends
}

func newMoody() *moody {
	return &moody{Backend: proxy.CompareAndSwap(newShelf(), codec.MessagePack{})}
}

func (m *moody) Do(ctx context.Context, ds []proxy.Decision) {
	m.calls++
	switch {
	case m.slow:
		<-ctx.Done()
		proxy.Fail(ds, proxy.ErrOutcomeUnknown, ctx.Err())
	case m.err != nil:
		proxy.Fail(ds, proxy.ErrUnavailable, m.err)
	default:
		m.Backend.Do(ctx, ds)
	}
}

var errDown = errors.New("down")

// outcome is what a caller sees of one operation.
type outcome struct {
	probe bucket.Probe
	err   error
}

// everything asks each operation that a policy may answer, and some that none may.
func everything(ctx context.Context, b proxy.Bucket) map[string]outcome {
	all := map[string]outcome{}
	put := func(name string, p bucket.Probe, err error) { all[name] = outcome{p, err} }
	p, err := b.Consume(ctx, 2)
	put("consume", p, err)
	p, err = b.ConsumeUpTo(ctx, 2)
	put("up to", p, err)
	p, err = b.Estimate(ctx, 2)
	put("estimate", p, err)
	p, err = b.Force(ctx, 2)
	put("force", p, err)
	if r, err := b.Reserve(ctx, 2, time.Hour); err != nil {
		put("reserve", bucket.Probe{}, err)
	} else {
		put("reserve", r.Probe, r.Settle(ctx, 5))
	}
	_, err = b.Add(ctx, 2)
	put("add", bucket.Probe{}, err)
	_, err = b.Available(ctx)
	put("available", bucket.Probe{}, err)
	put("reset", bucket.Probe{}, b.Reset(ctx))
	return all
}

func TestPoliciesAnswerInPlaceOfAStore(t *testing.T) {
	for _, tt := range []struct {
		name     string
		wrap     func(proxy.Backend) proxy.Backend
		served   []string
		consumed bool
		tokens   int64
		wait     time.Duration
	}{
		{"allow", proxy.AllowOnFailure, []string{"consume", "up to", "estimate", "force", "reserve"}, true, 2, 0},
		{"deny", proxy.DenyOnFailure, []string{"consume", "up to", "estimate"}, false, 0, proxy.DefaultDenyWait},
		{"neither", func(b proxy.Backend) proxy.Backend { return b }, nil, false, 0, 0},
	} {
		for _, silent := range []bool{false, true} {
			store := newMoody()
			store.err, store.slow = errDown, silent
			var heard recorder
			m, err := proxy.NewManager(tt.wrap(store), proxy.WithObserver(&heard), proxy.WithTimeout(time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			got := everything(t.Context(), m.Bucket("k", hourly))
			for _, name := range tt.served {
				o := got[name]
				if o.err != nil || o.probe.Consumed != tt.consumed || o.probe.Tokens != tt.tokens || o.probe.Wait != tt.wait ||
					o.probe.Source != bucket.SourcePolicy || o.probe.Measured() {
					t.Errorf("%s, silent %t, %s: got %+v, %v", tt.name, silent, name, o.probe, o.err)
				}
				delete(got, name)
			}
			for name, o := range got {
				if !errors.Is(o.err, proxy.ErrUnavailable) && !errors.Is(o.err, proxy.ErrOutcomeUnknown) {
					t.Errorf("%s, silent %t, %s: got %v", tt.name, silent, name, o.err)
				}
			}
			failed := 0
			for _, e := range heard.events {
				if e.Kind == proxy.StoreFailed && e.Err != nil {
					failed++
				}
			}
			if failed != store.calls || store.calls != 8 {
				t.Errorf("%s: heard of %d failures of %d calls", tt.name, failed, store.calls)
			}
			store.err, store.slow = nil, false
			p, err := m.Bucket("k", hourly).Consume(t.Context(), 1)
			if err != nil || p.RemainingTokens != 2 || !p.Measured() {
				t.Errorf("%s: when the store is well again: %+v, %v", tt.name, p, err)
			}
		}
	}
}

// What is the caller's own doing, or no trouble of the store, is his to see.
func TestPoliciesLeaveOtherErrors(t *testing.T) {
	shelf := newShelf()
	shelf.bytes["foreign"] = []byte("hello")
	store := &moody{Backend: proxy.CompareAndSwap(shelf, codec.MessagePack{})}
	m, err := proxy.NewManager(proxy.AllowOnFailure(store), proxy.WithKeyPrefix(""), proxy.WithTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Bucket("foreign", hourly).Consume(t.Context(), 1); !errors.Is(err, proxy.ErrForeignState) {
		t.Errorf("foreign state: %v", err)
	}
	store.slow = true
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := m.Bucket("k", hourly).Consume(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// His deadline is another matter: the store was silent for as long as he had.
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if ok, err := m.Bucket("k", hourly).TryConsume(ctx, 1); !ok || err != nil {
		t.Errorf("deadline: %v, %v", ok, err)
	}
}

func TestFallBackStandsInAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, other := newMoody(), newMoody()
		m, err := proxy.NewManager(proxy.FallBack(store, other, proxy.WithBreaker(3, time.Second)))
		if err != nil {
			t.Fatal(err)
		}
		b := m.Bucket("k", hourly)
		take := func(want bucket.Source, left int64) {
			t.Helper()
			p, err := b.Consume(t.Context(), 1)
			if err != nil || p.Source != want || p.RemainingTokens != left || !p.Measured() {
				t.Errorf("got %v, %d left, %v; want %v, %d", p.Source, p.RemainingTokens, err, want, left)
			}
		}
		take(bucket.SourceStore, 2)
		store.err = errDown
		take(bucket.SourceFallback, 2)
		take(bucket.SourceFallback, 1)
		take(bucket.SourceFallback, 0)
		asked := store.calls
		for range 10 { // the breaker is open
			if p, err := b.Consume(t.Context(), 1); p.Consumed || err != nil {
				t.Errorf("consumed %t, %v", p.Consumed, err)
			}
		}
		if store.calls != asked {
			t.Errorf("asked %d times behind an open breaker", store.calls-asked)
		}
		time.Sleep(time.Second)
		for range 10 { // one of them tries
			if p, err := b.Consume(t.Context(), 1); p.Consumed || err != nil {
				t.Errorf("consumed %t, %v", p.Consumed, err)
			}
		}
		if store.calls != asked+1 {
			t.Errorf("asked %d times in an interval", store.calls-asked)
		}
		store.err = nil
		time.Sleep(time.Second)
		take(bucket.SourceStore, 1)
		take(bucket.SourceStore, 0)
	})
}

func TestABreakerDoesNotOpenOnCallersWhoLeave(t *testing.T) {
	store, other := newMoody(), newMoody()
	m, err := proxy.NewManager(proxy.FallBack(store, other, proxy.WithBreaker(1, time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	store.slow = true
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := m.Bucket("k", hourly).Consume(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	store.slow = false
	if p, err := m.Bucket("k", hourly).Consume(t.Context(), 1); err != nil || p.Source != bucket.SourceStore {
		t.Errorf("got %v, %v", p.Source, err)
	}
	if other.calls != 0 {
		t.Errorf("%d calls of the other", other.calls)
	}
}

// Tokens that the other store gave are not given back to this one.
func TestReservationsOfAFallbackAreNotRefunded(t *testing.T) {
	store, other := newMoody(), newMoody()
	m, err := proxy.NewManager(proxy.FallBack(store, other))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	store.err = errDown
	r, err := b.Reserve(t.Context(), 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	store.err = nil
	if err := r.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantLeft(t, b, 0)
}

func TestBothFail(t *testing.T) {
	store, other := newMoody(), newMoody()
	store.err, other.err = errDown, errors.New("down as well")
	m, err := proxy.NewManager(proxy.FallBack(store, other))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Bucket("k", hourly).Consume(t.Context(), 1); !errors.Is(err, errDown) {
		t.Errorf("got %v, want the error of the first", err)
	}
}

func TestWrappersTellWhatIsWrong(t *testing.T) {
	sound := newMoody()
	for name, b := range map[string]proxy.Backend{
		"allow nothing": proxy.AllowOnFailure(nil), "deny nothing": proxy.DenyOnFailure(nil),
		"no first": proxy.FallBack(nil, sound), "no other": proxy.FallBack(sound, nil),
		"no failures": proxy.FallBack(sound, sound, proxy.WithBreaker(0, time.Second)),
		"no interval": proxy.FallBack(sound, sound, proxy.WithBreaker(1, 0)),
		"deep inside": proxy.AllowOnFailure(proxy.Coalesce(proxy.CompareAndSwap(nil, nil))),
	} {
		var wrong *bucket.ArgumentError
		if _, err := proxy.NewManager(b); !errors.As(err, &wrong) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
