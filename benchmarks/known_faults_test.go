package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/httprate"
	"github.com/juju/ratelimit"
	goclient "github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

var tenASecond = limit{10, 10, time.Second}

var proofs = []proof{
	{
		"what is left after the first take at ten a second",
		"A hundred new keys of capacity 10, one take each. The answer tells what remains.",
		[]string{"answers of 9"},
		[]bound{exactly(100)},
		remaining,
	},
	{
		"bursts of twenty every 1.05 s at ten a second",
		"Capacity 20. Four bursts on one key; too many are those beyond 20 and ten for each second from the first to the last.",
		[]string{"too many"},
		[]bound{exactly(0)},
		bursts,
	},
	{
		"a client whose clock is five seconds behind",
		"Capacity 10, ten a second. First a client with the right clock takes all, and 1.1 s later the other one tries ten takes. Then, on\n" +
			"another key, the one that is behind takes all and the other one tries ten at once: too many are those that have not come back meanwhile.",
		[]string{"granted of 10 that have come back", "too many"},
		[]bound{exactly(10), exactly(0)},
		behind,
	},
	{
		"a period below a second",
		"Capacity 5, five in 999 ms. Thirty takes as fast as possible; too many are those beyond 5 and what has come back meanwhile.",
		[]string{"too many"},
		[]bound{exactly(0)},
		brief,
	},
	{
		"a reply that comes late",
		"go-redis waits 100 ms for a reply that takes 400, with eight connections in its pool and its own settings for retries. One take, of\n" +
			"which the caller gets an error: how many tokens are gone?",
		[]string{"tokens gone"},
		[]bound{atMostN(1)},
		late,
	},
	{
		"a cost above the capacity",
		"Capacity 10 and full. A take of 11 cannot ever be granted.",
		[]string{"granted", "answers with a time to come back", "tokens left"},
		[]bound{exactly(0), exactly(0), exactly(10)},
		impossible,
	},
	{
		"a refused cost",
		"Capacity 10, seven taken. A take of 5 is refused; then three takes of one.",
		[]string{"granted of 3"},
		[]bound{exactly(3)},
		refusedCost,
	},
	{
		"taking what there is, part-tokens left behind",
		"Capacity 100, ten a second, drained. Every 150 ms all that is there is taken, twelve times; lost are those that came back and were not got.",
		[]string{"lost"},
		[]bound{exactly(0)},
		upTo,
	},
	{
		"two hundred at once",
		"Capacity 1,000 and nothing comes back. Two hundred goroutines take one each from one key on Redis.",
		[]string{"granted", "errors"},
		[]bound{exactly(200), exactly(0)},
		atOnce,
	},
}

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

// tooMany is how many takes of some bursts are granted beyond what is right for the time that they take.
func tooMany(t *testing.T, c contender, addr string, l limit, bursts, size int, pause time.Duration) int {
	take, key := opened(t, c, addr, l), t.Name()+c.name
	begun := time.Now()
	granted := 0
	for i := range bursts {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * pause)))
		granted += taken(t, take, key, size)
	}
	back := l.tokens * int64(time.Since(begun)) / int64(l.period)
	return max(0, granted-int(l.capacity+back))
}

func bursts(t *testing.T, addr string) []tallied {
	all := slices.Concat(
		named(t, redisContenders, sluiceGoRedis, redisRate, "throttled"),
		named(t, keyless(), "x/time/rate", "juju/ratelimit"),
	)
	return each(all, func(c contender) []int {
		return []int{tooMany(t, c, addr, limit{20, 10, time.Second}, 4, 20, 1050*time.Millisecond)}
	})
}

func brief(t *testing.T, addr string) []tallied {
	l := limit{5, 5, 999 * time.Millisecond}
	all := append(
		named(t, redisContenders, sluiceGoRedis, redisRate, "throttled", redisScript),
		contender{"ulule/limiter", rival, openUlule(l.period), ""},
		contender{"sethvargo/go-redisstore", rival, openRedisStore(l.period), ""},
	)
	return each(all, func(c contender) []int { return []int{tooMany(t, c, addr, l, 1, 30, 0)} })
}

