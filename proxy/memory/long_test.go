package memory_test

import (
	"errors"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func TestLongPeriods(t *testing.T) {
	t.Run("C65 a yearly limit stays drained", func(t *testing.T) {
		goroutines := runtime.NumGoroutine()
		m := manager(t, memory.New())
		yearly := m.Bucket("yearly", greedy(5, 5, 365*24*time.Hour))
		if take(t, yearly, 5) != 5 {
			t.Error("refused the first five")
		}
		for i := range 20_000 { // enough for sweeps to come by
			take(t, m.Bucket("other "+strconv.Itoa(i%1000), greedy(5, 5, 290*365*24*time.Hour)), 1)
		}
		if got := available(t, yearly); got != 0 {
			t.Errorf("has %d tokens again", got)
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d goroutines have been started", n-goroutines)
		}
	})

	t.Run("C65 the longest periods, at all times", func(t *testing.T) {
		longest := []bandwidth.Refill{
			bandwidth.Greedy(1, math.MaxInt64),
			bandwidth.Interval(1, math.MaxInt64/1000*1000),
			bandwidth.Aligned(1, math.MaxInt64/1000*1000, start),
		}
		for _, instant := range []time.Time{
			time.UnixMicro(math.MinInt64), time.UnixMicro(-1), time.UnixMicro(0), start, time.UnixMicro(math.MaxInt64 - 1), time.UnixMicro(math.MaxInt64),
		} {
			now := instant
			b := memory.New(memory.WithClock(func() time.Time { return now }))
			m := manager(t, b)
			for _, refill := range longest {
				c := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(math.MaxInt64, refill)))
				for i := range 500 {
					take(t, m.Bucket(strconv.Itoa(i), c), math.MaxInt64)
				}
				for _, now = range []time.Time{time.UnixMicro(math.MaxInt64), time.UnixMicro(math.MinInt64), instant} {
					for i := range 500 {
						take(t, m.Bucket(strconv.Itoa(i), c), 1)
					}
				}
			}
		}
	})
}

func TestClosing(t *testing.T) {
	t.Run("C42 a thousand managers come and go", func(t *testing.T) {
		goroutines := runtime.NumGoroutine()
		for range 1000 {
			b := memory.New()
			m, err := proxy.NewManager(b)
			if err != nil {
				t.Fatal(err)
			}
			handle := m.Bucket("key", greedy(10, 10, time.Hour))
			take(t, handle, 1)
			for range 2 {
				if err := errors.Join(m.Close(), b.Close()); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			if _, err := handle.TryConsume(t.Context(), 1); !errors.Is(err, proxy.ErrClosed) {
				t.Fatalf("a take after Close: %v", err)
			}
			if n := b.Len(); n != 0 {
				t.Fatalf("holds %d keys after Close", n)
			}
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d goroutines are left", n-goroutines)
		}
	})

	t.Run("C42 managers that are dropped leave nothing", func(t *testing.T) {
		goroutines := runtime.NumGoroutine()
		before := heap()
		for range 1000 {
			m, err := proxy.NewManager(memory.New())
			if err != nil {
				t.Fatal(err)
			}
			take(t, m.Bucket("key", greedy(10, 10, time.Hour)), 1)
		}
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d goroutines are left", n-goroutines)
		}
		if after := heap(); after > before+1<<20 {
			t.Errorf("the heap was %d bytes and is %d", before, after)
		}
	})

	t.Run("a backend that is closed fails its other managers", func(t *testing.T) {
		b := memory.New()
		one, other := manager(t, b), manager(t, b)
		take(t, other.Bucket("key", greedy(10, 10, time.Hour)), 1)
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if _, err := other.Bucket("key", greedy(10, 10, time.Hour)).Consume(t.Context(), 1); !errors.Is(err, proxy.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}
