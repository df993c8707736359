package bucket_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

func BenchmarkLocal(b *testing.B) {
	day := 24 * time.Hour
	for name, c := range map[string]bucket.Configuration{
		"one":   bucket.MustConfiguration(greedy(1<<40, 1_000_000, time.Second)),
		"three": bucket.MustConfiguration(greedy(1<<40, 1_000_000, time.Second), greedy(1<<40, 1_000_000, day), interval(1<<40, 1000, time.Hour)),
	} {
		b.Run(name, func(b *testing.B) {
			l := bucket.New(c)
			b.ReportAllocs()
			for b.Loop() {
				l.TryConsume(1)
			}
		})
	}
}
