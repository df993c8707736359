package trips_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// Far from the server many trips are under way, but so that others come in between: not
// one more with each half millisecond, which would take all connections of a client.
func TestTripsToAFarServerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying, most atomic.Int64
		sharing := trips.New(4, func(context.Context, []int) {
			most.Store(max(most.Load(), flying.Add(1)))
			time.Sleep(200 * time.Millisecond)
			flying.Add(-1)
		})
		var all sync.WaitGroup
		for me := range 10_000 { // for a second
			time.Sleep(100 * time.Microsecond)
			all.Go(func() {
				trip := sharing.Enter(t.Context(), me)
				if trip == nil {
					trip = sharing.Alone(t.Context(), me)
				}
				trip.Wait(t.Context())
			})
		}
		all.Wait()
		if n := most.Load(); n < 10 || n > 40 {
			t.Errorf("%d trips were under way at once", n)
		}
	})
}
