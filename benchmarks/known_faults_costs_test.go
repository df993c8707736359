package main

import (
	"sync"
	"testing"
	"time"

	"github.com/go-chi/httprate"
	"github.com/juju/ratelimit"
	goclient "github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// Faults in what is answered and charged.

// The clients of the rivals' packages themselves, where a proof needs more than a take of one.

func throttledOn(t *testing.T, c *goclient.Client, l limit) *throttled.GCRARateLimiterCtx {
	t.Helper()
	s, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		t.Fatal(err)
	}
	g, err := newThrottled(s, l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ululeOn(t *testing.T, c *goclient.Client, l limit) *ulule.Limiter {
	t.Helper()
	s, err := ululeredis.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	return ulule.New(s, ulule.Rate{Period: l.period, Limit: l.capacity})
}

func sluiceOn(t *testing.T, c *goclient.Client, options ...goredis.Option) *proxy.Manager {
	t.Helper()
	m, err := proxy.NewManager(goredis.New(c, options...), proxy.WithTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func dialed(t *testing.T, addr string) *goclient.Client {
	c := dialGoRedis(addr)
	t.Cleanup(func() { c.Close() })
	return c
}

func remaining(t *testing.T, addr string) []tallied {
	c, ctx := dialed(t, addr), t.Context()
	r, of := newRedisRate(c, tenASecond)
	g, u, m := throttledOn(t, c, tenASecond), ululeOn(t, c, tenASecond), sluiceOn(t, c)
	var counts []tallied
	note := func(who string, as role, left func(key string) (int, error)) {
		n := 0
		for _, key := range keyNames("remaining:", 100) {
			got, err := left(key)
			if err != nil {
				t.Errorf("%s: %v", who, err)
			}
			if got == 9 {
				n++
			}
		}
		counts = append(counts, tallied{who, as, []int{n}})
	}
	note("Sluice", ours, func(key string) (int, error) {
		p, err := m.Bucket(key, one(tenASecond)).Consume(ctx, 1)
		return int(p.RemainingTokens), err
	})
	note(redisRate, rival, func(key string) (int, error) {
		got, err := r.Allow(ctx, key, of)
		if err != nil {
			return 0, err
		}
		return got.Remaining, nil
	})
	note("throttled", rival, func(key string) (int, error) {
		_, got, err := g.RateLimitCtx(ctx, key, 1)
		return got.Remaining, err
	})
	note("ulule/limiter", rival, func(key string) (int, error) {
		got, err := u.Get(ctx, key)
		return int(got.Remaining), err
	})
	return counts
}

func impossible(t *testing.T, addr string) []tallied {
	c, ctx := dialed(t, addr), t.Context()
	l := limit{10, 1, 1000 * time.Hour}
	const key, cost = "impossible", 11
	var counts []tallied
	note := func(who string, as role, granted, wait bool, left int) {
		counts = append(counts, tallied{who, as, []int{number(granted), number(wait), left}})
	}

	b := sluiceOn(t, c).Bucket(key, one(l))
	p, err := b.Consume(ctx, cost)
	check(t, err)
	_, waits := p.RetryAfter()
	left, err := b.ConsumeUpTo(ctx, 10)
	check(t, err)
	note("Sluice", ours, p.Consumed, waits, int(left.Tokens))

	r, of := newRedisRate(c, l)
	got, err := r.AllowN(ctx, key, of, cost)
	check(t, err)
	note(redisRate, rival, got.Allowed > 0, got.RetryAfter > 0, singles(t, 10, func() (bool, error) {
		got, err := r.Allow(ctx, key, of)
		return err == nil && got.Allowed == 1, err
	}))

	g := throttledOn(t, c, l)
	limited, result, err := g.RateLimitCtx(ctx, key, cost)
	check(t, err)
	note("throttled", rival, !limited, result.RetryAfter > 0, singles(t, 10, func() (bool, error) {
		limited, _, err := g.RateLimitCtx(ctx, key, 1)
		return !limited, err
	}))

	u := ululeOn(t, c, l)
	of1, err := u.Increment(ctx, key, cost)
	check(t, err)
	note("ulule/limiter", rival, !of1.Reached, of1.Reached && of1.Reset > time.Now().Unix(), singles(t, 10, func() (bool, error) {
		got, err := u.Get(ctx, key)
		return !got.Reached, err
	}))

	x := timeRate(l)
	reserved := x.ReserveN(time.Now(), cost)
	note("x/time/rate", rival, reserved.OK() && reserved.Delay() == 0, reserved.OK() && reserved.Delay() < rate.InfDuration,
		singles(t, 10, func() (bool, error) { return x.Allow(), nil }))
	return counts
}

func refusedCost(t *testing.T, addr string) []tallied {
	c, ctx := dialed(t, addr), t.Context()
	l := limit{10, 1, 1000 * time.Hour}
	const key = "refused cost"
	var counts []tallied
	note := func(who string, as role, take func(n int) (bool, error)) {
		if ok, err := take(7); !ok || err != nil {
			t.Errorf("%s: take of 7: %v, %v", who, ok, err)
		}
		if ok, err := take(5); ok || err != nil {
			t.Errorf("%s: take of 5: %v, %v", who, ok, err)
		}
		counts = append(counts, tallied{who, as, []int{singles(t, 3, func() (bool, error) { return take(1) })}})
	}
	b := sluiceOn(t, c).Bucket(key, one(l))
	note("Sluice", ours, func(n int) (bool, error) { return b.TryConsume(ctx, int64(n)) })
	r, of := newRedisRate(c, l)
	note(redisRate, rival, func(n int) (bool, error) {
		got, err := r.AllowN(ctx, key, of, n)
		return err == nil && got.Allowed > 0, err
	})
	g := throttledOn(t, c, l)
	note("throttled", rival, func(n int) (bool, error) {
		limited, _, err := g.RateLimitCtx(ctx, key, n)
		return !limited, err
	})
	u := ululeOn(t, c, l)
	note("ulule/limiter", rival, func(n int) (bool, error) {
		got, err := u.Increment(ctx, key, int64(n))
		return !got.Reached, err
	})
	x := timeRate(l)
	note("x/time/rate", rival, func(n int) (bool, error) { return x.AllowN(time.Now(), n), nil })
	h := httprate.NewRateLimiter(10, window)
	note("go-chi/httprate", rival, func(n int) (bool, error) {
		return !h.OnLimit(new(failure), newRequest(httprate.WithIncrement(ctx, n)), key), nil
	})
	return counts
}

func upTo(t *testing.T, addr string) []tallied {
	const capacity = 100
	c, ctx := dialed(t, addr), t.Context()
	l := limit{capacity, 10, time.Second}
	b := sluiceOn(t, c).Bucket("up to", one(l))
	r, of := newRedisRate(c, l)
	j := ratelimit.NewBucketWithQuantum(100*time.Millisecond, capacity, 1)
	all := []struct {
		who  string
		role role
		take func() (int, error)
	}{
		{"Sluice", ours, func() (int, error) {
			p, err := b.ConsumeUpTo(ctx, capacity)
			return int(p.Tokens), err
		}},
		{redisRate, rival, func() (int, error) {
			got, err := r.AllowAtMost(ctx, "up to", of, capacity)
			if err != nil {
				return 0, err
			}
			return got.Allowed, nil
		}},
		{"juju/ratelimit", rival, func() (int, error) { return int(j.TakeAvailable(capacity)), nil }},
	}
	counts := make([]tallied, len(all))
	var wg sync.WaitGroup
	for i, a := range all {
		wg.Go(func() {
			if n, err := a.take(); n != capacity || err != nil {
				t.Errorf("%s: %d, %v", a.who, n, err)
			}
			drained := time.Now()
			got := 0
			var due int
			for range 12 {
				time.Sleep(150 * time.Millisecond)
				due = int(10 * time.Since(drained) / time.Second)
				n, err := a.take()
				if err != nil {
					t.Error(err)
				}
				got += n
			}
			counts[i] = tallied{a.who, a.role, []int{max(0, due-got)}}
		})
	}
	wg.Wait()
	return counts
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// singles is how many of so many takes of one are granted.
func singles(t *testing.T, n int, take func() (bool, error)) (granted int) {
	t.Helper()
	for range n {
		ok, err := take()
		check(t, err)
		if ok {
			granted++
		}
	}
	return granted
}
