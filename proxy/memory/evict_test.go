package memory_test

import (
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func TestMaxKeys(t *testing.T) {
	limit := greedy(10, 10, time.Hour)

	t.Run("no more keys are held, and the evicted are counted", func(t *testing.T) {
		for _, most := range []int{1, 7, 1000, 20_000} {
			var now clock
			b := memory.New(memory.WithClock(now.Now), memory.WithMaxKeys(most))
			m := manager(t, b)
			for i := range 3 * most {
				take(t, m.Bucket(strconv.Itoa(i), limit), 1)
				if want := min(i+1, most); (most < 100 || i%1000 == 0) && b.Len() != want {
					t.Fatalf("of %d keys %d are held, want %d", i+1, b.Len(), want)
				}
			}
			if b.Len() != most || b.Evicted() != int64(2*most) {
				t.Errorf("at most %d: holds %d and has evicted %d", most, b.Len(), b.Evicted())
			}
		}
	})

	t.Run("the fullest go first", func(t *testing.T) {
		var now clock
		b := memory.New(memory.WithClock(now.Now), memory.WithMaxKeys(1000))
		m := manager(t, b)
		for i := range 100 {
			take(t, m.Bucket("drained "+strconv.Itoa(i), limit), 10)
		}
		for i := range 10_000 {
			take(t, m.Bucket("flood "+strconv.Itoa(i), limit), 1)
		}
		kept := 0
		for i := range 100 {
			if available(t, m.Bucket("drained "+strconv.Itoa(i), limit)) == 0 {
				kept++
			}
		}
		if kept < 95 {
			t.Errorf("of 100 drained buckets among 900 nearly full ones %d are left", kept)
		}
	})

	t.Run("what has expired is not evicted", func(t *testing.T) {
		var now clock
		b := memory.New(memory.WithClock(now.Now), memory.WithMaxKeys(10))
		m := manager(t, b)
		for i := range 100 {
			now.at(time.Duration(i) * 2 * time.Hour)
			take(t, m.Bucket(strconv.Itoa(i), limit), 1)
		}
		if n := b.Evicted(); n != 0 {
			t.Errorf("%d buckets were evicted, and all were full", n)
		}
	})

	t.Run("places are given back", func(t *testing.T) {
		var now clock
		b := memory.New(memory.WithClock(now.Now), memory.WithMaxKeys(2))
		m := manager(t, b)
		for i := range 100 {
			key := strconv.Itoa(i)
			take(t, m.Bucket(key, limit), 1)
			if i%2 == 0 {
				if err := m.Bucket(key, limit).Reset(t.Context()); err != nil {
					t.Error(err)
				}
			} else if removed, err := m.Remove(t.Context(), key); err != nil || !removed {
				t.Errorf("removed: %v, %v", removed, err)
			}
		}
		if n := b.Evicted(); n != 0 {
			t.Errorf("%d buckets were evicted where never two were held", n)
		}
	})

	t.Run("looking takes no place", func(t *testing.T) {
		b := memory.New(memory.WithMaxKeys(1))
		m := manager(t, b)
		take(t, m.Bucket("key", limit), 10)
		for i := range 100 {
			available(t, m.Bucket(strconv.Itoa(i), limit))
			take(t, m.Bucket(strconv.Itoa(i), limit), 11)
		}
		if left := available(t, m.Bucket("key", limit)); left != 0 || b.Evicted() != 0 {
			t.Errorf("%d tokens left, %d evicted", left, b.Evicted())
		}
	})

	t.Run("many callers at once", func(t *testing.T) {
		const most, callers, rounds = 50, 8, 5000
		var now clock
		b := memory.New(memory.WithClock(now.Now), memory.WithMaxKeys(most))
		m := manager(t, b)
		var granted atomic.Int64
		together(callers, func(n int) {
			for i := range rounds {
				granted.Add(take(t, m.Bucket(strconv.Itoa((i*(n+1))%200), limit), 1))
			}
		})
		if n := b.Len(); n > most {
			t.Errorf("holds %d keys, want at most %d", n, most)
		}
		// Every bucket's life ends in an eviction, or is going on.
		if lives := b.Evicted() + most; granted.Load() > 10*lives {
			t.Errorf("%d lives of 10 tokens granted %d", lives, granted.Load())
		}
	})

	t.Run("a bound below 1 is an error", func(t *testing.T) {
		for _, n := range []int{0, -1} {
			_, err := proxy.NewManager(memory.New(memory.WithMaxKeys(n), memory.WithClock(nil)))
			var bad *bucket.ArgumentError
			if !errors.As(err, &bad) || bad.Field != "max keys" || bad.Value != n {
				t.Errorf("%d: got %v", n, err)
			}
		}
	})
}