const lag = 5 * time.Second

// behind has takes by a right clock and by one that is behind.
func behind(t *testing.T, addr string) []tallied {
	onServersClock := named(t, redisContenders, sluiceGoRedis, redisRate, "throttled")
	for i := range onServersClock {
		onServersClock[i].name += ", which asks the server for the time"
	}
	onOwnClock := []contender{
		{"Sluice with the clients' clocks, which must agree within a second", rival, onGoRedis(one, goredis.WithClientClock(time.Now, 0)), ""},
		named(t, redisContenders, redisScript)[0],
		{"sethvargo/go-redisstore", rival, openRedisStore(time.Second), ""},
		{"go-chi/httprate-redis", rival, openHTTPRateRedis(time.Second), ""},
	}
	return each(slices.Concat(onServersClock, onOwnClock), func(c contender) []int {
		right := opened(t, c, addr, tenASecond)
		granted := taken(t, right, c.name+" first", 10)
		time.Sleep(1100 * time.Millisecond)
		var came int
		inThePast(t, c, addr, func(late taker) { came = taken(t, late, c.name+" first", 10) })
		since := time.Now()
		inThePast(t, c, addr, func(late taker) { granted += taken(t, late, c.name+" second", 10) })
		if granted != 20 {
			t.Errorf("%s: %d of 20 tokens were granted before", c.name, granted)
		}
		left := taken(t, right, c.name+" second", 10)
		back := int(10 * time.Since(since) / time.Second)
		return []int{came, max(0, left-back)}
	})
}

// each counts what several contenders do side by side.
func each(contenders []contender, count func(contender) []int) []tallied {
	counts := make([]tallied, len(contenders))
	var wg sync.WaitGroup
	for i, c := range contenders {
		wg.Go(func() { counts[i] = tallied{c.name, c.role, count(c)} })
	}
	wg.Wait()
	return counts
}

// inThePast lets a contender work where the time of the process is behind: inside a bubble whose clock is set by
// sleeping.
func inThePast(t *testing.T, c contender, addr string, use func(taker)) {
	then := time.Now().Add(-lag)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(then))
		take, done, err := c.open(addr, tenASecond)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		use(take)
	})
}

func late(t *testing.T, addr string) []tallied {
	const patience = 100 * time.Millisecond
	dialGoRedis = func(addr string) *goclient.Client {
		return goclient.NewClient(&goclient.Options{Addr: addr, ReadTimeout: patience})
	}
	defer func() { dialGoRedis = dialKeepingTime }()
	link := faults.NewLink(t, addr)
	link.Delay(patience / 2)
	contenders := named(t, redisContenders, sluiceGoRedis, redisRate, "ulule/limiter", redisScript, "throttled")
	takers := map[string]taker{}
	for _, c := range contenders {
		takers[c.name] = opened(t, c, link.Addr(), small)
		taken(t, takers[c.name], "late "+c.name, 1) // the script is known
		var wg sync.WaitGroup
		for range 8 { // and connections are made
			wg.Go(func() { _, _ = takers[c.name](t.Context(), "late connections "+c.name) })
		}
		wg.Wait()
	}
	link.Delay(4 * patience)
	return each(contenders, func(c contender) []int {
		if _, err := takers[c.name](t.Context(), "late "+c.name); err == nil {
			t.Errorf("%s answers in time", c.name)
		}
		time.Sleep(5 * patience) // what is under way arrives
		left := taken(t, opened(t, c, addr, small), "late "+c.name, int(small.capacity))
		return []int{int(small.capacity) - 1 - left}
	})
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

func atOnce(t *testing.T, addr string) (counts []tallied) {
	for _, c := range redisContenders {
		if c.role == floor {
			continue
		}
		take := opened(t, c, addr, small)
		var granted, failed atomic.Int64
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				ok, err := take(t.Context(), "at once:"+c.name)
				if err != nil {
					failed.Add(1)
				} else if ok {
					granted.Add(1)
				}
			})
		}
		wg.Wait()
		counts = append(counts, tallied{c.name, c.role, []int{int(granted.Load()), int(failed.Load())}})
	}
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
