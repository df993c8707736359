package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	sluiceredis "github.com/sluice-go/sluice/proxy/redis"
)

// scenario is one kind of work, done by each contender in turn.
type scenario struct {
	name       string
	goroutines []int
	key        func(n int) string
	limit      limit
	contenders []contender
	// beside is whose figures the others are divided by.
	beside string
}

var scenarios = []scenario{
	{
		"One hot key", []int{1, 16, 256}, hotKey, limit{1 << 19}, []contender{
			redisRate,
			sluiceGoRedis("Sluice, go-redis"),
			sluiceGoRedis("Sluice, go-redis, without coalescing", sluiceredis.WithoutCoalescing()),
			sluiceGoRedis("Sluice, go-redis, compare-and-swap", sluiceredis.WithCompareAndSwap()),
			sluiceRueidis("Sluice, rueidis"),
			sluiceRueidis("Sluice, rueidis, without coalescing", sluiceredis.WithoutCoalescing()),
			sluiceRueidis("Sluice, rueidis, compare-and-swap", sluiceredis.WithCompareAndSwap()),
		}, redisRate.name,
	},
	{
		"100,000 keys", []int{1, 16, 256}, manyKeys, limit{1000}, []contender{
			redisRate, bareGoRedis, bareRueidis, sluiceGoRedis("Sluice, go-redis"), sluiceRueidis("Sluice, rueidis"),
		}, redisRate.name,
	},
}

// figures are what one contender has done.
type figures struct {
	perSecond []float64
	errors    int64
	wrong     int64 // tokens granted beyond what was right, negative if too few
}

func (s scenario) measure(addr string, rounds int, length time.Duration) (string, error) {
	got := map[string]*figures{}
	id := func(c contender, goroutines int) string { return fmt.Sprint(c.name, "/", goroutines) }
	for round := range rounds {
		for _, g := range s.goroutines {
			for _, c := range s.contenders {
				f := got[id(c, g)]
				if f == nil {
					f = &figures{}
					got[id(c, g)] = f
				}
				if err := s.once(addr, c, g, length, f); err != nil {
					return "", fmt.Errorf("%s, %s: %w", s.name, c.name, err)
				}
			}
		}
		fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", s.name, round+1, rounds)
	}
	return s.table(got, id), nil
}

// once has goroutines take tokens for a while.
func (s scenario) once(addr string, c contender, goroutines int, length time.Duration, f *figures) error {
	if err := empty(addr); err != nil {
		return err
	}
	take, done, err := c.open(addr, s.limit)
	if err != nil {
		return err
	}
	defer done()
	ctx := context.Background()
	if _, err := take(ctx, "warm-up"); err != nil {
		return err
	}
	var calls, granted, errors atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	end := begun.Add(length)
	for range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			var n, ok, failed int64
			for time.Now().Before(end) {
				yes, err := take(ctx, s.key(r.IntN(1<<30)))
				n++
				if err != nil {
					failed++
				} else if yes {
					ok++
				}
			}
			calls.Add(n)
			granted.Add(ok)
			errors.Add(failed)
		})
	}
	wg.Wait()
	f.perSecond = append(f.perSecond, float64(calls.Load())/time.Since(begun).Seconds())
	f.errors += errors.Load()
	if s.key(0) == s.key(1) {
		f.wrong += granted.Load() - min(calls.Load(), int64(s.limit.capacity))
	}
	return nil
}

func empty(addr string) error {
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	return c.FlushAll(context.Background()).Err()
}

func (s scenario) table(got map[string]*figures, id func(contender, int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\nThousand decisions a second, and as a multiple of %s.\n\n| |", s.name, s.beside)
	for _, g := range s.goroutines {
		fmt.Fprintf(&b, " %d goroutines | |", g)
	}
	b.WriteString(" errors | granted wrongly |\n|---|")
	b.WriteString(strings.Repeat("---:|", 2*len(s.goroutines)+2) + "\n")
	for _, c := range s.contenders {
		fmt.Fprintf(&b, "| %s |", c.name)
		var errors, wrong int64
		for _, g := range s.goroutines {
			f := got[id(c, g)]
			floor := median(got[fmt.Sprint(s.beside, "/", g)].perSecond)
			fmt.Fprintf(&b, " %.1f | %.2f |", median(f.perSecond)/1000, median(f.perSecond)/floor)
			errors += f.errors
			wrong += f.wrong
		}
		fmt.Fprintf(&b, " %d | %d |\n", errors, wrong)
	}
	return b.String()
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
