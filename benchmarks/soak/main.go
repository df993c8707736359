// Command soak keeps a memory manager busy for minutes: steady traffic on many
// keys, and bursts of keys that come once. It watches the heap, the goroutines,
// the keys held and how long takes take, prints a table, and draws a chart.
//
//	make soak (KEYS=1000000 LENGTH=5m)
//
// What it should show: heap and keys come back after each burst, nothing grows
// from burst to burst, and no take waits for a sweep.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func main() {
	s := soak{}
	flag.IntVar(&s.keys, "keys", 1_000_000, "how many keys the steady traffic has; as many come once in each burst")
	flag.DurationVar(&s.length, "length", 5*time.Minute, "how long it takes")
	flag.IntVar(&s.bursts, "bursts", 5, "how many bursts there are")
	picture := flag.String("picture", "docs/img/benchmarks/soak.svg", "where to draw the chart")
	flag.Parse()
	if err := s.run(*picture); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is a run and what it has seen.
type soak struct {
	keys, bursts int
	length       time.Duration
	backend      *memory.Backend
	manager      *proxy.Manager
	timed        timings
	takes        atomic.Int64
	samples      []sample
}

// sample is what is so at one time of the run.
type sample struct {
	at         time.Duration
	heap       uint64
	goroutines int
	held       int
	takes      int64
	spread     spread
}

func (s *soak) run(picture string) error {
	if s.keys < 1 || s.bursts < 1 || s.length < time.Duration(s.bursts)*time.Second {
		return fmt.Errorf("keys %d, bursts %d, length %v: want 1 or more of each, and a second or more for each burst", s.keys, s.bursts, s.length)
	}
	s.backend = memory.New()
	var err error
	if s.manager, err = proxy.NewManager(s.backend); err != nil {
		return err
	}
	defer s.manager.Close()
	ctx, cancel := context.WithTimeout(context.Background(), s.length)
	defer cancel()
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() { s.steady(ctx) })
	}
	done.Go(func() { s.burst(ctx) })
	s.watch(ctx)
	done.Wait()
	fmt.Print(s.table())
	return s.draw(picture)
}

// steady takes from the same keys again and again, some far more often than
// others. A bucket remembers one take for a twentieth of the run.
func (s *soak) steady(ctx context.Context) {
	c := limit(10, s.length/2)
	keys := rand.NewZipf(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), 1.01, 1, uint64(s.keys-1))
	for ctx.Err() == nil {
		for range 1000 {
			s.take(ctx, "user:"+strconv.FormatUint(keys.Uint64(), 10), c)
		}
		time.Sleep(time.Millisecond) // not all there is of the processors
	}
}

// burst has many keys come once, in the first fifth of each part of the run.
// They are forgotten after a tenth of it.
func (s *soak) burst(ctx context.Context) {
	part := s.length / time.Duration(s.bursts)
	c := limit(1, part/10)
	begun := time.Now()
	for n := range s.bursts {
		start := begun.Add(time.Duration(n)*part + part/5)
		sleep(ctx, time.Until(start))
		for i := range s.keys {
			if ctx.Err() != nil {
				return
			}
			s.take(ctx, "burst "+strconv.Itoa(n)+":"+strconv.Itoa(i), c)
			if due := start.Add(part / 5 * time.Duration(i) / time.Duration(s.keys)); i%1000 == 0 {
				sleep(ctx, time.Until(due))
			}
		}
	}
}

func limit(n int64, period time.Duration) bucket.Configuration {
	return bucket.MustConfiguration(bandwidth.Must(bandwidth.New(n, bandwidth.Greedy(n, period))))
}

// take takes a token; one take in 16 is timed.
func (s *soak) take(ctx context.Context, key string, c bucket.Configuration) {
	b := s.manager.Bucket(key, c)
	if s.takes.Add(1)%16 > 0 {
		_, _ = b.TryConsume(ctx, 1) // which fails only at the end
		return
	}
	begun := time.Now()
	_, _ = b.TryConsume(ctx, 1)
	s.timed.add(time.Since(begun))
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watch samples until the end. Garbage is collected before each sample, so that
// the heap is what is in use.
func (s *soak) watch(ctx context.Context) {
	const samples = 100
	begun, last := time.Now(), int64(0)
	for n := range samples {
		sleep(ctx, time.Until(begun.Add(s.length*time.Duration(n+1)/samples)))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		takes := s.takes.Load()
		s.samples = append(s.samples, sample{
			at: time.Since(begun), heap: m.HeapAlloc, goroutines: runtime.NumGoroutine(), held: s.backend.Len(),
			takes: takes - last, spread: s.timed.spread(),
		})
		last = takes
		if (n+1)%(samples/20) == 0 {
			fmt.Fprintln(os.Stderr, s.samples[n])
		}
	}
}

func (s sample) String() string {
	return fmt.Sprintf("%6v  %9d keys  %5d MiB  %2d goroutines  p50 %v, p99 %v, p99.9 %v",
		s.at.Round(time.Second), s.held, s.heap>>20, s.goroutines, s.spread.half, s.spread.most, s.spread.nearlyAll)
}

// timings are how long takes have taken since they were last asked for.
type timings struct {
	mu  sync.Mutex
	all []time.Duration
}

// spread is how long half of the takes, 99 % and 99.9 % of them took at most.
type spread struct{ half, most, nearlyAll time.Duration }

func (t *timings) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}
