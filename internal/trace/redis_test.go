package trace_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/model"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/internal/trace"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

func TestGoRedisLua(t *testing.T) {
	traceLua(t, "go-redis, Lua", onGoRedis)
}

func TestRueidisLua(t *testing.T) {
	traceLua(t, "rueidis, Lua", onRueidis)
}

func traceLua(t *testing.T, name string, open opener) {
	handed := traceRedis(t, name, open, func(n int) []redis.Option { return nil })
	t.Logf("%.1f %% of the steps were decided inside a script", 100*(1-handed))
	if handed > 0.4 {
		t.Errorf("%.1f %% of the steps were handed to compare-and-swap", 100*handed)
	}
}

func TestGoRedisCompareAndSwap(t *testing.T) {
	traceRedis(t, "go-redis, compare-and-swap", onGoRedis, swaps)
}

func TestRueidisCompareAndSwap(t *testing.T) {
	traceRedis(t, "rueidis, compare-and-swap", onRueidis, swaps)
}

func swaps(int) []redis.Option { return []redis.Option{redis.WithCompareAndSwap()} }

// Both modes on the same keys, in turns.
func TestGoRedisMixed(t *testing.T) {
	traceRedis(t, "go-redis, both modes", onGoRedis, func(n int) []redis.Option {
		if n%2 == 0 {
			return nil
		}
		return []redis.Option{redis.WithCompareAndSwap()}
	})
}

// opener returns what makes backends on one client of a server.
type opener func(t *testing.T, o *client.Options) func(...redis.Option) *redis.Backend

func onGoRedis(t *testing.T, o *client.Options) func(...redis.Option) *redis.Backend {
	c := client.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return func(options ...redis.Option) *redis.Backend { return goredis.New(c, options...) }
}

func onRueidis(t *testing.T, o *client.Options) func(...redis.Option) *redis.Backend {
	c, err := ruclient.NewClient(ruclient.ClientOption{
		InitAddress: []string{o.Addr}, Username: o.Username, Password: o.Password, SelectDB: o.DB, TLSConfig: o.TLSConfig,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return func(options ...redis.Option) *redis.Backend { return rueidis.New(c, options...) }
}

// traceRedis plays traces over keys in a real Redis, each step through the next
// of two backends, and returns the share of steps that a script handed over.
func traceRedis(t *testing.T, name string, open opener, mode func(n int) []redis.Option) float64 {
	options, err := client.ParseURL(redistest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(options)
	t.Cleanup(func() { c.Close() })
	backend := open(t, options)
	prefix := redistest.Prefix(t)
	var keys, steps, handed atomic.Int64
	run(t, trace.Subject{
		Name: name,
		Tick: bucket.Microsecond,
		// Real time passes too: lives are longer than any trace by the lead.
		Leads:    []int64{3_600_000_000, 3_600_000_001, 86_400_000_000},
		Earliest: math.MinInt64, Latest: math.MaxInt64,
		New: func(s trace.Start) (trace.Target, error) {
			target := &redisTarget{client: c, key: fmt.Sprint(prefix, keys.Add(1)), steps: &steps, handed: &handed}
			for n := range target.backends {
				skew := redis.WithClientClock(target.clock, time.Duration(s.Lead)*time.Microsecond)
				target.backends[n] = backend(append(mode(n), skew)...)
			}
			return target, target.backends[0].Validate()
		},
	})
	return float64(handed.Load()) / float64(steps.Load())
}

type redisTarget struct {
	client        *client.Client
	key           string
	backends      [2]*redis.Backend
	turn          int
	now           int64
	asked         time.Time
	steps, handed *atomic.Int64
}

func (r *redisTarget) clock() time.Time { return time.UnixMicro(r.now) }

func (r *redisTarget) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	r.now, r.asked = now, time.Now()
	d := decision(r.key, req, rule)
	r.turn++
	r.backends[r.turn%2].Do(context.Background(), d)
	if !neverAScripts(req.Op) {
		r.steps.Add(1)
		if d[0].Notes&proxy.HandedOver != 0 {
			r.handed.Add(1)
		}
	}
	if d[0].Notes&proxy.StateLost != 0 {
		return d[0].Results[0], fmt.Errorf("a state was taken for damaged")
	}
	return d[0].Results[0], d[0].Err
}

// neverAScripts tells what is not left to scripts by design: conversions, and
// forcing more tokens than a double holds.
func neverAScripts(op bucket.Operation) bool {
	forced := op.Kind == bucket.OpForce || op.Kind == bucket.OpForceAdd
	return op.Kind == bucket.OpReplace || forced && op.Tokens >= 1<<53
}

func (r *redisTarget) Forget(int64) error {
	return r.client.Del(context.Background(), r.key).Err()
}

func (r *redisTarget) Load(e bucket.Entry, _ int64) error {
	return r.client.Set(context.Background(), r.key, codec.MessagePack{}.Append(nil, e), time.Hour).Err()
}

// Check holds the key's time to live against what the model gives it. Redis
// counts it down meanwhile.
func (r *redisTarget) Check(e model.Effect, _ int64) error {
	switch e.Change {
	case bucket.Delete:
		if n := r.client.Exists(context.Background(), r.key).Val(); n != 0 {
			return fmt.Errorf("the key is still there")
		}
	case bucket.Write:
		ttl := r.client.Do(context.Background(), "pttl", r.key).Val().(int64)
		want := expiration.Life(e.Life).Longer(999).Millis()
		if gone := time.Since(r.asked).Milliseconds() + 2; ttl > want || ttl < want-gone {
			return fmt.Errorf("time to live %d ms, want %d less at most %d", ttl, want, gone)
		}
	}
	return nil
}
