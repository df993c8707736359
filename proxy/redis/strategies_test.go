package redis_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// conversion is what becomes of a bucket that was made at noon when another
// configuration takes over: the tokens of each bandwidth and the time until all
// are full, worked out by hand.
type conversion struct {
	name, from, to                     string
	before                             []step
	asIs, proportional, additive, anew held
}

// step is something that happens to a bucket.
type step func(t *testing.T, b bucket.Bucket, c *clock)

// held is what a bucket tells; the time shows the part of a token or period that
// it holds beside its tokens.
type held string

func holds(full time.Duration, tokens ...int64) held {
	return held(fmt.Sprint(tokens, ", full in ", full))
}

var conversions = []conversion{
	{
		// 50 of 100. 50·1000/100 = 500; 50+900 = 950.
		"more capacity", "1/1s burst=100", "1/1s burst=1000",
		[]step{taking(50)},
		holds(950*time.Second, 50), holds(500*time.Second, 500), holds(50*time.Second, 950), holds(0, 1000),
	},
	{
		// 90 of 100, cut to 10. 90·10/100 = 9; the capacity does not grow, so nothing is added.
		"less capacity", "1/1s burst=100", "1/1s burst=10",
		[]step{taking(10)},
		holds(0, 10), holds(time.Second, 9), holds(0, 10), holds(0, 10),
	},
	{
		// 0 of 5. The new rate gives one in 6 s: 10 in 60 s. 0+5 = 5, and 5 more in 30 s.
		"C47 drained", "5/1m", "10/1m",
		[]step{taking(5)},
		holds(time.Minute, 0), holds(time.Minute, 0), holds(30*time.Second, 5), holds(0, 10),
	},
	{
		// 100-150 = -50. -50·10/100 = -5, and 15 more in 15 s.
		"a debt, less capacity", "1/1s burst=100", "1/1s burst=10",
		[]step{forcing(150)},
		holds(60*time.Second, -50), holds(15*time.Second, -5), holds(60*time.Second, -50), holds(0, 10),
	},
	{
		// -50·1000/100 = -500; -50+900 = 850.
		"a debt, more capacity", "1/1s burst=100", "1/1s burst=1000",
		[]step{forcing(150)},
		holds(1050*time.Second, -50), holds(1500*time.Second, -500), holds(150*time.Second, 850), holds(0, 1000),
	},
	{
		// 100+100 = 200. 200·300/100 = 600, cut to 300; 200+200 = 400, cut to 300.
		"a credit, more capacity", "1/1s burst=100", "1/1s burst=300",
		[]step{crediting(100)},
		holds(100*time.Second, 200), holds(0, 300), holds(0, 300), holds(0, 300),
	},
	{
		// 200, cut to 150; 200·150/100 = 300 and 200+50 = 250, cut to 150.
		"a credit that no longer is one", "1/1s burst=100", "1/1s burst=150",
		[]step{crediting(100)},
		holds(0, 150), holds(0, 150), holds(0, 150), holds(0, 150),
	},
	{
		// 5 s at the old rate are 5 tokens; at the new one they would be half a token. 5 more in 50 s.
		"time is settled at the old rate", "1/1s burst=10", "1/10s burst=10",
		[]step{taking(10), waiting(5 * time.Second)},
		holds(50*time.Second, 5), holds(50*time.Second, 5), holds(50*time.Second, 5), holds(0, 10),
	},
	{
		// 7 s are 0.7 of a token. (20-0.7)·100 s; 0.7·20/10 = 1.4 and (20-1.4)·100 s; 0.7+10 = 10.7 and (20-10.7)·100 s.
		"a part of a token", "1/10s burst=10", "1/100s burst=20",
		[]step{taking(10), waiting(7 * time.Second)},
		holds(1930*time.Second, 0), holds(1860*time.Second, 1), holds(930*time.Second, 10), holds(0, 20),
	},
	{
		// 1 of 3. 1·10/3 = 3 1/3, and 6 2/3 more; 1+7 = 8.
		"rounded down", "1/1h burst=3", "1/1h burst=10",
		[]step{taking(2)},
		holds(9*time.Hour, 1), holds(6*time.Hour+40*time.Minute, 3), holds(2*time.Hour, 8), holds(0, 10),
	},
	{
		// 3-4 = -1. -1·10/3 = -3 1/3 is -4 and 2/3 of a token; 13 1/3 more. -1+7 = 6.
		"a debt rounded down", "1/1h burst=3", "1/1h burst=10",
		[]step{forcing(4)},
		holds(11*time.Hour, -1), holds(13*time.Hour+20*time.Minute, -4), holds(4*time.Hour, 6), holds(0, 10),
	},
	{
		// 4 of 10, and 50 s of a period, which goes on. 16 lacking are 6 threes: 6·120-50 = 670 s. 4·20/10 = 8 lacks 12,
		// 4 threes: 430 s. 4+10 = 14 lacks 6, 2 threes: 190 s.
		"a period that has begun", "2/1m interval burst=10", "3/2m interval burst=20",
		[]step{taking(6), waiting(50 * time.Second)},
		holds(670*time.Second, 4), holds(430*time.Second, 8), holds(190*time.Second, 14), holds(0, 20),
	},
	{
		// 4 of 10; 50 s of a period are no part of a token. 4·100/10 = 40; 4+90 = 94.
		"interval to greedy", "2/1m interval burst=10", "1/1s burst=100",
		[]step{taking(6), waiting(50 * time.Second)},
		holds(96*time.Second, 4), holds(60*time.Second, 40), holds(6*time.Second, 94), holds(0, 100),
	},
	{
		// 0.7 of a token is no part of a period. 100 lacking are 10 tens, 10 min. 0.7·100/10 = 7 lacks 93, 10 tens. 0+90 lacks 10.
		"greedy to interval", "1/10s burst=10", "10/1m interval burst=100",
		[]step{taking(10), waiting(7 * time.Second)},
		holds(10*time.Minute, 0), holds(10*time.Minute, 7), holds(time.Minute, 90), holds(0, 100),
	},
	{
		// At 12:00:09, 31 s before the new boundary, which brings 20 at once. 2 of 10; 2·20/10 = 4; 2+10 = 12.
		"aligned keeps its own boundaries", "10/1m aligned=2026-03-01T00:00:25Z", "20/1m aligned=2026-03-01T00:00:40Z",
		[]step{taking(8), waiting(9 * time.Second)},
		holds(31*time.Second, 2), holds(31*time.Second, 4), holds(31*time.Second, 12), holds(0, 20),
	},
	{
		// 9 s are 0.9 of a token, of which an aligned one holds no part; the boundary is 16 s ahead. 0.9·20/10 = 1.8.
		"greedy to aligned", "1/10s burst=10", "20/1m aligned=2026-03-01T00:00:25Z",
		[]step{taking(10), waiting(9 * time.Second)},
		holds(16*time.Second, 0), holds(16*time.Second, 1), holds(16*time.Second, 10), holds(0, 20),
	},
	{
		// The hour holds 93 of 100 and the minute 3 of 10, whatever their order. 186 of 200 and 6 of 20; 193 and 13. The hour
		// that began with the take fills the first.
		"paired by id", "10/1m interval id=minute; 100/1h interval id=hour", "200/1h interval id=hour; 20/1m interval id=minute",
		[]step{taking(7)},
		holds(time.Hour, 93, 3), holds(time.Hour, 186, 6), holds(time.Hour, 193, 13), holds(0, 200, 20),
	},
	{
		// 20 of 100 before. Who has no partner starts at the smaller of its initial tokens and 20, under each strategy but
		// reset. The last lacks 58, one an hour. 20·200/100 = 40; 20+100 = 120.
		"new bandwidths", "1/1s burst=100", "1/1s burst=200; 1/1h interval burst=50 id=new; 1/1h interval burst=60 initial=2 id=poor",
		[]step{taking(80)},
		holds(58*time.Hour, 20, 20, 2), holds(58*time.Hour, 40, 20, 2), holds(58*time.Hour, 120, 20, 2), holds(58*time.Hour, 200, 50, 2),
	},
	{
		// The day holds 93 of 100, though 3 were available before: an operator or a newer version may hand out. One in 900 s.
		"a bandwidth less", "4/1h burst=100 id=day; 1/1s burst=10 id=burst", "4/1h burst=100 id=day",
		[]step{taking(7)},
		holds(6300*time.Second, 93), holds(6300*time.Second, 93), holds(6300*time.Second, 93), holds(0, 100),
	},
}

