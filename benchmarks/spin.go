package main

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// tally is what goroutines have done together.
type tally struct {
	calls, granted, errors int64
	latencies              []time.Duration // of some calls, in order of length
	took                   time.Duration
	allocations            uint64
}

// spin has goroutines call step again and again for a while. Each has a tally and a number of its own.
func spin(goroutines int, length time.Duration, step func(worker int, t *tally)) tally {
	var stop atomic.Bool
	var before, after runtime.MemStats
	all := make([]tally, goroutines)
	for i := range all {
		all[i].latencies = make([]time.Duration, 0, max(1<<12, 1<<16/goroutines))
	}
	runtime.ReadMemStats(&before)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			t := all[i] // not beside the others' in one cache line
			for !stop.Load() {
				step(i, &t)
			}
			all[i] = t
		})
	}
	time.Sleep(length)
	stop.Store(true)
	wg.Wait()
	sum := tally{took: time.Since(begun)}
	runtime.ReadMemStats(&after)
	sum.allocations = after.Mallocs - before.Mallocs
	for _, t := range all {
		sum.calls += t.calls
		sum.granted += t.granted
		sum.errors += t.errors
		sum.latencies = append(sum.latencies, t.latencies...)
	}
	slices.Sort(sum.latencies)
	return sum
}

// note keeps a latency as long as that costs no allocation.
func (t *tally) note(d time.Duration) {
	if len(t.latencies) < cap(t.latencies) {
		t.latencies = append(t.latencies, d)
	}
}

// sample is one measurement. What was not measured is not a number.
type sample struct {
	perSecond, p50, p99   float64 // latencies in nanoseconds
	allocations           float64 // a call
	heap                  float64 // bytes a key
	memory                float64 // of the server, bytes a key
	server                float64 // microseconds of the server's time a call
	commands              float64 // that the server is sent for a decision
	errors, wrong         float64 // calls without an answer; tokens granted beyond what is right, negative if too few
	leastShare, mostShare float64 // of the takes, compared with an equal share
	admitted              float64 // of a thousand tokens for which 16 goroutines ask twice
}

var nothing = func() sample {
	nan := math.NaN()
	return sample{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}
}()

func (t tally) sample() sample {
	s := nothing
	s.perSecond = float64(t.calls) / t.took.Seconds()
	s.p50, s.p99 = t.quantile(0.50), t.quantile(0.99)
	s.allocations = float64(t.allocations) / float64(t.calls)
	s.errors = float64(t.errors)
	return s
}

func (t tally) quantile(q float64) float64 {
	if len(t.latencies) == 0 {
		return math.NaN()
	}
	return float64(t.latencies[int(q*float64(len(t.latencies)-1))])
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
