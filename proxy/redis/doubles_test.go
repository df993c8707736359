package redis_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC12LargeCountsKeepEveryDigit(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		m := on.manager(t, rdb, prefix, mode)
		for _, tt := range []struct {
			name     string
			capacity int64
		}{
			{"2^53+1", 1<<53 + 1}, {"2^53", 1 << 53}, {"2^53-1", 1<<53 - 1}, {"10^15", 1e15}, {"10^14", 1e14}, {"2^63-1", 1<<63 - 1},
		} {
			b := m.Bucket(tt.name, config(t, tt.capacity, bandwidth.Greedy(1, time.Second)))
			if p := take(t, b, 1, true); p.RemainingTokens != tt.capacity-1 {
				t.Errorf("%s: %d left, want %d", tt.name, p.RemainingTokens, tt.capacity-1)
			}
			wantAvailable(t, b, tt.capacity-1)
			if got := stored(t, rdb, prefix+tt.name).State.Levels[0].Tokens; got != tt.capacity-1 {
				t.Errorf("%s: %d stored, want %d", tt.name, got, tt.capacity-1)
			}
		}
	})
}

// The instant of a state may be one that no double holds.
func TestC12FarInstantsAreKept(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		limit := perHour(t, 10)
		b := on.manager(t, rdb, prefix, mode).Bucket("k", limit)
		for _, last := range []int64{1<<60 + 1, 1<<53 + 1, -1<<60 - 1, math.MaxInt64, math.MinInt64} {
			state := encoded(bucket.Entry{Config: limit, State: bucket.State{Last: last, Levels: [8]bucket.Level{{Tokens: 4}}}})
			if err := rdb.Set(t.Context(), prefix+"k", state, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			take(t, b, 1, true)
			got := stored(t, rdb, prefix+"k").State
			want, left := last, int64(3)
			if last < 0 { // long ago: it is full again
				want, left = got.Last, 9
			}
			if got.Last != want || got.Levels[0].Tokens != left {
				t.Errorf("from %d: %d tokens at %d are stored, want %d at %d", last, got.Levels[0].Tokens, got.Last, left, want)
			}
		}
	})
}

// A version is any number, an instant in nanoseconds for instance.
func TestC12LargeVersionsKeepEveryDigit(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		m := on.manager(t, rdb, prefix, mode)
		for _, version := range []int64{1<<53 + 1, 1_772_366_400_123_456_789, 1<<63 - 1} {
			limit := bucket.Must(perHour(t, 10).WithVersion(version, bucket.AsIs))
			for name, first := range map[string]func(proxy.Bucket) error{
				"take": func(b proxy.Bucket) error { return second(b.Consume(t.Context(), 4)) },
				"upto": func(b proxy.Bucket) error { return second(b.ConsumeUpTo(t.Context(), 4)) },
			} {
				key := fmt.Sprintf("%s:%d", name, version)
				b := m.Bucket(key, limit)
				if err := first(b); err != nil {
					t.Fatal(err)
				}
				wantAvailable(t, b, 6)
				if n, err := b.Add(t.Context(), 1); err != nil || n != 7 {
					t.Errorf("%s, version %d: add: %d, %v; want 7", name, version, n, err)
				}
				if c, _, err := m.Configuration(t.Context(), key); err != nil || c.Version() != version {
					t.Errorf("%s: the version stored is %d, %v; want %d", name, c.Version(), err, version)
				}
			}
		}
	})
}

// Each of many small steps in time counts to the microsecond.
func TestC12InstantsKeepEveryMicrosecond(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		steps := 10_000
		if mode != nil {
			steps = 1000 // each is two trips
		}
		now := newClock().now()
		limit := config(t, 3, bandwidth.Greedy(7, 3*time.Millisecond))
		charge := proxy.Charge{
			Key:     prefix + "k",
			Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
			Rule:    longLife,
		}
		b := on(t, rdb, mode, redis.WithClientClock(func() time.Time { return now }, time.Second))

		var want bucket.Entry
		for range steps {
			now = now.Add(100 * time.Nanosecond)
			d := decide(t, b, charge)[0]
			o := bucket.Step(want, charge.Request, bucket.Moment{Now: now.UnixMicro(), Tick: bucket.Microsecond, Lead: 1e6})
			if o.Change == bucket.Write {
				want = o.Next
			}
			if d.Err != nil || d.Results[0] != o.Result {
				t.Fatalf("at %v: got %+v, %v; want %+v", now, d.Results[0].Probe, d.Err, o.Result.Probe)
			}
		}
	})
}
