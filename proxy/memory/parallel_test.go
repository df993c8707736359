package memory_test

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// together runs a function on n goroutines that start at once.
func together(n int, run func(i int)) {
	var done sync.WaitGroup
	barrier := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-barrier
			run(i)
		})
	}
	close(barrier)
	done.Wait()
}

func TestInsertionRace(t *testing.T) {
	// Many callers come upon the same new keys in the same order.
	const keys, callers, capacity = 3000, 8, 4
	var now clock
	b := memory.New(memory.WithClock(now.Now))
	m := manager(t, b)
	c := greedy(capacity, 1, time.Hour)
	taken := make([]atomic.Int64, keys)
	together(callers, func(int) {
		for i := range taken {
			taken[i].Add(take(t, m.Bucket(strconv.Itoa(i), c), 1))
		}
	})
	for i := range taken {
		if n := taken[i].Load(); n != capacity {
			t.Fatalf("key %d granted %d of %d", i, n, capacity)
		}
	}
	if n := b.Len(); n != keys {
		t.Errorf("holds %d keys of %d", n, keys)
	}
}

func TestRemovalRace(t *testing.T) {
	// A bucket that is removed while others take from it never grants more than
	// each of its lives holds.
	const capacity, rounds = 3, 5000
	var now clock
	m := manager(t, memory.New(memory.WithClock(now.Now)))
	c := greedy(capacity, 1, time.Hour)
	var taken, lives atomic.Int64
	lives.Add(1)
	together(8, func(i int) {
		for range rounds {
			if i > 0 {
				taken.Add(take(t, m.Bucket("key", c), 1))
				continue
			}
			removed, err := m.Remove(t.Context(), "key")
			if err != nil {
				t.Error(err)
			}
			if removed {
				lives.Add(1)
			}
		}
	})
	if taken.Load() > capacity*lives.Load() {
		t.Errorf("%d lives of %d tokens granted %d", lives.Load(), capacity, taken.Load())
	}
	if lives.Load() == 1 {
		t.Error("nothing was ever removed")
	}
}

func TestExpiryRace(t *testing.T) {
	// Callers that come at once upon a key that has expired, to look or to take,
	// come to one new bucket.
	const capacity, rounds, callers = 3, 3000, 8
	var now clock
	m := manager(t, memory.New(memory.WithClock(now.Now)))
	c := greedy(capacity, capacity, time.Millisecond)
	for round := range rounds {
		b := m.Bucket("key", c)
		take(t, b, 1)
		now.at(time.Duration(round+1) * time.Second)
		var taken atomic.Int64
		together(callers, func(i int) {
			if i%2 == 0 {
				available(t, b)
			}
			taken.Add(take(t, b, 1))
		})
		if n := taken.Load(); n != capacity {
			t.Fatalf("round %d granted %d of %d", round, n, capacity)
		}
		now.at(time.Duration(round+1)*time.Second + time.Second/2) // full again
	}
}

func TestSweepRace(t *testing.T) {
	// Buckets that are swept while others take from them grant what ones that
	// are never forgotten would.
	const (
		keys     = 50
		capacity = 3
		period   = time.Millisecond
		length   = 100 * time.Millisecond
	)
	var now clock
	m := manager(t, memory.New(memory.WithClock(now.Now)))
	c := greedy(capacity, capacity, period)
	var taken [keys]atomic.Int64
	var over atomic.Bool
	together(5, func(i int) {
		if i == 0 {
			for at := time.Duration(0); at <= length; at += 50 * time.Microsecond {
				now.at(at)
				for key := range 20 {
					taken[key].Add(take(t, m.Bucket(strconv.Itoa(key), c), 1))
				}
			}
			over.Store(true)
		}
		for n := i; !over.Load(); n += 7 {
			taken[n%keys].Add(take(t, m.Bucket(strconv.Itoa(n%keys), c), 1))
		}
	})
	const most = capacity + int64(capacity*length/period)
	for i := range taken {
		if n := taken[i].Load(); n > most {
			t.Errorf("key %d granted %d in %v, want at most %d", i, n, length, most)
		}
	}
	// Enough calls came for the bound to mean something.
	if n := taken[0].Load(); n < most/2 {
		t.Errorf("key 0 granted only %d of %d", n, most)
	}
}

func TestClosingRace(t *testing.T) {
	b := memory.New()
	m := manager(t, b)
	together(8, func(i int) {
		for n := range 2000 {
			if i == 0 && n == 1000 {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
			_, err := m.Bucket(strconv.Itoa(n%100), greedy(10, 10, time.Hour)).TryConsume(t.Context(), 1)
			if err != nil && !errors.Is(err, proxy.ErrClosed) {
				t.Error(err)
			}
			if n%100 == 0 {
				b.Len()
			}
		}
	})
}
