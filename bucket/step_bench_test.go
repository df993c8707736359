package bucket_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// One decision as a store has it: on a clock of microseconds, every 7 of them. A
// cost of 5 is hardly ever there.
func BenchmarkStep(b *testing.B) {
	const plenty = 1 << 32
	for _, bench := range []struct {
		name   string
		cost   int64
		config bucket.Configuration
	}{
		{"one, taken", 1, limits(plenty, 1)},
		{"one, refused", 5, limits(5, 1)},
		{"three, taken", 1, limits(plenty, 3)},
		{"three, refused", 5, limits(5, 3)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			at := bucket.Moment{Now: 1_750_000_000_000_000, Tick: bucket.Microsecond}
			req := bucket.Request{Config: bench.config, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: bench.cost}}
			entry := bucket.Step(bucket.Entry{}, req, at).Next
			var r bucket.Result
			b.ReportAllocs()
			for b.Loop() {
				at.Now += 7
				next := entry
				if f, _ := next.Step(&r, &req, at); f.Change == bucket.Write {
					entry = next
				}
			}
		})
	}
}

// limits is the first n of 10 a second, 500 a minute and 10,000 an hour.
func limits(capacity int64, n int) bucket.Configuration {
	all := []bandwidth.Bandwidth{
		greedy(capacity, 10, time.Second), greedy(capacity, 500, time.Minute), greedy(capacity, 10_000, time.Hour),
	}
	return bucket.MustConfiguration(all[:n]...)
}
