package bucket_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// The floor is what no local bucket can do without: reading the clock and moving
// a word.
func BenchmarkLocal(b *testing.B) {
	const plenty = 1 << 32
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
		{"one, taken", taker(1, limits(plenty, 1))},
		{"one, refused", taker(5, limits(5, 1))},
		{"three, taken", taker(1, limits(plenty, 3))},
		{"three, refused", taker(5, limits(5, 3))},
		{"each kind, taken", taker(1, bucket.MustConfiguration(
			greedy(plenty, 10, time.Second), interval(plenty, 500, time.Minute), aligned(plenty, 10_000, time.Hour),
		))},
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

// taker takes n tokens of a new bucket again and again.
func taker(n int64, c bucket.Configuration) func() bool {
	l := bucket.New(c)
	return func() bool { return l.TryConsume(n) }
}
