package redis_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// chance is true now and then, the same times for the same seed.
type chance struct {
	mu     sync.Mutex
	random *rand.Rand
	share  float64
}

func (c *chance) spares([]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.Float64() >= c.share
}

func TestC08NoKeyIsLeftWithoutExpiry(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		direct, prefix := shared(t)
		cut := &chance{random: rand.New(rand.NewPCG(1, 8)), share: 0.03}
		url := through(t, redistest.URL(t), func() meddler { return meddler{request: cut.spares, reply: cut.spares} })
		m := on.manager(t, connect(t, url), prefix, mode)
		limit := perHour(t, 10)

		const keys, takes = 200, 1000
		random := rand.New(rand.NewPCG(8, 1))
		var served, unknown int64
		for range takes {
			key := fmt.Sprint(random.IntN(keys))
			ok, err := m.Bucket(key, limit).TryConsume(t.Context(), 1)
			switch {
			case errors.Is(err, proxy.ErrOutcomeUnknown):
				unknown++
			case err != nil:
				wantStoreError(t, err, proxy.ErrUnavailable, prefix+key)
			case ok:
				served++
			}
		}

		sound := on.manager(t, direct, prefix, mode)
		gone := int64(0)
		for i := range keys {
			p, err := sound.Bucket(fmt.Sprint(i), limit).Estimate(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			gone += 10 - p.RemainingTokens
			if ttl := direct.PTTL(t.Context(), prefix+fmt.Sprint(i)).Val(); ttl == -1 {
				t.Errorf("key %d has no expiry", i)
			}
		}
		t.Logf("%d takes: %d served, %d unknown, %d tokens gone", takes, served, unknown, gone)
		if gone < served || gone > served+unknown {
			t.Errorf("%d tokens are gone, want between %d served and %d more that are unknown", gone, served, unknown)
		}
		if unknown == 0 {
			t.Error("no connection was cut at a bad moment: the test shows nothing")
		}
	})
}

func TestC08TakeGivesAKeyItsExpiry(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		b := on.manager(t, rdb, prefix, mode).Bucket("k", perHour(t, 10))
		take(t, b, 1, true)
		if err := rdb.Persist(t.Context(), prefix+"k").Err(); err != nil {
			t.Fatal(err)
		}
		take(t, b, 1, true)
		if got := life(t, rdb, prefix+"k"); got < 2*time.Hour-time.Second {
			t.Errorf("the key lives %v, want the two hours to full", got)
		}
	})
}
