package redis_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// A slot moves to another primary and back, key by key, while both clients take
// in both modes. No take is lost or granted twice, whether it is redirected for
// good (MOVED) or for once (ASK).
func TestSlotMigrationLosesNothing(t *testing.T) {
	const keys, much, few, moves = 60, 1 << 30, 25, 4
	c := redistest.StartCluster(t, 2)
	prefix := redistest.Prefix(t)
	capacity := func(key int) int64 { return []int64{much, few}[key%2] }

	all := everyone(intoCluster(t, c))
	buckets := make([][]proxy.Bucket, len(all))
	for i, backend := range all {
		m := manage(t, backend, prefix)
		for key := range keys {
			buckets[i] = append(buckets[i], m.Bucket(fmt.Sprint("{moves}", key), perHour(t, capacity(key))))
		}
		take(t, buckets[i][0], 0, true) // connected
	}

	var granted [keys]atomic.Int64
	var failed atomic.Int64
	end := load(t, 2*len(all), func(caller, n int) {
		key := (caller + n) % keys
		ok, err := buckets[caller%len(all)][key].TryConsume(t.Context(), 1)
		switch {
		case err != nil:
			failed.Add(1)
			wantKind(t, err, proxy.ErrUnavailable) // so nothing was charged
		case ok:
			granted[key].Add(1)
		case capacity(key) == much:
			t.Error("a take was refused")
		}
	})
	slot := c.Slot(prefix + "{moves}")
	from, to := c.Primaries[slot*2/redistest.Slots], c.Primaries[1-slot*2/redistest.Slots]
	for range moves {
		c.MoveSlot(slot, from, to)
		from, to = to, from
	}
	end()

	sum := int64(0)
	for key := range keys {
		n := granted[key].Load()
		sum += n
		for i := range all {
			wantAvailable(t, buckets[i][key], capacity(key)-n)
		}
		if n > capacity(key) {
			t.Errorf("key %d: %d granted of %d", key, n, capacity(key))
		}
	}
	t.Logf("%d granted, %d failed", sum, failed.Load())
	if sum == 0 {
		t.Error("nothing was granted")
	}
}

// While a slot moves, what is not at its old owner any more, or not yet there, is
// at the new one: alone, and in pipelines with keys that stay.
func TestRedirectionsInPipelines(t *testing.T) {
	c := redistest.StartCluster(t, 2)
	limit := perHour(t, 10)
	inEachWay(t, intoCluster(t, c), func(t *testing.T, w way, mode redis.Option) {
		prefix := redistest.Prefix(t)
		slot := c.Slot(prefix + "{moves}")
		from, to := c.Primaries[slot*2/redistest.Slots], c.Primaries[1-slot*2/redistest.Slots]
		keys := []string{"{moves}old", "stays", "{moves}new", "{moves}newer", "stays too"}
		granted(t, w.backend(mode), prefix, keys[:2], limit)
		left := []int64{8, 8, 9, 9, 9}
		take := func(step string) {
			for i, d := range granted(t, w.backend(mode), prefix, keys, limit) {
				if got := d.Results[0].RemainingTokens; got != left[i] {
					t.Errorf("%s, key %s: %d left, want %d", step, keys[i], got, left[i])
				}
				left[i]--
			}
		}
		c.BeginMove(slot, from, to)
		take("some keys are elsewhere")
		c.MoveSlot(slot, from, to)
		take("all have moved")
		c.MoveSlot(slot, to, from)
		take("all are back")
	})
}
