package histories_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/histories"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// distant is a backend that is some way off, now more and now less.
type distant struct{ proxy.Backend }

func (d distant) Do(ctx context.Context, ds []proxy.Decision) {
	time.Sleep(rand.N(100 * time.Microsecond))
	d.Backend.Do(ctx, ds)
	time.Sleep(rand.N(100 * time.Microsecond))
}

// counted counts the answers that are remembered ones.
type counted struct {
	proxy.Backend
	fromCache *atomic.Int64
}

func (c counted) Do(ctx context.Context, ds []proxy.Decision) {
	c.Backend.Do(ctx, ds)
	for i := range ds {
		if ds[i].Results[0].Source == bucket.SourceCache {
			c.fromCache.Add(1)
		}
	}
}

// Callers of one process who share a cache of denials see the buckets as those do who
// have none: nobody is refused by what a credit, a reset or a look has overtaken.
func TestHistoriesOfRememberedDenials(t *testing.T) {
	rdb := goclient.NewClient(&goclient.Options{Addr: redistest.Start(t).Addr()})
	defer rdb.Close()
	for name, backend := range map[string]proxy.Backend{
		"memory": distant{memory.New()}, "redis": goredis.New(rdb), "redis, not coalesced": distant{goredis.New(rdb)},
	} {
		t.Run(name, func(t *testing.T) {
			var fromCache atomic.Int64
			p, prefix := progress{t: t, begun: time.Now()}, redistest.Prefix(t)
			for i := range *calm {
				cache := counted{proxy.CacheDenials(backend, time.Hour), &fromCache}
				h := histories.Begin(*seed+uint64(i), manage(t, cache, fmt.Sprint(prefix, i, ":"), patience))
				h.Press()
				h.Play(nil)
				if err := h.Check(); err != nil {
					t.Fatal(err)
				}
				p.add(h.Count(), i == *calm-1)
			}
			t.Logf("%d answers were remembered ones", fromCache.Load())
			if fromCache.Load() == 0 && *calm > 0 {
				t.Error("no answer was a remembered one")
			}
		})
	}
}