func taking(n int64) step {
	return func(t *testing.T, b bucket.Bucket, _ *clock) {
		if ok, err := b.TryConsume(t.Context(), n); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

func forcing(n int64) step {
	return func(t *testing.T, b bucket.Bucket, _ *clock) {
		if _, err := b.Force(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

func crediting(n int64) step {
	return func(t *testing.T, b bucket.Bucket, _ *clock) {
		if _, err := b.ForceAdd(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

func waiting(d time.Duration) step {
	return func(_ *testing.T, _ bucket.Bucket, c *clock) { c.advance(d) }
}

// The numbers are the same wherever the bucket is, and whether the operator or a
// newer version puts the configuration in force.
func TestC47StrategiesEverywhere(t *testing.T) {
	now := newClock()
	clientClock := redis.WithClientClock(now.now, 0)
	rdb, prefix := shared(t)
	stores := map[string]proxy.Backend{
		"memory": memory.New(memory.WithClock(now.now)),
		"script": goredis.New(rdb, clientClock),
		"swap":   goredis.New(rdb, clientClock, redis.WithCompareAndSwap()),
	}
	for name, backend := range stores {
		m := manage(t, backend, prefix, proxy.WithExpiration(longLife))
		keys := 0
		bucketOf := func(c bucket.Configuration) bucket.Bucket { return m.Bucket(fmt.Sprint(name, keys), c) }
		t.Run(name+" explicit", func(t *testing.T) {
			eachConversion(t, now, func(c conversion, strategy bucket.Inheritance) bucket.Bucket {
				keys++
				b := c.begin(t, now, bucketOf)
				replaces(t, b, c, strategy)
				return bucketOf(bucket.Must(bucket.Parse(c.to)))
			})
		})
		t.Run(name+" implicit", func(t *testing.T) {
			eachConversion(t, now, func(c conversion, strategy bucket.Inheritance) bucket.Bucket {
				keys++
				c.begin(t, now, bucketOf)
				newer := bucketOf(versioned(bucket.Must(bucket.Parse(c.to)), 1, strategy))
				c.check(t, strategy, newer) // by a read, which leaves no trace
				if p, err := newer.Consume(t.Context(), math.MaxInt64); !p.Never || err != nil {
					t.Error(p.Never, err) // a refusal puts it in force
				}
				return newer
			})
		})
	}
	t.Run("local explicit", func(t *testing.T) {
		eachConversion(t, now, func(c conversion, strategy bucket.Inheritance) bucket.Bucket {
			b := c.begin(t, now, func(from bucket.Configuration) bucket.Bucket {
				return bucket.New(from, bucket.WithClock(now.now)).Bucket()
			})
			replaces(t, b, c, strategy)
			return b
		})
	})
}

// eachConversion carries out every conversion by every strategy and checks what
// the bucket then tells.
func eachConversion(t *testing.T, now *clock, convert func(conversion, bucket.Inheritance) bucket.Bucket) {
	for _, c := range conversions {
		for strategy := bucket.AsIs; strategy <= bucket.Reset; strategy++ {
			now.set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			c.check(t, strategy, convert(c, strategy))
		}
	}
}

// begin makes the bucket and lets happen to it what comes before.
func (c conversion) begin(t *testing.T, now *clock, bucketOf func(bucket.Configuration) bucket.Bucket) bucket.Bucket {
	b := bucketOf(bucket.Must(bucket.Parse(c.from)))
	for _, happens := range c.before {
		happens(t, b, now)
	}
	return b
}

func replaces(t *testing.T, b bucket.Bucket, c conversion, strategy bucket.Inheritance) {
	t.Helper()
	if err := b.Replace(t.Context(), bucket.Must(bucket.Parse(c.to)), strategy); err != nil {
		t.Errorf("%s, %v: %v", c.name, strategy, err)
	}
}

func (c conversion) check(t *testing.T, strategy bucket.Inheritance, b bucket.Bucket) {
	t.Helper()
	s, err := b.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tokens := make([]int64, s.Configuration.Len())
	for i := range tokens {
		tokens[i] = s.TokensOf(i)
	}
	want := map[bucket.Inheritance]held{
		bucket.AsIs: c.asIs, bucket.Proportional: c.proportional, bucket.Additive: c.additive, bucket.Reset: c.anew,
	}[strategy]
	if got := holds(s.TimeToFull, tokens...); got != want {
		t.Errorf("%s, %v: got %s, want %s", c.name, strategy, got, want)
	}
}
