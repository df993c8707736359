package memory_test

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// heap is what is in use after collecting garbage. Two rounds empty the pools.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMillions(t *testing.T) {
	keys := 1_000_000
	if raceDetector || testing.Short() {
		keys = 100_000
	}

	t.Run("C54 no call sweeps much", func(t *testing.T) {
		var now clock
		b := memory.New(memory.WithClock(now.Now))
		m := manager(t, b)
		quickly, slowly := greedy(10, 10, time.Second), greedy(1<<40, 1, time.Hour)
		for i := range keys {
			take(t, m.Bucket("ip:"+strconv.Itoa(i), quickly), 1)
		}
		now.at(2 * time.Second) // all of them have expired
		const most = 68
		var took []time.Duration
		for i := 0; b.Len() > keys/100; i++ {
			call := func() {
				other := m.Bucket("other "+strconv.Itoa(len(took)%1000), slowly)
				begun := time.Now()
				take(t, other, 1)
				took = append(took, time.Since(begun))
			}
			for range 49 {
				call()
			}
			held := b.Len()
			call()
			if swept := held - b.Len(); swept > most {
				t.Fatalf("a call swept %d keys", swept)
			}
			if i > keys {
				t.Fatalf("holds %d keys after %d calls", b.Len(), len(took))
			}
		}
		slices.Sort(took)
		t.Logf("%d takes during the sweep of %d keys: half within %v, 99 %% within %v, 99.9 %% within %v, all within %v",
			len(took), keys, took[len(took)/2], took[len(took)*99/100], took[len(took)*999/1000], took[len(took)-1])
	})

	t.Run("C54 a key costs the same whatever its limit", func(t *testing.T) {
		var costs []float64
		for _, capacity := range []int64{10, 1_000_000_000} {
			before := heap()
			b := memory.New()
			m := manager(t, b)
			c := greedy(capacity, 1, time.Hour)
			text := 0
			for i := range keys {
				key := "ip:" + strconv.Itoa(i)
				text += len(key)
				take(t, m.Bucket(key, c), 1)
			}
			cost := float64(heap()-before) / float64(keys)
			t.Logf("capacity %d: %.1f bytes of heap a key, of which its text is %.1f", capacity, cost, float64(text)/float64(keys))
			costs = append(costs, cost)
			if beside := cost - float64(text)/float64(keys); beside > 90 {
				t.Errorf("a key costs %.1f bytes beside its text", beside)
			}
			runtime.KeepAlive(b)
		}
		if ratio := costs[1] / costs[0]; ratio < 0.95 || ratio > 1.05 {
			t.Errorf("the greater limit costs %.3f times as much", ratio)
		}
	})
}

func TestForgetting(t *testing.T) {
	t.Run("C19 keys that are full again are forgotten, and no others", func(t *testing.T) {
		keys := 1_000_000
		if raceDetector || testing.Short() {
			keys = 100_000
		}
		var now clock
		b := memory.New(memory.WithClock(now.Now))
		m := manager(t, b)

		const slow = 10_000
		slowly, quickly := greedy(10, 10, time.Hour), greedy(10, 10, time.Second)
		for i := range slow {
			take(t, m.Bucket("slow "+strconv.Itoa(i), slowly), 10)
		}
		before := heap()
		for i := range keys {
			take(t, m.Bucket("ip:"+strconv.Itoa(i), quickly), 1)
		}
		// A full bucket is forgotten 100 ms after its take. None has passed.
		if n := b.Len(); n != slow+keys {
			t.Errorf("holds %d keys of %d", n, slow+keys)
		}
		filled := heap()

		// Traffic on a single key sweeps all of them.
		now.at(2 * time.Second)
		one := m.Bucket("one", slowly)
		calls := 0
		for b.Len() > slow+slow/100 && calls < 10*keys {
			for range 1000 {
				take(t, one, 1)
				calls++
			}
		}
		t.Logf("%d keys swept by %d calls; heap %d KiB, with all keys %d KiB, after %d KiB", keys, calls, before>>10, filled>>10, heap()>>10)
		if n := b.Len(); n > slow+slow/100 {
			t.Errorf("holds %d keys after %d calls, want about %d", n, calls, slow)
		}
		if after := heap(); after > before+before/10 {
			t.Errorf("the heap was %d bytes and is %d", before, after)
		}
		for i := range slow {
			if left := available(t, m.Bucket("slow "+strconv.Itoa(i), slowly)); left != 0 {
				t.Fatalf("bucket %d was drained and has %d tokens after 2 s of an hour", i, left)
			}
		}
	})

	for _, c := range []struct {
		name   string
		rule   expiration.Rule
		config bucket.Configuration
		lives  time.Duration // to the next whole millisecond
	}{
		{"a key lives its time to full", expiration.Rule{}, greedy(10, 10, 10*time.Second), 10 * time.Second},
		{"and as much longer as is to be kept", expiration.TimeToFull(5 * time.Second), greedy(10, 10, 10*time.Second), 15 * time.Second},
		{
			"a version is remembered for a day",
			expiration.Rule{},
			bucket.Must(greedy(10, 10, 10*time.Second).WithVersion(1, bucket.AsIs)), expiration.DefaultRetention + 10*time.Second,
		},
		{
			"or as long as is said",
			expiration.Rule{Retention: time.Hour},
			bucket.Must(greedy(10, 10, 10*time.Second).WithVersion(1, bucket.AsIs)), time.Hour + 10*time.Second,
		},
		{
			"besides what is to be kept",
			expiration.Rule{Retention: time.Second, Keep: time.Minute},
			bucket.Must(greedy(10, 10, 10*time.Second).WithVersion(1, bucket.AsIs)), 71 * time.Second,
		},
		{
			"a start that is not full is remembered too",
			expiration.Rule{},
			greedy(10, 10, time.Second, bandwidth.WithInitialTokens(9)), expiration.DefaultRetention + time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var now clock
			m := manager(t, memory.New(memory.WithClock(now.Now)), proxy.WithExpiration(c.rule))
			b := m.Bucket("key", c.config)
			for take(t, b, 1) > 0 { // the first makes it, the others go the short way
			}
			stored := func() bool {
				t.Helper()
				_, ok, err := m.Configuration(t.Context(), "key")
				if err != nil {
					t.Fatal(err)
				}
				return ok
			}
			end := start.Add(c.lives).Truncate(time.Millisecond).Add(time.Millisecond).Sub(start)
			now.at(end - time.Microsecond)
			if !stored() {
				t.Errorf("the key has gone before %v", end)
			}
			now.at(end)
			if stored() {
				t.Errorf("the key is still there after %v", end)
			}
			initial, _ := c.config.Bandwidth(0).InitialTokens()
			if got := available(t, b); got != initial {
				t.Errorf("a forgotten bucket has %d tokens, want %d of a new one", got, initial)
			}
		})
	}
}
