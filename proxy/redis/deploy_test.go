package redis_test

import (
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// deploy is two releases of a service on one key, each with its own limits.
type deploy struct {
	rdb        *client.Client
	key        string
	old, young proxy.Bucket
	heard      *ear // what the old release hears
}

// inEachPair runs a test with both releases deciding by script, both by swap, and
// one each way.
func inEachPair(t *testing.T, run func(t *testing.T, roll func(old, young bucket.Configuration) deploy)) {
	swap := redis.WithCompareAndSwap()
	for _, pair := range []struct {
		name       string
		old, young redis.Option
	}{
		{"script", nil, nil},
		{"swap", swap, swap},
		{"script to swap", nil, swap},
		{"swap to script", swap, nil},
	} {
		t.Run(pair.name, func(t *testing.T) {
			rdb := connect(t, redistest.URL(t))
			run(t, func(old, young bucket.Configuration) deploy {
				d := deploy{rdb: rdb, key: redistest.Prefix(t) + "k", heard: new(ear)}
				d.old = onClient(t, rdb, "", pair.old, proxy.WithObserver(d.heard)).Bucket(d.key, old)
				d.young = onClient(t, rdb, "", pair.young).Bucket(d.key, young)
				return d
			})
		})
	}
}

// slow is a limit that gives nothing back while a test runs.
func slow(t *testing.T, capacity int64) bucket.Configuration {
	return config(t, capacity, bandwidth.Greedy(1, 100*time.Hour))
}

func versioned(c bucket.Configuration, version int64, strategy bucket.Inheritance) bucket.Configuration {
	return bucket.Must(c.WithVersion(version, strategy))
}

// Of 1,000 tokens 400 are taken. With 2,000 as the new capacity that leaves 600
// as they are; 600 · 2000/1000 in proportion; 600 + (2000-1000) by addition; all
// 2,000 by reset. From then on each call takes one, whoever makes it.
func TestC13RollingDeployTakesOverOnce(t *testing.T) {
	starts := map[bucket.Inheritance]int64{
		bucket.AsIs: 600, bucket.Proportional: 1200, bucket.Additive: 1600, bucket.Reset: 2000,
	}
	inEachPair(t, func(t *testing.T, roll func(old, young bucket.Configuration) deploy) {
		for strategy, start := range starts {
			for name, old := range map[string]bucket.Configuration{
				"version 1": versioned(slow(t, 1000), 1, bucket.Reset), "no version": slow(t, 1000),
			} {
				d := roll(old, versioned(slow(t, 2000), 2, strategy))
				take(t, d.old, 400, true)
				left := start
				for range 100 {
					for _, b := range []proxy.Bucket{d.young, d.old} {
						left--
						if p := take(t, b, 1, true); p.RemainingTokens != left || p.Configuration.Version() != 2 {
							t.Fatalf("%s, %v: %d left under version %d, want %d under 2",
								name, strategy, p.RemainingTokens, p.Configuration.Version(), left)
						}
					}
				}
				d.rules(t, 2, 2000, left)
				if n := d.heard.count(proxy.ConfigurationConflict); n != 0 {
					t.Errorf("%s, %v: %d conflicts", name, strategy, n)
				}
			}
		}
	})
}

// rules checks that a version, a capacity and what is left hold for both
// releases, that the old one may empty the bucket by them, and that nobody gets
// more then.
func (d deploy) rules(t *testing.T, version, capacity, left int64) {
	t.Helper()
	for _, b := range []proxy.Bucket{d.old, d.young} {
		wantAvailable(t, b, left)
	}
	take(t, d.old, left, true)
	for _, b := range []proxy.Bucket{d.young, d.old} {
		if p := take(t, b, capacity, false); p.Never || p.RemainingTokens != 0 {
			t.Errorf("refused %d of 0: never %t, %d left", capacity, p.Never, p.RemainingTokens)
		}
		if p := take(t, b, capacity+1, false); !p.Never {
			t.Errorf("refused one above the capacity of %d: never %t", capacity, p.Never)
		}
	}
	e := stored(t, d.rdb, d.key)
	if e.Config.Version() != version || e.Config.Bandwidth(0).Capacity() != capacity || e.State.Levels[0].Tokens != 0 {
		t.Errorf("stored is version %d of capacity %d with %d tokens, want %d, %d and 0",
			e.Config.Version(), e.Config.Bandwidth(0).Capacity(), e.State.Levels[0].Tokens, version, capacity)
	}
}

// The version is what counts: whoever comes second with the same one and other
// limits obeys the first, and its observer hears so each time.
func TestEqualVersionWithOtherContentStays(t *testing.T) {
	const rounds = 100
	inEachPair(t, func(t *testing.T, roll func(old, young bucket.Configuration) deploy) {
		d := roll(versioned(slow(t, 1000), 5, bucket.Reset), versioned(slow(t, 2000), 5, bucket.Reset))
		left := int64(2000)
		for range rounds {
			for _, b := range []proxy.Bucket{d.young, d.old} {
				left--
				if p := take(t, b, 1, true); p.RemainingTokens != left || p.Configuration.Bandwidth(0).Capacity() != 2000 {
					t.Fatalf("%d left of %d, want %d of 2000", p.RemainingTokens, p.Configuration.Bandwidth(0).Capacity(), left)
				}
			}
		}
		if n := d.heard.count(proxy.ConfigurationConflict); n != rounds {
			t.Errorf("%d conflicts heard, want %d", n, rounds)
		}
		d.rules(t, 5, 2000, left)
	})
}
