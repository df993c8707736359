package trips_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/proxy/redis/internal/trips"
)

// Who asks again as soon as he has been told shares the next trip with those who wait
// for it already: otherwise there would be two groups, and twice as many trips.
func TestWhoHasBeenToldGoesAlongOnTheNextTrip(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that it is known who has a turn
	var made atomic.Int64
	send := func(context.Context, []int) {
		made.Add(1)
		runtime.Gosched() // others have a turn meanwhile
	}
	sharing := trips.New(1, send)
	const callers, calls = 8, 200
	var all sync.WaitGroup
	for me := range callers {
		all.Go(func() {
			for range calls {
				if trip := sharing.Enter(t.Context(), me); trip == nil {
					send(t.Context(), nil)
					sharing.Land()
				} else if !trip.Wait(t.Context()) {
					t.Error("the test is over")
				}
			}
		})
	}
	all.Wait()
	if got := made.Load(); got > calls*3/2 {
		t.Errorf("%d trips for %d callers who call %d times each", got, callers, calls)
	}
}
