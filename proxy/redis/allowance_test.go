package redis_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// What does not come back must not come back by expiry either.
func TestAFixedAllowanceIsNotForgotten(t *testing.T) {
	const year = 365 * 24 * time.Hour
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		var heard ear
		b := onClient(t, rdb, prefix, mode, proxy.WithObserver(&heard)).Bucket("k", bucket.Must(bucket.Parse("1000/18250d interval")))
		take(t, b, 1000, true)
		if p := take(t, b, 1, false); p.Wait < 49*year {
			t.Errorf("another token in %v", p.Wait)
		}
		if n := heard.count(proxy.HandedToSwap); n != 0 {
			t.Errorf("%d calls were handed over", n)
		}
		if life, err := rdb.PTTL(t.Context(), prefix+"k").Result(); err != nil || life < 49*year {
			t.Errorf("the key lives %v, %v", life, err)
		}
	})
}
