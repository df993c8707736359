package proxy_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// sourceOf drains a bucket, is refused twice, and returns who refused the second time.
func sourceOf(t *testing.T, b bucket.Bucket) bucket.Source {
	t.Helper()
	if _, err := b.Consume(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Consume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	p, err := b.Consume(t.Context(), 1)
	if err != nil || p.Consumed {
		t.Fatalf("got %+v, %v", p, err)
	}
	return p.Source
}

func TestOnlyWhatTheStoreItselfRefusesIsRemembered(t *testing.T) {
	down := fixed{func(_ context.Context, d *proxy.Decision) {
		d.Err = &proxy.StoreError{Kind: proxy.ErrUnavailable, Key: "k", Cause: errDown}
	}}
	mute := fixed{func(_ context.Context, d *proxy.Decision) { // does not tell what it saw
		d.Results[0].Configuration = d.Charges[0].Config
	}}
	for name, tt := range map[string]struct {
		inside proxy.Backend
		want   bucket.Source
	}{
		"a store":          {memory.New(), bucket.SourceCache},
		"another store":    {proxy.FallBack(down, memory.New()), bucket.SourceFallback},
		"a policy":         {proxy.DenyOnFailure(down), bucket.SourcePolicy},
		"one that is mute": {mute, bucket.SourceStore},
	} {
		m := manage(t, proxy.CacheDenials(tt.inside, time.Hour))
		if got := sourceOf(t, m.Bucket("k", daily)); got != tt.want {
			t.Errorf("%s: answered by %v, want %v", name, got, tt.want)
		}
	}
	for name, inside := range map[string]func(proxy.Backend) proxy.Backend{
		"coalesced": proxy.Coalesce, "a policy outside of a store that is well": proxy.AllowOnFailure,
	} {
		m := manage(t, proxy.CacheDenials(inside(memory.New()), time.Hour))
		if got := sourceOf(t, m.Bucket("k", daily)); got != bucket.SourceCache {
			t.Errorf("%s: answered by %v", name, got)
		}
	}
}

// Those who were refused on a shared trip are remembered too.
func TestDenialsOfSharedTripsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFar()
		shared := proxy.Coalesce(store)
		b := denied{manage(t, proxy.CacheDenials(shared, time.Hour)).Bucket("k", daily), t, store}
		if ok, err := b.TryConsume(t.Context(), 3); !ok || err != nil {
			t.Fatal(ok, err)
		}
		slowly := way{time.Second, time.Second}.on(t.Context())
		go func() { _, _ = manage(t, shared).Bucket("k", daily).Available(slowly) }()
		synctest.Wait()
		go b.refused(0)(slowly)
		synctest.Wait()
		time.Sleep(5 * time.Second)
		b.store.calls.Store(0)
		b.take(1, told{wait: 24*time.Hour - 4*time.Second, source: bucket.SourceCache}) // seen after 3 s, told after 4
		b.asked(0)
	})
}

// A remembered denial refuses while the store is down, whatever the policy, until its
// time is over. It tells a breaker nothing.
func TestDenialsWhileTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFar()
		cache := proxy.CacheDenials(store, 10*time.Second)
		allow := manage(t, proxy.AllowOnFailure(cache)).Bucket("k", daily)
		fall := manage(t, proxy.FallBack(cache, memory.New(), proxy.WithBreaker(2, time.Second)))
		if got := sourceOf(t, allow); got != bucket.SourceCache {
			t.Fatal(got)
		}
		store.err = errDown
		want := func(b bucket.Bucket, consumed bool, source bucket.Source) {
			t.Helper()
			if p, err := b.Consume(t.Context(), 1); err != nil || p.Consumed != consumed || p.Source != source {
				t.Errorf("got %t of %v, %v; want %t of %v", p.Consumed, p.Source, err, consumed, source)
			}
		}
		want(allow, false, bucket.SourceCache)
		want(fall.Bucket("other", daily), true, bucket.SourceFallback) // the first failure
		want(fall.Bucket("k", daily), false, bucket.SourceCache)       // no success
		want(fall.Bucket("other", daily), true, bucket.SourceFallback) // the second: the breaker opens
		want(fall.Bucket("k", daily), true, bucket.SourceFallback)
		time.Sleep(time.Second)
		want(fall.Bucket("k", daily), false, bucket.SourceCache) // was to try the store, and has not
		asked := store.calls.Load()
		want(fall.Bucket("other", daily), true, bucket.SourceFallback) // so the breaker is open still
		if store.calls.Load() != asked {
			t.Error("the breaker was closed by a denial")
		}
		time.Sleep(9 * time.Second)
		want(allow, true, bucket.SourcePolicy)
	})
}

