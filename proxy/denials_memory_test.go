package proxy_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// BenchmarkDenialMemory reports the heap that a denial takes beside the text of its key, with as many as are
// remembered.
func BenchmarkDenialMemory(b *testing.B) {
	for _, n := range []int{1, 4, 8} {
		b.Run(fmt.Sprint("bandwidths=", n), func(b *testing.B) {
			var all []bandwidth.Bandwidth
			for i := range n {
				all = append(all, bandwidth.Must(bandwidth.New(1, bandwidth.Greedy(1, time.Duration(1+i)*time.Hour))))
			}
			c := bucket.MustConfiguration(all...)
			s := proxy.CompareAndSwap(newShelf(), codec.MessagePack{})
			keys := make([]string, proxy.DefaultMaxDenials)
			for i := range keys {
				keys[i] = fmt.Sprint("key ", i)
			}
			for b.Loop() {
				take(b, s, keys, c) // granted
				before := heap()
				remembering := proxy.CacheDenials(s, time.Hour)
				take(b, remembering, keys, c)
				b.ReportMetric(float64(heap()-before)/float64(len(keys)), "B/denial")
				runtime.KeepAlive(remembering)
			}
		})
	}
}

func take(b *testing.B, backend proxy.Backend, keys []string, c bucket.Configuration) {
	b.Helper()
	m, err := proxy.NewManager(backend, proxy.WithKeyPrefix(""))
	if err != nil {
		b.Fatal(err)
	}
	for _, key := range keys {
		if _, err := m.Bucket(key, c).TryConsume(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
