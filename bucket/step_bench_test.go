package bucket_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// One decision as a store has it: on a clock of microseconds, every 7 of them.
func BenchmarkStep(b *testing.B) {
	one := []bandwidth.Bandwidth{greedy(100, 100, time.Second)}
	three := []bandwidth.Bandwidth{greedy(10, 10, time.Second), greedy(500, 500, time.Minute), greedy(10_000, 10_000, time.Hour)}
	for _, bench := range []struct {
		name       string
		bandwidths []bandwidth.Bandwidth
		kind       bucket.Kind
		tokens     int64
	}{
		{"one, taken", one, bucket.OpForce, 1},
		{"one, refused", one, bucket.OpConsume, 5},
		{"three, taken", three, bucket.OpForce, 1},
		{"three, refused", three, bucket.OpConsume, 5},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := bucket.MustConfiguration(bench.bandwidths...)
			at := bucket.Moment{Now: 1_750_000_000_000_000, Tick: bucket.Microsecond}
			drain := bucket.Request{Config: c, Op: bucket.Operation{Kind: bucket.OpConsumeUpTo, Tokens: 1000}}
			entry := bucket.Step(bucket.Entry{}, drain, at).Next
			req := bucket.Request{Config: c, Op: bucket.Operation{Kind: bench.kind, Tokens: bench.tokens}}
			b.ReportAllocs()
			for b.Loop() {
				at.Now += 7
				if o := bucket.Step(entry, req, at); o.Change == bucket.Write {
					entry = o.Next
				}
				if at.Now&0xfff == 0 {
					entry.State.Levels[0].Tokens = 0
				}
			}
		})
	}
}
