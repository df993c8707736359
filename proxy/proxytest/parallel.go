package proxytest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// together releases n goroutines at once and waits for them.
func together(n int, run func(i int)) {
	var ready, done sync.WaitGroup
	barrier := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-barrier
			run(i)
		})
	}
	ready.Wait()
	close(barrier)
	done.Wait()
}

// crowd is one bucket as seen by many at once: through one handle, or each one
// through a manager of its own.
type crowd struct {
	*scene
	handles []*checked
}

const callers = 100

// each has every caller do something with its handle, all at once. A caller
// returns a number, and the sum of them is returned.
func (c *crowd) each(what string, call func(i int64, b bucket.Bucket) (int64, error)) int64 {
	c.Helper()
	var sum atomic.Int64
	together(callers, func(i int) {
		n, err := call(int64(i), c.handles[i%len(c.handles)])
		if err != nil {
			c.Errorf("%s, caller %d: %v", what, i, err)
		}
		sum.Add(n)
	})
	return sum.Load()
}

func (c *crowd) has(n int64) {
	c.Helper()
	for _, b := range c.handles {
		b.has(n)
	}
}

// crowdTests are what must hold however calls interleave. The clock stands
// still, so that nothing is refilled.
var crowdTests = []struct {
	name     string
	local    int // repetitions in this process
	remote   int // and where compare-and-swap makes a crowd slow
	capacity int64
	run      func(*crowd)
}{
	{"C11 no more than the capacity, from the first use on", 50, 50, 10, func(c *crowd) {
		taken := c.each("TryConsume", func(_ int64, b bucket.Bucket) (int64, error) {
			ok, err := b.TryConsume(c.ctx, 1)
			if ok {
				return 1, err
			}
			return 0, err
		})
		if taken != 10 {
			c.Errorf("%d of %d callers were served, want 10", taken, callers)
		}
		c.has(0)
	}},
	{"C11 with costs of all sizes", 10, 3, 200, func(c *crowd) {
		var smallest atomic.Int64
		smallest.Store(1000)
		taken := c.each("Consume", func(i int64, b bucket.Bucket) (int64, error) {
			cost := 1 + i*37%19
			p, err := b.Consume(c.ctx, cost)
			for was := smallest.Load(); !p.Consumed && cost < was && !smallest.CompareAndSwap(was, cost); was = smallest.Load() {
			}
			return p.Tokens, err
		})
		c.has(200 - taken)
		// Nothing comes back, so whoever was refused would be refused now too.
		if left := 200 - taken; smallest.Load() <= left {
			c.Errorf("a cost of %d was refused, and %d tokens are left", smallest.Load(), left)
		}
	}},
	{"parallel takes of what there is come to the capacity", 10, 3, 333, func(c *crowd) {
		taken := c.each("ConsumeUpTo", func(i int64, b bucket.Bucket) (int64, error) {
			p, err := b.ConsumeUpTo(c.ctx, 1+i%7)
			return p.Tokens, err
		})
		if taken != 333 {
			c.Errorf("took %d of 333", taken)
		}
		c.has(0)
	}},
	{"parallel takes and returns lose nothing", 10, 3, 1_000_000, func(c *crowd) {
		c.handles[0].takes(500_000)
		change := c.each("Add and Consume", func(i int64, b bucket.Bucket) (int64, error) {
			if i%2 == 0 {
				_, err := b.Add(c.ctx, i)
				return i, err
			}
			p, err := b.Consume(c.ctx, i)
			return -p.Tokens, err
		})
		c.has(500_000 + change)
	}},
	{"parallel looks see whole answers", 3, 3, 100, func(c *crowd) {
		c.each("Consume and Inspect", func(i int64, b bucket.Bucket) (int64, error) {
			if i%2 == 0 {
				_, err := b.Consume(c.ctx, 1)
				return 0, err
			}
			p, err := b.Inspect(c.ctx)
			if err == nil && (p.RemainingTokens < 50 || p.RemainingTokens > 100 || p.RemainingTokens != p.TokensOf(0)) {
				err = fmt.Errorf("saw %s", told(p.Probe))
			}
			return 0, err
		})
		c.has(50)
	}},
}

// parallelBucketTests are the crowd at one handle.
var parallelBucketTests = func() (tests []bucketTest) {
	for _, test := range crowdTests {
		tests = append(tests, bucketTest{test.name, func(s *scene) {
			for range s.either(test.local, 1) {
				test.run(&crowd{s, []*checked{s.bucket(greedy(test.capacity, 1, time.Hour))}})
			}
		}})
	}
	return tests
}()

// parallelTests are the crowd at several managers.
var parallelTests = func() (tests []storeTest) {
	for _, test := range crowdTests {
		tests = append(tests, storeTest{test.name + ", from several managers", func(s *store) {
			c := bucket.MustConfiguration(greedy(test.capacity, 1, time.Hour))
			managers := []*proxy.Manager{s.manager(), s.manager(), s.manager()}
			for i := range s.either(test.local, test.remote) {
				many := crowd{scene: s.scene}
				for _, m := range managers {
					many.handles = append(many.handles, s.on(m, fmt.Sprintf("crowd %d", i), c))
				}
				test.run(&many)
			}
		}})
	}
	return tests
}()
