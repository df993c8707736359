package proxy_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

func TestAnObserverHearsOfNoDecisionThatNobodyGot(t *testing.T) {
	store := newMoody()
	store.err = errDown
	var heard recorder
	m, err := proxy.NewManager(proxy.FallBack(store, newMoody()), proxy.WithObserver(&heard))
	if err != nil {
		t.Fatal(err)
	}
	supply := func(context.Context) (bucket.Configuration, error) { return hourly, nil }
	if ok, err := m.BucketFunc("k", supply).TryConsume(t.Context(), 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got, want := heard.String(), "store failed, store failed, decision made"; got != want {
		t.Errorf("heard %q, want %q", got, want)
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

func TestC78ABreakerDoesNotOpenOnCallersWhoLeave(t *testing.T) {
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

func TestReservationsStayWithTheirStore(t *testing.T) {
	store, other := newMoody(), newMoody()
	m, err := proxy.NewManager(proxy.FallBack(store, other, proxy.WithBreaker(1, time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	atStore, err := b.Reserve(t.Context(), 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	store.err = errDown
	atOther, err := b.Reserve(t.Context(), 3, 0)
	if err != nil || atOther.Source != bucket.SourceFallback {
		t.Fatal(atOther, err)
	}
	if err := atStore.Cancel(t.Context()); !errors.Is(err, proxy.ErrUnavailable) {
		t.Errorf("giving back to a store that is down: %v", err)
	}
	wantLeft(t, b, 0) // of the other
	store.err = nil
	if err := atOther.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Remove(t.Context(), "another"); err != nil { // closes the breaker
		t.Fatal(err)
	}
	wantLeft(t, b, 0) // of the store
}

func TestOnlyTheStoreIsChanged(t *testing.T) {
	store, other := newMoody(), newMoody()
	store.err = errDown
	m, err := proxy.NewManager(proxy.FallBack(store, other, proxy.WithBreaker(1, time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	for range 2 { // the second time behind an open breaker
		_, add := b.Add(t.Context(), 1)
		_, forced := b.ForceAdd(t.Context(), 1)
		_, removed := m.Remove(t.Context(), "k")
		_, _, read := m.Configuration(t.Context(), "k")
		for i, err := range []error{add, forced, removed, read, b.Reset(t.Context()), b.Replace(t.Context(), hourly, bucket.AsIs)} {
			if !errors.Is(err, proxy.ErrUnavailable) {
				t.Errorf("operation %d: %v", i, err)
			}
		}
	}
	if other.calls != 0 {
		t.Errorf("the other was asked %d times", other.calls)
	}
}

func TestAnObserverHearsOfTheBreaker(t *testing.T) {
	store := newMoody()
	store.err = errDown
	var heard recorder
	m, err := proxy.NewManager(proxy.FallBack(store, newMoody(), proxy.WithBreaker(1, time.Millisecond)), proxy.WithObserver(&heard))
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	store.err = nil
	time.Sleep(2 * time.Millisecond)
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got, want := heard.String(), "breaker opened, store failed, decision made, breaker closed, decision made"; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
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
