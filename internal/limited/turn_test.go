package limited_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/limited"
)

// Beside goroutines that compute, turns are given now and then only.
func TestBusyProcessorsAreNotWaitedFor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	var turns atomic.Int64
	defer over.Store(true)
	for range 3 {
		go func() {
			for !over.Load() {
				turns.Add(1)
				for begun := time.Now(); time.Since(begun) < 6*time.Millisecond; {
				}
				runtime.Gosched()
			}
		}()
	}
	var turn limited.Turn
	for range 500 {
		turn.Give()
	}
	// Whoever gave each of them would have let the three compute for 9 s.
	if n := turns.Load(); n == 0 || n > 100 {
		t.Errorf("others had %d turns", n)
	}
}
