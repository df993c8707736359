package bucket_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// The floor is what no local bucket can do without: reading the clock and moving
// a word.
func BenchmarkLocal(b *testing.B) {
	day := 24 * time.Hour
	one := greedy(1<<40, 1_000_000, time.Second)
	base := time.Now()
	var word atomic.Int64
	for _, bench := range []struct {
		name string
		take func() bool
	}{
		{"floor", func() bool {
			old := word.Load()
			return word.CompareAndSwap(old, old+int64(time.Since(base)))
		}},
		{"one", taker(one)},
		{"one, refused", taker(greedy(1, 1, 1000*day))},
		{"three", taker(one, greedy(1<<40, 1_000_000, day), interval(1<<40, 1000, time.Hour))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.take()
			}
		})
		b.Run(bench.name+", parallel", func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					bench.take()
				}
			})
		})
	}
}

func taker(bandwidths ...bandwidth.Bandwidth) func() bool {
	l := bucket.New(bucket.MustConfiguration(bandwidths...))
	return func() bool { return l.TryConsume(1) }
}