func TestAnswersFromTheCacheAreTold(t *testing.T) {
	var heard recorder
	refusals := 0
	m := manage(t, proxy.CacheDenials(memory.New(), time.Hour), proxy.WithObserver(&heard),
		proxy.WithListener(tellers(func(e bucket.Event) {
			if e.Kind == bucket.Refused {
				refusals++
			}
		})))
	if got := sourceOf(t, m.Bucket("k", daily)); got != bucket.SourceCache || got.String() != "cache" {
		t.Error(got)
	}
	last := heard.events[len(heard.events)-1]
	if len(heard.events) != 3 || last.Kind != proxy.DecisionMade || last.Result.Source != bucket.SourceCache || refusals != 2 {
		t.Errorf("heard %s, the last of %v, and of %d refusals", heard.String(), last.Result.Source, refusals)
	}
}

type tellers func(bucket.Event)

func (t tellers) Tell(_ context.Context, e bucket.Event) { t(e) }

func TestARememberedDenialAllocatesNothing(t *testing.T) {
	// A backend that may block has a timeout, which a denial does without.
	for name, wrap := range map[string]func(proxy.Backend) proxy.Backend{
		"alone": func(b proxy.Backend) proxy.Backend { return b },
		"inside of others": func(b proxy.Backend) proxy.Backend {
			return proxy.AllowOnFailure(proxy.FallBack(proxy.Coalesce(b), newMoody()))
		},
	} {
		store := newFar()
		m, err := proxy.NewManager(wrap(proxy.CacheDenials(store, time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		b := m.Bucket("k", daily)
		sourceOf(t, b)
		store.calls.Store(0)
		ctx := context.Background()
		for name2, call := range map[string]func() error{
			"consume":       func() error { _, err := b.Consume(ctx, 1); return err },
			"never":         func() error { _, err := b.Consume(ctx, 4); return err },
			"consume up to": func() error { _, err := b.ConsumeUpTo(ctx, 2); return err },
		} {
			if n := testing.AllocsPerRun(1000, func() { err = errors.Join(err, call()) }); n != 0 || err != nil {
				t.Errorf("%s, %s: %v allocations a call, %v", name, name2, n, err)
			}
		}
		if n := store.calls.Load(); n != 0 {
			t.Errorf("%s: the store was asked %d times", name, n)
		}
	}
}

// heapKiB is what is in use after collecting garbage.
func heapKiB() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc >> 10)
}

func TestDenialsOfMadeUpKeysAreBounded(t *testing.T) {
	million := 1_000_000
	if raceDetector || testing.Short() {
		million = 100_000
	}
	for most, keys := range map[int]int{1: 10_000, 10_000: million} {
		before := heapKiB()
		m := manage(t, proxy.CacheDenials(memory.New(), time.Hour, proxy.WithMaxDenials(most)))
		remembered := 0
		for i := range keys {
			b := m.Bucket(strconv.Itoa(i), daily)
			for range 2 {
				p, err := b.Consume(t.Context(), 4) // never possible, so no bucket is born
				if err != nil || p.Consumed {
					t.Fatalf("got %+v, %v", p, err)
				}
				if p.Source == bucket.SourceCache {
					remembered++
				}
			}
		}
		if remembered != keys {
			t.Errorf("%d of %d keys were remembered for a moment", remembered, keys)
		}
		after := heapKiB()
		t.Logf("at most %d denials of %d keys: %d KiB", most, keys, after-before)
		if limit := int64(most)/2 + 1024; after-before > limit {
			t.Errorf("at most %d denials take %d KiB, want at most %d", most, after-before, limit)
		}
		runtime.KeepAlive(m)
	}
}

func TestDenialsGoAsOthersCome(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	m := manage(t, proxy.CacheDenials(memory.New(memory.WithClock(clock)), time.Minute, proxy.WithDenialClock(clock)))
	before := heapKiB()
	deny := func(from, to int) int64 {
		for i := from; i < to; i++ {
			if p, err := m.Bucket(strconv.Itoa(i), daily).Consume(t.Context(), 4); err != nil || p.Source != bucket.SourceStore {
				t.Fatalf("got %+v, %v", p, err)
			}
		}
		return heapKiB() - before
	}
	full := deny(0, 60_000)
	now = now.Add(time.Minute)
	swept := deny(60_000, 80_000)
	t.Logf("60,000 denials %d KiB, 20,000 after them %d", full, swept)
	if swept > full*2/3 {
		t.Errorf("60,000 denials take %d KiB, and 20,000 after them %d", full, swept)
	}
	runtime.KeepAlive(m)
}

func TestBatchesAndSetsPassDenialsBy(t *testing.T) {
	store := newFar()
	cache := proxy.CacheDenials(store, time.Hour)
	sourceOf(t, manage(t, cache, proxy.WithKeyPrefix("")).Bucket("k", daily))
	charge := func(kind bucket.Kind) proxy.Charge {
		return proxy.Charge{Key: "k", Request: bucket.Request{Config: daily, Op: bucket.Operation{Kind: kind, Tokens: 1}}}
	}
	decision := func(charges ...proxy.Charge) proxy.Decision {
		return proxy.Decision{Charges: charges, Results: make([]bucket.Result, len(charges))}
	}
	for name, ds := range map[string][]proxy.Decision{
		"a set":   {decision(charge(bucket.OpConsume), charge(bucket.OpConsume))},
		"a batch": {decision(charge(bucket.OpConsume)), decision(charge(bucket.OpAdd)), decision(charge(bucket.OpConsume))},
	} {
		asked := store.calls.Load()
		cache.Do(t.Context(), ds)
		if store.calls.Load() != asked+1 {
			t.Errorf("%s did not reach the store", name)
		}
		if len(ds) == 1 && !errors.Is(ds[0].Err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, ds[0].Err)
		}
		if len(ds) == 3 && (ds[0].Results[0].Consumed || !ds[2].Results[0].Consumed) {
			t.Errorf("%s: %+v", name, ds)
		}
		one := []proxy.Decision{decision(charge(bucket.OpConsume))}
		if cache.Do(t.Context(), one); one[0].Results[0].Source != bucket.SourceStore {
			t.Errorf("after %s: answered by %v", name, one[0].Results[0].Source)
		}
	}
}

