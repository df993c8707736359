package redis_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// A damaged configuration that only Go can tell is lost to many callers at once:
// each replaces it or comes after one that has, and none wipes out the others.
func TestALostBucketIsReplacedOnce(t *testing.T) {
	// Two tokens in two hours: a rate that is not in lowest terms.
	damaged := "\xc1\x01\x01\x0a\x02\xcf\x00\x00\x00\x01\xad\x27\x48\x00\x00\x0a\x00"
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		options := []redis.Option{redis.WithoutCoalescing()}
		if mode != nil {
			options = append(options, mode)
		}
		m := manage(t, goredis.New(rdb, options...), prefix)
		for range 20 {
			if err := rdb.Set(t.Context(), prefix+"k", damaged, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			b := m.BucketFunc("k", func(context.Context) (bucket.Configuration, error) { return perHour(t, 10), nil })
			var granted atomic.Int64
			var wg sync.WaitGroup
			for range 40 {
				wg.Go(func() {
					ok, err := b.TryConsume(t.Context(), 1)
					if err != nil {
						t.Error(err)
					}
					if ok {
						granted.Add(1)
					}
				})
			}
			wg.Wait()
			if n := granted.Load(); n != 10 {
				t.Fatalf("%d granted of 10", n)
			}
		}
	})
}

// Takes that share a call may come from managers with different rules: the key
// lives as long as each would have it.
func TestARunOfTakesLivesByTheLongestRule(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		limit := bucket.Must(perHour(t, 10).WithVersion(1, bucket.AsIs))
		take := bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}}
		ds := decide(t, on(t, rdb, mode),
			proxy.Charge{Key: prefix + "k", Request: take, Rule: expiration.Rule{Retention: time.Second}},
			proxy.Charge{Key: prefix + "k", Request: take, Rule: expiration.Rule{Keep: time.Hour, Retention: 100 * time.Hour}},
			proxy.Charge{Key: prefix + "k", Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 11}}},
		)
		for _, d := range ds {
			if d.Err != nil {
				t.Fatal(d.Err)
			}
		}
		if got := life(t, rdb, prefix+"k"); got < 103*time.Hour {
			t.Errorf("the key lives %v, want what the longest rule adds to two hours: 101h", got)
		}
	})
}

// What the scripts cannot do keeps its place among what they can, once the server
// knows them.
func TestABatchKeepsItsOrder(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		small, large := perHour(t, 10), bucket.Must(perHour(t, 30).WithVersion(1, bucket.AsIs))
		charge := func(c bucket.Configuration, op bucket.Operation) proxy.Charge {
			return proxy.Charge{Key: prefix + "k", Request: bucket.Request{Config: c, Op: op}}
		}
		b := goredis.New(rdb, mode)
		take(t, manage(t, b, prefix).Bucket("small", small), 1, true)
		take(t, manage(t, b, prefix).Bucket("large", large), 1, true)
		ds := decide(t, b,
			charge(small, bucket.Operation{Kind: bucket.OpConsume, Tokens: 4}),
			charge(large, bucket.Operation{Kind: bucket.OpReplace, Strategy: bucket.Reset}),
			charge(large, bucket.Operation{Kind: bucket.OpConsume, Tokens: 7}),
			charge(large, bucket.Operation{Kind: bucket.OpInspect}),
		)
		for i, want := range []int64{6, 30, 23, 23} {
			if ds[i].Err != nil || ds[i].Results[0].RemainingTokens != want {
				t.Errorf("decision %d (notes %d): %d left, %v; want %d", i, ds[i].Notes, ds[i].Results[0].RemainingTokens, ds[i].Err, want)
			}
		}
	})
}

// witness remembers what the last script that decided saw.
type witness struct {
	rdb  *client.Client
	seen redis.Reply
}

// isSwap tells that a call is one of compare-and-swap.
func isSwap(c *redis.Call) bool {
	return strings.Contains(c.Script.Source, "Replaces what a caller has seen")
}

func (w *witness) Run(ctx context.Context, calls []redis.Call, _ bool) {
	for i := range calls {
		args := []any{"EVAL", calls[i].Script.Source, 1, calls[i].Key}
		for _, a := range calls[i].Args {
			args = append(args, a)
		}
		v, err := w.rdb.Do(ctx, args...).Result()
		if err == nil {
			calls[i].Reply, err = redis.ParseReply(v)
		}
		calls[i].Err = err
		if !isSwap(&calls[i]) {
			w.seen = calls[i].Reply
		}
	}
}

// On the server's own clock, as in production: whatever is stored, what is left
// and when it expires is what Go works out from the instant of the script.
func TestServerClockScriptsAgree(t *testing.T) {
	trials := 4000
	if testing.Short() {
		trials = 500
	}
	rdb, prefix := shared(t)
	w := &witness{rdb: rdb}
	b := redis.New(w, redis.WithoutCoalescing())
	r := edgy{rand.New(rand.NewPCG(55, 1))}
	inScript := 0
	for range trials {
		now, err := rdb.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		a := &against{now: now.UnixMicro()}
		tr := r.roughly(prefix+"k", a)
		if tr.stored == nil {
			err = rdb.Del(t.Context(), prefix+"k").Err()
		} else {
			err = rdb.Set(t.Context(), prefix+"k", tr.stored, time.Hour).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		d := decide(t, b, tr.charge)[0]
		if d.Notes&proxy.HandedOver == 0 {
			inScript++
		} else {
			continue // decided here
		}
		want := []proxy.Decision{{Charges: []proxy.Charge{tr.charge}, Results: make([]bucket.Result, 1)}}
		after := proxy.Replay(codec.MessagePack{}, want, proxy.Stored{Bytes: w.seen.Bytes, At: bucket.Moment{Now: w.seen.Now}})
		if d.Err != nil || !same(d.Results[0], want[0].Results[0]) {
			t.Fatalf("%+v on % x at %d:\n got %+v, %v\nwant %+v", tr.charge, tr.stored, w.seen.Now, d.Results[0], d.Err, want[0].Results[0])
		}
		left, err := rdb.Get(t.Context(), prefix+"k").Bytes()
		if err != nil && err != client.Nil {
			t.Fatal(err)
		}
		expires := rdb.Do(t.Context(), "PEXPIRETIME", prefix+"k").Val().(int64)
		next := tr.stored
		switch after.Change {
		case bucket.Write:
			next = encoded(after.Next)
			if end := after.Life.Until(w.seen.Now) / 1000; expires != end {
				t.Fatalf("%+v on % x at %d: expires at %d, want %d", tr.charge, tr.stored, w.seen.Now, expires, end)
			}
		case bucket.Delete:
			next = nil
		}
		if string(left) != string(next) || (left == nil) != (next == nil) {
			t.Fatalf("%+v on % x at %d:\n    left % x\nwant      % x", tr.charge, tr.stored, w.seen.Now, left, next)
		}
	}
	t.Logf("%d of %d decided in scripts", inScript, trials)
	if inScript < trials/4 {
		t.Error("too few decided in scripts for the test to show anything")
	}
}
