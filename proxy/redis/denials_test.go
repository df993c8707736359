package redis_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Whoever is refused asks again and again. That costs the server nothing.
func TestRememberedDenialsCostOneCommand(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			inEachMode(t, func(t *testing.T, mode redis.Option) {
				b := manage(t, proxy.CacheDenials(l.on(t, rdb, mode), time.Hour), redistest.Prefix(t)).Bucket("k", perHour(t, 3))
				take(t, b, 3, true)
				commandCalls(t, rdb)
				for i := range int64(1000) {
					take(t, b, 1+i%5, false)
				}
				if got := commandCalls(t, rdb); got["evalsha"] != 1 || got["get"] != 1 {
					t.Errorf("%v for 1000 refusals", got)
				}
			})
		})
	}
}

func TestC61TwentyAtOnceThroughTheCache(t *testing.T) {
	rdb, prefix := shared(t)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		m := manage(t, proxy.CacheDenials(on(t, rdb, mode), time.Hour), prefix+t.Name())
		b := m.Bucket("k", perHour(t, 5))
		for range 20 {
			if _, err := m.Remove(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			var allowed atomic.Int64
			var callers sync.WaitGroup
			for range 20 {
				callers.Go(func() {
					ok, err := b.TryConsume(t.Context(), 1)
					if err != nil {
						t.Error(err)
					}
					if ok {
						allowed.Add(1)
					}
				})
			}
			callers.Wait()
			if allowed.Load() != 5 {
				t.Fatalf("%d of 20 were allowed", allowed.Load())
			}
			take(t, b, 1, false)
			if p := take(t, b, 1, false); p.Source != bucket.SourceCache {
				t.Errorf("refused by %v", p.Source)
			}
		}
	})
}

// Another process gives back, and this one sees it when the staleness is over.
func TestC61OtherProcessesAreSeenInTime(t *testing.T) {
	rdb, prefix := shared(t)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		clock := newClock()
		backend := func() proxy.Backend { return on(t, rdb, mode, redis.WithClientClock(clock.now, time.Hour)) }
		const staleness = 2 * time.Second
		prefix := prefix + t.Name()
		here := manage(t, proxy.CacheDenials(backend(), staleness, proxy.WithDenialClock(clock.now)), prefix)
		other := manage(t, backend(), prefix)
		old := config(t, 4, bandwidth.Greedy(1, time.Hour))
		newer := bucket.Must(config(t, 9, bandwidth.Greedy(1, time.Hour)).WithVersion(1, bucket.Reset))
		b := here.Bucket("k", old)
		r, err := other.Bucket("k", old).Reserve(t.Context(), 4, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []func() error{
			func() error { return r.Settle(t.Context(), 3) },
			func() error { return other.Bucket("k", old).Reset(t.Context()) },
			func() error { _, err := other.Bucket("k", old).ForceAdd(t.Context(), 50); return err },
			func() error { _, err := other.Bucket("k", newer).Consume(t.Context(), 1); return err },
			func() error { return other.Bucket("k", newer).Replace(t.Context(), newer, bucket.Reset) },
			func() error { _, err := other.Remove(t.Context(), "k"); return err },
		} {
			take(t, b, 1, false)
			clock.advance(staleness / 2)
			if err := change(); err != nil {
				t.Fatal(err)
			}
			clock.advance(staleness/2 - time.Microsecond)
			if p := take(t, b, 1, false); p.Source != bucket.SourceCache {
				t.Errorf("refused by %v", p.Source)
			}
			clock.advance(time.Microsecond)
			take(t, b, 1, true)
			if p, err := b.ConsumeUpTo(t.Context(), 100); err != nil {
				t.Fatal(p, err)
			}
		}
	})
}

// A refusal by the server and a remembered one, in one run.
func BenchmarkDenial(b *testing.B) {
	rdb, prefix := shared(b)
	for _, v := range []struct {
		name string
		wrap func(proxy.Backend) proxy.Backend
	}{
		{"store", func(inside proxy.Backend) proxy.Backend { return inside }},
		{"remembered", func(inside proxy.Backend) proxy.Backend { return proxy.CacheDenials(inside, time.Hour) }},
	} {
		b.Run(v.name, func(b *testing.B) {
			drained := manage(b, v.wrap(onGoRedis(b, rdb)), prefix).Bucket(v.name, perHour(b, 1))
			if _, err := drained.ConsumeUpTo(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
			take(b, drained, 1, false)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := drained.Consume(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Many who press at once, on a trip each, are soon answered from what one of them was
// told, although refusals and the last grants pass each other.
func TestACrowdIsSoonRemembered(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		b := manage(t, proxy.CacheDenials(on(t, rdb, mode, redis.WithoutCoalescing()), time.Hour), t.Name()).Bucket("k", perHour(t, 100))
		commandCalls(t, rdb)
		const callers, calls = 64, 500
		var crowd sync.WaitGroup
		for range callers {
			crowd.Go(func() {
				for range calls {
					if _, err := b.TryConsume(t.Context(), 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		crowd.Wait()
		n := commandCalls(t, rdb)["evalsha"]
		t.Logf("%d commands for %d calls", n, callers*calls)
		if n > callers*calls/4 {
			t.Errorf("%d commands for %d calls", n, callers*calls)
		}
	})
}