// A denial is for any manager of the cache, whatever it declares, and answers it as
// the store would.
func TestDenialsUnderAnotherConfiguration(t *testing.T) {
	store := newFar()
	m := manage(t, proxy.CacheDenials(store, time.Hour))
	b := denied{m.Bucket("k", daily), t, store}
	if ok, err := m.Bucket("k", dailyV2).TryConsume(t.Context(), 4); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if p, err := m.Bucket("k", dailyV2).Consume(t.Context(), 7); err != nil || p.Source != bucket.SourceStore {
		t.Fatal(p, err)
	}
	b.store.calls.Store(0)
	if p, err := b.Consume(t.Context(), 6); err != nil || p.Configuration.Version() != 2 || p.RemainingTokens != 5 || p.Source != bucket.SourceCache {
		t.Errorf("by what is stored: %+v, %v", p, err)
	}
	supply := func(context.Context) (bucket.Configuration, error) { return daily, nil }
	if p, err := m.BucketFunc("k", supply).Consume(t.Context(), 6); err != nil || p.RemainingTokens != 5 || p.Source != bucket.SourceCache {
		t.Errorf("with a supplier: %+v, %v", p, err)
	}
	b.asked(0)
	// Nobody has refused what only lacks a configuration.
	if p, err := m.BucketFunc("new", supply).Consume(t.Context(), 4); err != nil || !p.Never {
		t.Errorf("of a new bucket: %+v, %v", p, err)
	}
	if ok, err := m.BucketFunc("new", supply).TryConsume(t.Context(), 3); !ok || err != nil {
		t.Errorf("of a new bucket: %v, %v", ok, err)
	}
	b.asked(4)
}

func TestAClosedCacheRemembersNothing(t *testing.T) {
	cache := proxy.CacheDenials(memory.New(), time.Hour)
	one, other := manage(t, cache), manage(t, cache)
	sourceOf(t, other.Bucket("k", daily))
	for range 2 {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := other.Bucket("k", daily).Consume(t.Context(), 1); !errors.Is(err, proxy.ErrClosed) {
		t.Errorf("got %v", err)
	}
	// A client that is the caller's goes on to answer.
	cache = proxy.CacheDenials(stays{memory.New()}, time.Hour)
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	if got := sourceOf(t, manage(t, cache).Bucket("k", daily)); got != bucket.SourceStore {
		t.Errorf("answered by %v", got)
	}
}

type stays struct{ proxy.Backend }

func (stays) Close() error { return nil }

func TestDenialArguments(t *testing.T) {
	sound := newMoody()
	for field, b := range map[string]proxy.Backend{
		"backend": proxy.CacheDenials(nil, time.Second), "staleness": proxy.CacheDenials(sound, 0),
		"max denials": proxy.CacheDenials(sound, time.Second, proxy.WithMaxDenials(0)),
		"clock":       proxy.CacheDenials(sound, time.Second, proxy.WithDenialClock(nil)),
		"store":       proxy.CacheDenials(proxy.CompareAndSwap(nil, nil), time.Second),
	} {
		var wrong *bucket.ArgumentError
		if _, err := proxy.NewManager(b); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	for _, staleness := range []time.Duration{-1, time.Millisecond - 1, time.Hour + 1} {
		if _, err := proxy.NewManager(proxy.CacheDenials(sound, staleness)); err == nil {
			t.Errorf("a staleness of %v is accepted", staleness)
		}
	}
	for _, staleness := range []time.Duration{time.Millisecond, time.Hour} {
		if _, err := proxy.NewManager(proxy.CacheDenials(sound, staleness, nil)); err != nil {
			t.Errorf("%v: %v", staleness, err)
		}
	}
}
