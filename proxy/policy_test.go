package proxy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/memory"
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
				tokens := tt.tokens
				if name == "estimate" {
					tokens = 0
				}
				if o.err != nil || o.probe.Consumed != tt.consumed || o.probe.Tokens != tokens || o.probe.Wait != tt.wait ||
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

// Whoever is served while nobody counts still gets no more than a bucket could hold.
func TestAllowKnowsWhatCanNeverBe(t *testing.T) {
	store := newMoody()
	store.err = errDown
	m, err := proxy.NewManager(proxy.AllowOnFailure(store))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	if p, err := b.Consume(t.Context(), 4); err != nil || p.Consumed || !p.Never {
		t.Errorf("4 of 3: %+v, %v", p, err)
	}
	if p, err := b.ConsumeUpTo(t.Context(), 4); err != nil || p.Tokens != 3 {
		t.Errorf("up to 4 of 3: %+v, %v", p, err)
	}
	if _, err := b.Reserve(t.Context(), 4, time.Hour); !errors.Is(err, bucket.ErrNever) {
		t.Errorf("reserving 4 of 3: %v", err)
	}
}

// A key that others keep changing is no trouble of the store's: whoever crowds one
// must not get round its limit.
func TestContentionIsNoTrouble(t *testing.T) {
	crowded := fixed{func(_ context.Context, d *proxy.Decision) {
		d.Err = &proxy.StoreError{Kind: proxy.ErrContended, Key: "k", Cause: context.DeadlineExceeded}
	}}
	other := newMoody()
	for _, b := range []proxy.Backend{proxy.AllowOnFailure(crowded), proxy.FallBack(crowded, other)} {
		m, err := proxy.NewManager(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Bucket("k", hourly).Consume(t.Context(), 1); !errors.Is(err, proxy.ErrContended) {
			t.Errorf("got %v", err)
		}
	}
	if other.calls != 0 {
		t.Error("the other store was asked")
	}
}

// The first trip of a bucket with a supplier asks what is stored. If nobody knows
// whether it was carried out, there is no second one.
func TestASupplierIsNotAskedForWhatIsUnknown(t *testing.T) {
	supplied := 0
	supply := func(context.Context) (bucket.Configuration, error) {
		supplied++
		return hourly, nil
	}
	for name, wrap := range map[string]func(proxy.Backend) proxy.Backend{
		"allow": proxy.AllowOnFailure, "deny": proxy.DenyOnFailure,
		"fall back": func(b proxy.Backend) proxy.Backend { return proxy.FallBack(b, newMoody()) },
	} {
		store := newMoody()
		var heard recorder
		m, err := proxy.NewManager(wrap(store), proxy.WithTimeout(time.Millisecond), proxy.WithObserver(&heard))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Bucket("k", hourly).Consume(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		store.slow = true
		p, err := m.BucketFunc("k", supply).Consume(t.Context(), 1)
		if name == "fall back" && !errors.Is(err, proxy.ErrOutcomeUnknown) || name != "fall back" && (err != nil || p.Measured()) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if supplied != 0 || store.calls != 2 || !strings.Contains(heard.String(), "store failed") {
			t.Errorf("%s: the supplier was asked %d times and the store %d; heard %v", name, supplied, store.calls, heard.String())
		}
	}
}

// A look for what is stored is no decision, whoever answers it.
// Neither store gives back what the other took.
// What changes a bucket is for the store alone, breaker or not.
// The inner wrapper's word stands: the outer one must not call measured what is not.
func TestSourcesOfWrappersInWrappers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := fixed{func(_ context.Context, d *proxy.Decision) {
			time.Sleep(time.Second)
			d.Err = &proxy.StoreError{Kind: proxy.ErrUnavailable, Key: "a", Cause: errDown}
		}}
		c := coalesced(t, proxy.FallBack(down, proxy.AllowOnFailure(down)))
		for range 3 {
			c.Go(func() {
				p, err := c.manager.Bucket("a", hundred).Consume(t.Context(), 1)
				if err != nil || p.Measured() {
					t.Errorf("got %v, %v", p.Source, err)
				}
			})
		}
		c.Wait()
	})
}

// closing is a backend that tells when it is closed.
type closing struct {
	fixed
	closed *int
}

func (c closing) Close() error {
	*c.closed++
	return errDown
}

func TestWrappersForward(t *testing.T) {
	n := 0
	b := closing{closed: &n}
	for _, wrapped := range []proxy.Backend{
		proxy.Coalesce(b), proxy.AllowOnFailure(b), proxy.DenyOnFailure(b), proxy.CacheDenials(b, time.Second), proxy.FallBack(b, memory.New()), proxy.FallBack(memory.New(), b),
	} {
		n = 0
		if err := wrapped.Close(); !errors.Is(err, errDown) || n != 1 {
			t.Errorf("%T: closed %d times, %v", wrapped, n, err)
		}
		if wrapped.(proxy.NonBlocking).NonBlocking() {
			t.Errorf("%T says that it never blocks", wrapped)
		}
	}
	m := memory.New()
	defer m.Close()
	for _, wrapped := range []proxy.Backend{proxy.Coalesce(m), proxy.AllowOnFailure(m), proxy.CacheDenials(m, time.Second), proxy.FallBack(m, m)} {
		if !wrapped.(proxy.NonBlocking).NonBlocking() {
			t.Errorf("%T says that it blocks", wrapped)
		}
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
