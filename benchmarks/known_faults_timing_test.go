package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// Faults in the course of time: bursts, clocks that disagree, late replies, many calls at once.

var tenASecond = limit{10, 10, time.Second}

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
