package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// work is what goroutines do with a keyed contender.
type work struct {
	name string
	drawing
	limit      limit
	goroutines int
	length     time.Duration
	timed      int // of so many calls one is timed
}

// keyNames are the names of keys as users would have them, with a mark before them that tells contenders apart.
func keyNames(mark string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%suser:%08d", mark, i)
	}
	rand.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] }) // neighbours in rank are none in memory
	return names
}

// draws is how many keys are drawn before the measurement; goroutines go round them from different places.
const draws = 1 << 20

type drawing struct {
	keys int
	zipf bool
}

var drawn = map[drawing][]uint32{}

func (d drawing) draw() []uint32 {
	if drawn[d] != nil {
		return drawn[d]
	}
	source := rand.New(rand.NewPCG(1, 2))
	next := func() uint64 { return source.Uint64N(uint64(d.keys)) }
	if d.zipf {
		next = rand.NewZipf(source, 1.01, 1, uint64(d.keys-1)).Uint64
	}
	all := make([]uint32, draws)
	for i := range all {
		all[i] = uint32(next())
	}
	drawn[d] = all
	return all
}

// step returns what each goroutine does again and again: takes on the keys, one after the other.
func (w work) step(take taker, keys []string) func(worker int, t *tally) {
	ctx := context.Background()
	order := w.draw()
	at := make([]struct {
		next int
		_    [7]int // a cache line each
	}, w.goroutines)
	for i := range at {
		at[i].next = i * (draws / w.goroutines)
	}
	return func(worker int, t *tally) {
		next := at[worker].next
		at[worker].next = next + w.timed
		begun := time.Now()
		t.count(take(ctx, keys[order[next%draws]]))
		t.note(time.Since(begun))
		for i := 1; i < w.timed; i++ {
			t.count(take(ctx, keys[order[(next+i)%draws]]))
		}
	}
}

// run measures a contender that has been opened, on keys that have been filled.
func (w work) run(take taker, keys []string) sample {
	step := w.step(take, keys)
	warm := spin(w.goroutines, w.length/5, step) // connections are made, scripts known
	return w.sample(warm, spin(w.goroutines, w.length, step))
}

// sample is the sample of what has been got, and of what was granted wrongly in it and in the warm-up.
func (w work) sample(warm, got tally) sample {
	s := got.sample()
	s.wrong = float64(warm.granted + got.granted - w.right(warm.calls+got.calls-warm.errors-got.errors))
	return s
}

func (t *tally) count(granted bool, err error) {
	t.calls++
	if granted {
		t.granted++
	}
	if err != nil {
		t.errors++
	}
}

// right is how many of so many calls ought to be granted after each key has been filled.
func (w work) right(calls int64) int64 {
	if w.limit == spent {
		return 0
	}
	return calls
}

// fill takes one token of each key. Nothing is measured here, so a take whose time was over on a machine that stood still
// is made again.
func fill(take taker, keys []string, goroutines int) error {
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			for i := g; i < len(keys) && errs[g] == nil; i += goroutines {
				for range 3 {
					if _, errs[g] = take(context.Background(), keys[i]); errs[g] == nil {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// heap is how many bytes of it are in use.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what the first has only found
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// admitted is how many of twice as many takes a contender grants when 16 goroutines ask for one key at once.
func admitted(take taker, key string, l limit) int64 {
	const goroutines = 16
	got := make(chan int64, goroutines)
	for range goroutines {
		go func() {
			var granted int64
			for range 2 * l.capacity / goroutines {
				if ok, _ := take(context.Background(), key); ok {
					granted++
				}
			}
			got <- granted
		}()
	}
	var sum int64
	for range goroutines {
		sum += <-got
	}
	return sum
}
