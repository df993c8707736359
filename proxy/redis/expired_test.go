package redis_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC36ExpiredKeyIsANewBucket(t *testing.T) {
	t.Parallel() // it mostly waits
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		b := onClient(t, rdb, prefix, mode).Bucket("k", config(t, 2, bandwidth.Interval(2, 200*time.Millisecond)))
		take(t, b, 1, true)
		p := take(t, b, 1, true)
		time.Sleep(p.TimeToFull + 20*time.Millisecond)
		wantAbsent(t, rdb, prefix+"k")
		if p := take(t, b, 1, true); p.RemainingTokens != 1 {
			t.Errorf("%d left, want 1", p.RemainingTokens)
		}
	})
}

// What happens to the key between the two trips of a swap.
func TestC36SwapAgainstAChangedKey(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(t *testing.T, rdb *client.Client, key string, other proxy.Bucket)
		left      int64
	}{
		{"deleted", func(t *testing.T, rdb *client.Client, key string, _ proxy.Bucket) {
			if err := rdb.Del(context.Background(), key).Err(); err != nil {
				t.Error(err)
			}
		}, 9},
		{"expired", func(t *testing.T, rdb *client.Client, key string, _ proxy.Bucket) {
			if err := rdb.PExpire(context.Background(), key, time.Millisecond).Err(); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Millisecond)
		}, 9},
		{"taken from", func(t *testing.T, _ *client.Client, _ string, other proxy.Bucket) {
			if _, err := other.TryConsume(context.Background(), 3); err != nil {
				t.Error(err)
			}
		}, 4},
		{"drained", func(t *testing.T, _ *client.Client, _ string, other proxy.Bucket) {
			if _, err := other.ConsumeUpTo(context.Background(), 10); err != nil {
				t.Error(err)
			}
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			direct, prefix := shared(t)
			limit := perHour(t, 10)
			other := onClient(t, direct, prefix, nil).Bucket("k", limit)
			take(t, other, 2, true)

			var calls atomic.Int64
			url := through(t, redistest.URL(t), func() meddler {
				return meddler{request: func(b []byte) bool {
					if bytes.Contains(b, []byte("\r\nevalsha")) && calls.Add(1) == 2 {
						tt.meanwhile(t, direct, prefix+"k", other)
					}
					return true
				}}
			})
			b := onClient(t, connect(t, url), prefix, redis.WithCompareAndSwap()).Bucket("k", limit)
			p := take(t, b, 1, tt.left > 0)
			if p.RemainingTokens != tt.left {
				t.Errorf("%d left, want %d", p.RemainingTokens, tt.left)
			}
			wantAvailable(t, other, tt.left)
		})
	}
}

// instants runs calls and remembers the server's instant of each reply that
// decided something.
type instants struct {
	rdb  *client.Client
	last int64
}

func (c *instants) Run(ctx context.Context, calls []redis.Call, _ bool) {
	for i := range calls {
		args := []any{"EVAL", calls[i].Script.Source, 1, calls[i].Key}
		for _, a := range calls[i].Args {
			args = append(args, a)
		}
		v, err := c.rdb.Do(ctx, args...).Result()
		if err == nil {
			calls[i].Reply, err = redis.ParseReply(v)
		}
		// A swap that succeeds keeps what was decided at the instant of the load.
		if !isSwap(&calls[i]) || calls[i].Reply.Done == redis.Undone {
			c.last = calls[i].Reply.Now
		}
		calls[i].Err = err
	}
}

// Keys expire on the server all the time, and no answer differs from that of a
// bucket that never does.
func TestC66ExpiryIsInvisible(t *testing.T) {
	t.Parallel() // it mostly waits
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		c := &instants{rdb: rdb}
		backend := redis.New(c, mode)
		random := rand.New(rand.NewPCG(6, 6))
		limit := config(t, 2, bandwidth.Greedy(2, 30*time.Millisecond))
		charge := proxy.Charge{
			Key: prefix + "k",
			Request: bucket.Request{
				Config: limit,
				Op:     bucket.Operation{Kind: bucket.OpConsume, Tokens: 1},
			},
		}
		var want bucket.Entry
		const least, most = 150, 3000 // rounds, as many as it takes to have seen enough of each
		rounds, granted, absent, toFull := 0, 0, 0, time.Duration(0)
		enough := func() bool {
			return rounds >= least && granted >= 15 && rounds-granted >= 8 && absent >= 8
		}
		for ; rounds < most && !enough(); rounds++ {
			// At any time, but often around the moment of the expiry.
			pause := time.Duration(random.IntN(10_000)) * time.Microsecond
			if random.IntN(3) == 0 {
				pause = toFull + time.Duration(random.IntN(2000)-1000)*time.Microsecond
			}
			time.Sleep(pause)
			d := decide(t, backend, charge)[0]
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			o := bucket.Step(want, charge.Request, bucket.Moment{Now: c.last, Tick: bucket.Microsecond})
			switch o.Change {
			case bucket.Write:
				want = o.Next
			case bucket.Delete:
				want = bucket.Entry{}
			}
			if d.Results[0].Probe != o.Result.Probe {
				t.Fatalf("at %d: got %+v, want %+v", c.last, d.Results[0].Probe, o.Result.Probe)
			}
			if d.Results[0].Consumed {
				granted++
			}
			if !d.Results[0].Existed {
				absent++
			}
			toFull = d.Results[0].TimeToFull
		}
		t.Logf("%d granted of %d, %d found no key", granted, rounds, absent)
		if !enough() {
			t.Error("too few refusals or expired keys for the test to show anything")
		}
	})
}
