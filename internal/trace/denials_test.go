package trace_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/internal/trace"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Denials that are remembered are those of the model, as long as all goes through
// one cache.
func TestDenialsOfMemory(t *testing.T) {
	var fromCache atomic.Int64
	run(t, trace.Subject{
		Name: "remembered denials, memory",
		Tick: bucket.Microsecond,
		New: func(trace.Start) (trace.Target, error) {
			target := &deniedTarget{key: "key", fromCache: &fromCache}
			target.cache(memory.New(memory.WithClock(target.clock)))
			return target, nil
		},
	})
	remembered(t, &fromCache)
}

func TestDenialsOfGoRedisLua(t *testing.T) {
	options, err := client.ParseURL(redistest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	backend := onGoRedis(t, options)
	c := client.NewClient(options)
	t.Cleanup(func() { c.Close() })
	prefix := redistest.Prefix(t)
	var fromCache, keys atomic.Int64
	run(t, trace.Subject{
		Name:     "remembered denials, go-redis, Lua",
		Tick:     bucket.Microsecond,
		Leads:    []int64{3_600_000_000, 3_600_000_001, 86_400_000_000}, // as traceRedis
		Earliest: math.MinInt64, Latest: math.MaxInt64,
		New: func(s trace.Start) (trace.Target, error) {
			target := &deniedTarget{key: fmt.Sprint(prefix, keys.Add(1)), fromCache: &fromCache, client: c}
			target.cache(backend(redis.WithClientClock(target.clock, time.Duration(s.Lead)*time.Microsecond)))
			return target, nil
		},
	})
	remembered(t, &fromCache)
}

func remembered(t *testing.T, answers *atomic.Int64) {
	t.Helper()
	t.Logf("%d answers were remembered ones", answers.Load())
	if answers.Load() == 0 {
		t.Error("no answer was a remembered one")
	}
}

// deniedTarget is a key behind a cache of denials, on one clock.
type deniedTarget struct {
	backend   proxy.Backend
	key       string
	now       int64
	fromCache *atomic.Int64
	client    *client.Client // nil: the backend forgets by itself
}

func (d *deniedTarget) clock() time.Time { return time.UnixMicro(d.now) }

func (d *deniedTarget) cache(b proxy.Backend) {
	d.backend = proxy.CacheDenials(b, time.Hour, proxy.WithDenialClock(d.clock))
}

func (d *deniedTarget) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	d.now = now
	ds := decision(d.key, req, rule)
	d.backend.Do(context.Background(), ds)
	if ds[0].Results[0].Source == bucket.SourceCache {
		d.fromCache.Add(1)
	}
	return ds[0].Results[0], ds[0].Err
}

func (d *deniedTarget) Forget(int64) error {
	if d.client == nil {
		return nil
	}
	return d.client.Del(context.Background(), d.key).Err()
}
