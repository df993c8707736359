package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// Whoever sleeps too long, on a timer of 5 ms, finds what has come back meanwhile.
func TestC63WaitsKeepUpOnCoarseTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := proxy.NewManager(memory.New())
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		limit := bandwidth.Must(bandwidth.New(200, bandwidth.Greedy(20_000, time.Second)))
		b := m.Bucket("k", bucket.MustConfiguration(limit))
		granted := 0
		for begun := time.Now(); ; granted++ {
			called := time.Now()
			if err := b.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if slept := time.Since(called); slept > 0 {
				time.Sleep(5*time.Millisecond - slept)
			}
			if time.Since(begun) > 2*time.Second {
				break
			}
		}
		if granted != 40_200 {
			t.Errorf("%d granted in 2 s, want 40,200", granted)
		}
	})
}
