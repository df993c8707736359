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
	const plenty = 1 << 32 // fits the word
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
		{"one, taken", taker(1, greedy(plenty, 10, time.Second))},
		{"one, refused", taker(1, greedy(1, 1, 24*time.Hour))},
		{"three, taken", taker(1, greedy(plenty, 10, time.Second), greedy(plenty, 500, time.Minute), greedy(plenty, 10_000, time.Hour))},
		{"three, refused", taker(10, greedy(10, 10, time.Second), greedy(500, 500, time.Minute), greedy(10, 10, time.Hour))},
		{"each kind, taken", taker(1, greedy(plenty, 10, time.Second), interval(plenty, 500, time.Minute), aligned(plenty, 10_000, time.Hour))},
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

// taker takes from a bucket that holds n tokens less than it could.
func taker(n int64, bandwidths ...bandwidth.Bandwidth) func() bool {
	l := bucket.New(bucket.MustConfiguration(bandwidths...))
	l.TryConsume(n)
	return func() bool { return l.TryConsume(1) }
}
