package redis_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// One clock among many is an hour ahead.
func TestC53FastClockDoesLittleHarm(t *testing.T) {
	t.Parallel() // it mostly waits
	const full, skew = time.Second, 200 * time.Millisecond
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		limit := config(t, 10, bandwidth.Greedy(10, full))
		ahead := func() time.Time { return time.Now().Add(time.Hour) }
		fast := manage(t, goredis.New(rdb, mode, redis.WithClientClock(ahead, skew)), prefix).Bucket("k", limit)
		right := manage(t, goredis.New(rdb, mode, redis.WithClientClock(time.Now, skew)), prefix).Bucket("k", limit)

		take(t, fast, 10, true)
		if got := rdb.PTTL(t.Context(), prefix+"k").Val(); got > full+skew+5*time.Millisecond {
			t.Errorf("the key lives %v, want the time to full and the skew", got)
		}
		p := take(t, right, 1, false)
		if longest := full/10 + skew; p.Wait > longest {
			t.Errorf("the others are told to wait %v, want %v at most", p.Wait, longest)
		}

		// All is back after the time to full and the skew.
		time.Sleep(full + skew)
		take(t, right, 10, true)
	})
}

// A caller that was told to wait because of a fast clock is served when it has
// waited so long.
func TestC53FastClockDoesNotStarveOthers(t *testing.T) {
	const skew = time.Second
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		limit := config(t, 10, bandwidth.Greedy(10, time.Minute))
		c := newClock()
		right := manage(t, goredis.New(rdb, mode, redis.WithClientClock(c.now, skew)), prefix).Bucket("k", limit)
		fast := manage(t, goredis.New(rdb, mode, redis.WithClientClock(func() time.Time {
			return c.now().Add(time.Hour)
		}, skew)), prefix).Bucket("k", limit)

		take(t, fast, 10, true)
		p := take(t, right, 1, false)
		if p.Wait != 6*time.Second+skew {
			t.Errorf("told to wait %v, want 6s and the skew", p.Wait)
		}
		c.advance(p.Wait)
		take(t, right, 1, true)
	})
}

// Within the skew a clock that is ahead costs others no more than its lead.
func TestC53SmallSkewIsBelieved(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		limit := config(t, 10, bandwidth.Greedy(10, 10*time.Second))
		c := newClock()
		ahead := func() time.Time { return c.now().Add(700 * time.Millisecond) }
		fast := manage(t, goredis.New(rdb, mode, redis.WithClientClock(ahead, redis.DefaultSkew)), prefix).Bucket("k", limit)
		right := manage(t, goredis.New(rdb, mode, redis.WithClientClock(c.now, redis.DefaultSkew)), prefix).Bucket("k", limit)
		take(t, fast, 10, true)
		if p := take(t, right, 1, false); p.Wait != 1700*time.Millisecond {
			t.Errorf("told to wait %v, want 1.7s", p.Wait)
		}
		c.advance(1700*time.Millisecond - time.Microsecond)
		take(t, right, 1, false)
		c.advance(time.Microsecond)
		take(t, right, 1, true)
	})
}
