package redis_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	ways := intoCluster(t, c)
	t.Run("C31 no key is in the wrong slot", func(t *testing.T) { noKeyInTheWrongSlot(t, ways) })
	t.Run("C31 keys spread", func(t *testing.T) { keysSpread(t, c, ways) })
	t.Run("the clock is the owner's", func(t *testing.T) { clockIsTheOwners(t, c, ways) })
	t.Run("C15 scripts forgotten amid pipelines", func(t *testing.T) { forgottenAmidPipelines(t, c, ways) })
}

// everyone is a backend in each way, in each mode.
func everyone(ways []way) (all []*redis.Backend) {
	for _, w := range ways {
		all = append(all, w.backend(), w.backend(redis.WithCompareAndSwap()))
	}
	return all
}

// Each bucket is one key, so what braces do to its slot does no harm, alone or in
// a pipeline with keys of other slots.
func noKeyInTheWrongSlot(t *testing.T, ways []way) {
	keys := []string{"a{b", "a}b", "{}", "{x}y", "{}{x}", "}{", "{", "user:{42}:{7}", "\x00\xff{\xfe}\r\n", "é{ü}", strings.Repeat("{long}", 20)}
	for i := range 1000 - len(keys) {
		keys = append(keys, fmt.Sprint(i))
	}
	const capacity = 100
	limit := perHour(t, capacity)
	prefix := redistest.Prefix(t)
	all := everyone(ways)
	var wg sync.WaitGroup
	for i, backend := range all {
		m := manage(t, backend, prefix)
		wg.Go(func() {
			for n := range 2 * len(keys) {
				key := keys[(n+i*len(keys)/len(all))%len(keys)]
				if ok, err := m.Bucket(key, limit).TryConsume(t.Context(), 1); !ok || err != nil {
					t.Errorf("key %.20q: consumed %t, %v", key, ok, err)
				}
			}
		})
	}
	wg.Wait()
	for taken, backend := range all {
		for i, d := range granted(t, backend, prefix, keys, limit) {
			if left := d.Results[0].RemainingTokens; left != int64(capacity-2*len(all)-taken-1) {
				t.Errorf("key %.20q: %d left after %d takes", keys[i], left, 2*len(all)+taken+1)
			}
		}
	}
}

// batch takes a token of each key in one batch.
func batch(t testing.TB, b proxy.Backend, prefix string, keys []string, limit bucket.Configuration) []proxy.Decision {
	t.Helper()
	charges := make([]proxy.Charge, len(keys))
	for i, key := range keys {
		charges[i] = proxy.Charge{
			Key: prefix + key, Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
		}
	}
	return decide(t, b, charges...)
}

// granted is a batch that fails the test unless every take is granted.
func granted(t testing.TB, b proxy.Backend, prefix string, keys []string, limit bucket.Configuration) []proxy.Decision {
	t.Helper()
	ds := batch(t, b, prefix, keys, limit)
	for i := range ds {
		if d := &ds[i]; d.Err != nil || !d.Results[0].Consumed {
			t.Fatalf("key %.20q: consumed %t, %v", keys[i], d.Results[0].Consumed, d.Err)
		}
	}
	return ds
}

func keysSpread(t *testing.T, c *redistest.Cluster, ways []way) {
	onEachPrimary(t, c, "FLUSHALL", "SYNC")
	all, keys := everyone(ways), make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d", i)
	}
	for i, backend := range all {
		granted(t, backend, "rl:", keys[i*len(keys)/len(all):(i+1)*len(keys)/len(all)], perHour(t, 10))
	}
	used, stored := 0, int64(0)
	for _, s := range c.Primaries {
		cmds, err := connect(t, s.URL()).Pipelined(t.Context(), func(p goclient.Pipeliner) error {
			for slot := range redistest.Slots {
				p.ClusterCountKeysInSlot(t.Context(), slot)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, cmd := range cmds {
			if n := cmd.(*goclient.IntCmd).Val(); n > 0 {
				used, stored = used+1, stored+n
			}
		}
	}
	t.Logf("%d keys in %d slots", stored, used)
	if stored != int64(len(keys)) || used <= 6000 {
		t.Errorf("%d keys in %d slots, want %d in more than 6000", stored, used, len(keys))
	}
}

func onEachPrimary(t testing.TB, c *redistest.Cluster, command ...any) {
	t.Helper()
	for _, s := range c.Primaries {
		if err := connect(t, s.URL()).Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever decides asks no other server what time it is.
func clockIsTheOwners(t *testing.T, c *redistest.Cluster, ways []way) {
	const takes = 20
	inEachWay(t, ways, func(t *testing.T, w way, mode redis.Option) {
		prefix := redistest.Prefix(t)
		b := manage(t, w.backend(mode), prefix).Bucket("k", perHour(t, takes))
		take(t, b, 0, true) // connected
		owner := c.Owner(c.Slot(prefix + "k"))
		for _, s := range c.Primaries {
			commandCalls(t, connect(t, s.URL()))
		}
		for range takes {
			take(t, b, 1, true)
		}
		for i, s := range c.Primaries {
			calls := commandCalls(t, connect(t, s.URL()))
			if i == owner && calls["time"] < takes || i != owner && calls["time"] != 0 {
				t.Errorf("primary %d was asked %d times for the time; the owner is %d", i, calls["time"], owner)
			}
		}
	})
}

// Servers may forget their scripts at any time, in the middle of a pipeline too.
func forgottenAmidPipelines(t *testing.T, c *redistest.Cluster, ways []way) {
	var keys []string
	for i := range 50 {
		keys = append(keys, fmt.Sprint(i))
	}
	const rounds = 8
	limit := perHour(t, 1000)
	inEachWay(t, ways, func(t *testing.T, w way, mode redis.Option) {
		prefix := redistest.Prefix(t)
		var rdbs []*goclient.Client
		for _, s := range c.Primaries {
			rdbs = append(rdbs, connect(t, s.URL()))
		}
		end := load(t, 1, func(_, n int) {
			if err := rdbs[n%len(rdbs)].ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		})
		for range rounds {
			granted(t, w.backend(mode), prefix, keys, limit)
		}
		end()
		for i, d := range granted(t, w.backend(mode), prefix, keys, limit) {
			if left := d.Results[0].RemainingTokens; left != 1000-rounds-1 {
				t.Errorf("key %s: %d left, want %d", keys[i], left, 1000-rounds-1)
			}
		}
	})
}
