package limited_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/limited"
)

func TestDeadlinesAreRoundedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var grid limited.Grid
		timers := map[<-chan struct{}]bool{}
		const calls = 100
		var all sync.WaitGroup
		defer all.Wait()
		for i := range calls {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, i), 100*time.Millisecond)
			got := grid.Round(ctx)
			cancel() // tells nothing to whoever waits
			timers[got.Done()] = true
			at, ok := got.Deadline()
			if late := at.Sub(begun) - 100*time.Millisecond; !ok || late < 0 || late > 8*time.Millisecond || got.Value(key{}) != i {
				t.Fatalf("ends %v late, with value %v", late, got.Value(key{}))
			}
			all.Go(func() {
				<-got.Done()
				if time.Now() != at || got.Err() != context.DeadlineExceeded {
					t.Errorf("over at %v and not at %v: %v", time.Now(), at, got.Err())
				}
			})
			if got.Err() != nil {
				t.Errorf("over at once: %v", got.Err())
			}
			time.Sleep(time.Millisecond)
		}
		if n := len(timers); n > calls/8+1 {
			t.Errorf("%d timers for %d calls, one each millisecond", n, calls)
		}
	})
}

func TestWhoEndsBeforeOthersIsNotLate(t *testing.T) {
	var grid limited.Grid
	if got := grid.Round(t.Context()); got != t.Context() {
		t.Error("a context without a deadline is another one")
	}
	long, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	short, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	if got := grid.Round(long); got == long {
		t.Error("the first is not rounded")
	}
	if got := grid.Round(short); got != short {
		t.Error("who ends long before others is rounded")
	}
}
