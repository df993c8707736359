package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

func TestC07TimeToLiveIsNeverZero(t *testing.T) {
	server := redistest.Start(t)
	mon := watch(t, server)
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb := connect(t, server.URL())
		m := onClient(t, rdb, redistest.Prefix(t), mode)
		for _, limit := range []struct {
			name     string
			capacity int64
			refill   bandwidth.Refill
			atLeast  int64
		}{
			{"1,000 a millisecond", 1000, bandwidth.Greedy(1000, time.Millisecond), 1},
			{"one a nanosecond", 1, bandwidth.Greedy(1, time.Nanosecond), 1},
			{"one in 1.5 ms", 1, bandwidth.Greedy(1, 1500*time.Microsecond), 2},
		} {
			b := m.Bucket(limit.name, config(t, limit.capacity, limit.refill))
			mon.seen()
			take(t, b, 1, true)
			if got := lives(t, mon.seen()); len(got) != 1 || got[0] < limit.atLeast || got[0] > limit.atLeast+1 {
				t.Errorf("%s: time to live in ms %d, want %d or one more", limit.name, got, limit.atLeast)
			}
			take(t, m.Bucket(limit.name+", refused", config(t, limit.capacity, limit.refill)), limit.capacity+1, false)
			if got := lives(t, mon.seen()); len(got) != 0 {
				t.Errorf("%s: a refusal wrote", limit.name)
			}
		}
	})
}

func TestC39TimeToLiveIsAPositiveInteger(t *testing.T) {
	server := redistest.Start(t)
	mon := watch(t, server)
	rdb := connect(t, server.URL())
	periods := []time.Duration{
		100 * time.Millisecond, 333 * time.Millisecond, 2500 * time.Millisecond, 600_001 * time.Millisecond, time.Microsecond,
	}
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := goredis.New(rdb, mode)
		const takes = 8 // of each limit
		var charges []proxy.Charge
		for _, period := range periods {
			for _, tokens := range []int64{1, 7} {
				for capacity := int64(1); capacity <= 20; capacity++ {
					for _, refill := range []bandwidth.Refill{bandwidth.Greedy(tokens, period), bandwidth.Interval(tokens, period)} {
						charges = append(charges, proxy.Charge{
							Key: fmt.Sprintf("%s:%v:%d:%d:%d", t.Name(), period, tokens, capacity, refill.Kind()),
							Request: bucket.Request{
								Config: config(t, capacity, refill), Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1},
							},
							Rule: expiration.Rule{},
						})
					}
				}
			}
		}
		granted := 0
		for range takes {
			for _, d := range decide(t, b, charges...) {
				if d.Err != nil {
					t.Fatal(d.Err)
				}
				if d.Results[0].Consumed {
					granted++
				}
			}
		}
		if got := lives(t, mon.seen()); len(got) != granted {
			t.Errorf("%d writes for %d grants", len(got), granted)
		}
		t.Logf("%d of %d takes granted", granted, takes*len(charges))
	})
}
