package redis_test

import (
	"math"
	"slices"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// life is how long a key lives from the decision that wrote it.
func life(t testing.TB, rdb *client.Client, key string) time.Duration {
	t.Helper()
	at, err := rdb.PExpireTime(t.Context(), key).Result() // -1 ns: it has none
	if err != nil || at <= 0 {
		t.Fatalf("key %q expires at %v, %v", key, at, err)
	}
	return at - time.Duration(stored(t, rdb, key).State.Last)*time.Microsecond
}

func TestC05TimeToLiveCountsWholePeriods(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		limit := config(t, 3, bandwidth.Interval(1, 15*time.Second))

		m := onClient(t, rdb, prefix, mode)
		take(t, m.Bucket("server", limit), 3, true)
		if got := life(t, rdb, prefix+"server"); got < 45*time.Second {
			t.Errorf("the key lives %v, want 45s", got)
		}

		c := newClock()
		b := manage(t, goredis.New(rdb, mode, redis.WithClientClock(c.now, time.Second)), prefix).Bucket("client", limit)
		take(t, b, 3, true)
		if got := rdb.PTTL(t.Context(), prefix+"client").Val(); got < 45*time.Second {
			t.Errorf("with a client's clock the key lives %v, want 45s", got)
		}
		start := c.now()
		for _, step := range []struct {
			second time.Duration
			want   int64
		}{{10, 0}, {14, 0}, {15, 1}, {30, 2}, {44, 2}, {45, 3}} {
			c.set(start.Add(step.second * time.Second))
			wantAvailable(t, b, step.want)
		}
	})
}

func TestC06TimeToLiveIsRoundedUp(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		m := onClient(t, rdb, prefix, mode)

		take(t, m.Bucket("third", config(t, 3, bandwidth.Greedy(3, time.Second))), 1, true)
		if got := life(t, rdb, prefix+"third"); got < 333_334*time.Microsecond {
			t.Errorf("the key lives %v, want 333.334ms or more", got)
		}

		// One token in 292 years: the time to full passes int64.
		take(t, m.Bucket("ages", config(t, math.MaxInt64, bandwidth.Greedy(1, math.MaxInt64))), math.MaxInt64, true)
		if got, err := rdb.Do(t.Context(), "PTTL", prefix+"ages").Int64(); err != nil || got < math.MaxInt64/1_000_000 {
			t.Errorf("the key lives %d ms, %v; want more than 292 years", got, err)
		}
	})
}

func TestC40TimeToLiveIsInMilliseconds(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		m := onClient(t, rdb, prefix, mode)
		for _, period := range []time.Duration{time.Second, time.Minute, time.Hour, 30 * 24 * time.Hour} {
			take(t, m.Bucket(period.String(), config(t, 60, bandwidth.Greedy(60, period))), 60, true)
			got := life(t, rdb, prefix+period.String())
			if got < period || got > period+2*time.Second {
				t.Errorf("period %v: the key lives %v", period, got)
			}
		}
	})
}

// A key outlives its need by less than the millisecond that it is rounded up by,
// however long the server took from reading its clock to writing.
func TestTimeToLiveIsTight(t *testing.T) {
	rdb, prefix := shared(t)
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		var slack []time.Duration
		for _, keep := range []time.Duration{time.Second, 1234567 * time.Microsecond, time.Minute} {
			m := onClient(t, rdb, prefix, mode, proxy.WithExpiration(expiration.TimeToFull(keep)))
			for i, limit := range []bandwidth.Refill{
				bandwidth.Greedy(10, time.Second), bandwidth.Greedy(7, 13*time.Hour),
				bandwidth.Interval(3, 1001*time.Microsecond), bandwidth.Aligned(1, time.Minute, time.UnixMicro(1)),
			} {
				key := t.Name() + keep.String() + string(rune('a'+i))
				b := m.Bucket(key, config(t, 1000, limit))
				for range 50 {
					p := take(t, b, 1, true)
					beyond := life(t, rdb, prefix+key) - p.TimeToFull - keep
					if beyond < 0 || beyond >= time.Millisecond {
						t.Fatalf("the key lives %v beyond its need, want 0 to 1ms", beyond)
					}
					slack = append(slack, beyond)
				}
			}
		}
		slices.Sort(slack)
		n := len(slack)
		t.Logf("beyond the need, of %d: median %v, 99%% %v, most %v", n, slack[n/2], slack[n*99/100], slack[n-1])
	})
}
