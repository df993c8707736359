package main

import (
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	limiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

const (
	bareMap      = "bare sharded-map look-up"
	memorySluice = "Sluice"
)

var memoryContenders = []contender{
	{name: bareMap, role: floor, open: openBareMap},
	{name: memorySluice, role: ours, open: openMemory},
	{name: "x/time/rate in a sync.Map", role: rival, open: openTimeRateMap},
	{name: "sethvargo/go-limiter", role: rival, open: openGoLimiter},
	{name: "throttled", role: rival, open: openThrottledMemory, inexact: "gives up with an error after ten lost swaps"},
	{name: "ulule/limiter", role: rival, open: openUluleMemory},
	{name: "go-chi/httprate", role: rival, open: openHTTPRate},
}

// openBareMap finds a word by its key in the way that any keyed limiter must, and does nothing with it.
func openBareMap(string, limit) (taker, func(), error) {
	var shards [256]struct {
		sync.RWMutex
		words map[string]*int64
	}
	for i := range shards {
		shards[i].words = map[string]*int64{}
	}
	seed := maphash.MakeSeed()
	return func(_ context.Context, key string) (bool, error) {
		shard := &shards[maphash.String(seed, key)%uint64(len(shards))]
		shard.RLock()
		word := shard.words[key]
		shard.RUnlock()
		if word == nil {
			shard.Lock()
			if shard.words[key] == nil {
				shard.words[key] = new(int64)
			}
			shard.Unlock()
		}
		return true, nil
	}, func() {}, nil
}

func openMemory(_ string, l limit) (taker, func(), error) {
	m, err := proxy.NewManager(memory.New(), proxy.WithKeyPrefix(""))
	if err != nil {
		return nil, nil, err
	}
	return takeFrom(m, one(l)), func() { m.Close() }, nil
}

func takeFrom(m *proxy.Manager, c bucket.Configuration) taker {
	return func(ctx context.Context, key string) (bool, error) { return m.Bucket(key, c).TryConsume(ctx, 1) }
}

// openTimeRateMap is what programs do that have x/time/rate and need keys. It forgets nothing.
func openTimeRateMap(_ string, l limit) (taker, func(), error) {
	var all sync.Map
	return func(_ context.Context, key string) (bool, error) {
		r, found := all.Load(key)
		if !found {
			r, _ = all.LoadOrStore(key, timeRate(l))
		}
		return r.(*rate.Limiter).Allow(), nil
	}, func() {}, nil
}

func openGoLimiter(_ string, l limit) (taker, func(), error) {
	s, err := memorystore.New(&memorystore.Config{Tokens: uint64(l.capacity), Interval: window})
	if err != nil {
		return nil, nil, err
	}
	return takeFromStore(s), func() { _ = s.Close(context.Background()) }, nil
}

func takeFromStore(s limiter.Store) taker {
	return func(ctx context.Context, key string) (bool, error) {
		_, _, _, ok, err := s.Take(ctx, key)
		return ok, err
	}
}

func openThrottledMemory(_ string, l limit) (taker, func(), error) {
	s, err := memstore.NewCtx(0)
	if err != nil {
		return nil, nil, err
	}
	take, err := takeFromThrottled(s, l)
	return take, func() {}, err
}

func takeFromThrottled(s throttled.GCRAStoreCtx, l limit) (taker, error) {
	t, err := newThrottled(s, l)
	return func(ctx context.Context, key string) (bool, error) {
		limited, _, err := t.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited, err
	}, err
}

func newThrottled(s throttled.GCRAStoreCtx, l limit) (*throttled.GCRARateLimiterCtx, error) {
	return throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(l.tokens), l.period), MaxBurst: int(l.capacity) - 1,
	})
}

func openUluleMemory(_ string, l limit) (taker, func(), error) {
	return takeFromUlule(ululememory.NewStore(), l, window), func() {}, nil
}

func takeFromUlule(s ulule.Store, l limit, per time.Duration) taker {
	u := ulule.New(s, ulule.Rate{Period: per, Limit: l.capacity})
	return func(ctx context.Context, key string) (bool, error) {
		got, err := u.Get(ctx, key)
		return err == nil && !got.Reached, err
	}
}

func openHTTPRate(_ string, l limit) (taker, func(), error) {
	return takeFromHTTPRate(l, window), func() {}, nil
}

// takeFromHTTPRate takes as its middleware does, but without headers.
func takeFromHTTPRate(l limit, per time.Duration, options ...httprate.Option) taker {
	h := httprate.NewRateLimiter(int(l.capacity), per, append(options,
		httprate.WithResponseHeaders(httprate.ResponseHeaders{}),
		httprate.WithErrorHandler(func(w http.ResponseWriter, _ *http.Request, err error) { w.(*failure).err = err }),
	)...)
	r := newRequest(context.Background())
	return func(_ context.Context, key string) (bool, error) {
		var failed failure
		limited := h.OnLimit(&failed, r, key)
		return !limited, failed.err
	}
}

func newRequest(ctx context.Context) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil) // well-formed
	return r
}

// failure is a response of which only the error matters.
type failure struct{ err error }

func (*failure) Header() http.Header         { return http.Header{} }
func (*failure) Write(b []byte) (int, error) { return len(b), errors.ErrUnsupported }
func (*failure) WriteHeader(int)             {}
