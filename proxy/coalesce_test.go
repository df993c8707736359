package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// slow is a backend whose trips each take a second, and that remembers them.
type slow struct {
	proxy.Backend
	mu    sync.Mutex
	trips []string
	ends  []time.Time // the deadline of each
}

func newSlow() *slow {
	return &slow{Backend: proxy.CompareAndSwap(newShelf(), codec.MessagePack{})}
}

func (s *slow) Do(ctx context.Context, ds []proxy.Decision) {
	s.mu.Lock()
	var trip string
	for _, d := range ds {
		trip += fmt.Sprintf("%s%d ", d.Charges[0].Key, d.Charges[0].Op.Tokens)
	}
	s.trips = append(s.trips, trip)
	end, _ := ctx.Deadline()
	s.ends = append(s.ends, end)
	s.mu.Unlock()
	s.Backend.Do(ctx, ds)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		proxy.Fail(ds, proxy.ErrOutcomeUnknown, ctx.Err())
	}
}

// callers are goroutines that ask one after the other, in the order in which
// they were sent.
type callers struct {
	sync.WaitGroup
	t       *testing.T
	manager *proxy.Manager
}

// coalesced makes a manager whose buckets hold 100 tokens, and its callers.
func coalesced(t *testing.T, b proxy.Backend, opts ...proxy.Option) *callers {
	opts = append([]proxy.Option{proxy.WithKeyPrefix(""), proxy.WithTimeout(time.Hour)}, opts...)
	m, err := proxy.NewManager(proxy.Coalesce(b), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return &callers{t: t, manager: m}
}

var hundred = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(1, 24*time.Hour))))

// take sends one that must be served, or else fail with each of some errors.
func (c *callers) take(ctx context.Context, key string, n int64, want ...error) {
	c.Go(func() {
		ok, err := c.manager.Bucket(key, hundred).TryConsume(ctx, n)
		if len(want) == 0 && (!ok || err != nil) {
			c.t.Errorf("%s%d: %v, %v", key, n, ok, err)
		}
		for _, w := range want {
			if !errors.Is(err, w) {
				c.t.Errorf("%s%d: got %v, want %v", key, n, err, w)
			}
		}
	})
	synctest.Wait()
}

func (c *callers) left(key string, want int64) {
	c.t.Helper()
	wantLeft(c.t, c.manager.Bucket(key, hundred), want)
}

func TestCallersOfAKeyShareATrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := coalesced(t, s)
		began := time.Now()
		for n := range int64(6) {
			c.take(t.Context(), "a", n+1)
		}
		c.take(t.Context(), "b", 1) // another key has trips of its own
		c.Wait()
		if got, want := fmt.Sprint(s.trips), "[a1  b1  a2 a3 a4 a5 a6 ]"; got != want {
			t.Errorf("trips %s, want %s", got, want)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		c.left("a", 100-21)
		c.take(t.Context(), "a", 7) // the key is free again
		c.Wait()
		if got := s.trips[len(s.trips)-1]; got != "a7 " {
			t.Errorf("the last trip was %s", got)
		}
	})
}

func TestWhoLeavesBeforeATripIsNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := coalesced(t, s)
		c.take(t.Context(), "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		c.take(ctx, "a", 10, proxy.ErrUnavailable, context.Canceled)
		c.take(t.Context(), "a", 2)
		cancel()
		c.Wait()
		if got := fmt.Sprint(s.trips); got != "[a1  a2 ]" {
			t.Errorf("trips %s", got)
		}
		c.left("a", 97)

		// Nobody is left for the second trip.
		s.trips = nil
		c.take(t.Context(), "a", 1)
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		c.take(ctx, "a", 10, proxy.ErrUnavailable, context.DeadlineExceeded)
		c.Wait()
		c.take(t.Context(), "a", 3)
		c.Wait()
		if got := fmt.Sprint(s.trips); got != "[a1  a3 ]" {
			t.Errorf("trips %s", got)
		}
	})
}

// Those whose deadline is their manager's have one timer for all who share a trip,
// and still each leaves at his own time.
func TestEachLeavesAtTheTimeoutOfHisManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := proxy.Coalesce(newSlow())
		begun := time.Now()
		var all sync.WaitGroup
		ask := func(ctx context.Context, timeout, leaves time.Duration, want error) {
			m, err := proxy.NewManager(shared, proxy.WithKeyPrefix(""), proxy.WithTimeout(timeout))
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				_, err := m.Bucket("a", hundred).TryConsume(ctx, 1)
				if took := time.Since(begun); took != leaves || !errors.Is(err, want) {
					t.Errorf("with a timeout of %v: left after %v with %v, want %v with %v", timeout, took, err, leaves, want)
				}
			})
			synctest.Wait()
		}
		soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		cancelled, cancelNow := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancelNow)
		ask(t.Context(), time.Hour, time.Second, nil) // whose trip the others wait for
		ask(t.Context(), 500*time.Millisecond, 500*time.Millisecond, context.DeadlineExceeded)
		ask(t.Context(), 700*time.Millisecond, 700*time.Millisecond, context.DeadlineExceeded)
		ask(t.Context(), 300*time.Millisecond, 300*time.Millisecond, context.DeadlineExceeded)
		ask(soon, time.Hour, 200*time.Millisecond, context.DeadlineExceeded)
		ask(cancelled, 700*time.Millisecond, 100*time.Millisecond, context.Canceled)
		ask(t.Context(), 3*time.Second, 2*time.Second, nil) // goes along
		all.Wait()
	})
}

func TestWhoLeavesDuringATripDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := coalesced(t, newSlow())
		c.take(t.Context(), "a", 1)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		c.take(ctx, "a", 10, proxy.ErrOutcomeUnknown, context.DeadlineExceeded)
		c.take(t.Context(), "a", 5)
		c.Wait()
		c.left("a", 100-16)
	})
}

// A read charges nothing, so it is never unknown whether it did.
func TestWhoLeavesDuringAReadKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := coalesced(t, newSlow())
		c.take(t.Context(), "a", 1)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := c.manager.Bucket("a", hundred).Available(ctx)
		if !errors.Is(err, proxy.ErrUnavailable) || errors.Is(err, proxy.ErrOutcomeUnknown) {
			t.Errorf("got %v", err)
		}
		c.Wait()
	})
}

// One caller's context does not end the trip of the others.
func TestATripGoesOnUntilTheLatestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := coalesced(t, s)
		began := time.Now()
		c.take(t.Context(), "a", 1)
		for _, seconds := range []time.Duration{3, 9, 5} {
			ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
			defer cancel()
			c.take(ctx, "a", 2)
		}
		c.Wait()
		if got := s.ends[1].Sub(began); got != 9*time.Second {
			t.Errorf("the shared trip ends at %v, want 9s", got)
		}
	})
}

// A trip that fails, fails for all aboard, and those who come later have another.
func TestATripFailsForAllAboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		broken := true
		c := coalesced(t, fixed{func(_ context.Context, d *proxy.Decision) {
			time.Sleep(time.Second)
			d.Results[0].Consumed = true
			if broken {
				d.Err = &proxy.StoreError{Kind: proxy.ErrUnavailable, Key: "a", Cause: down}
			}
		}})
		for range 4 {
			c.take(t.Context(), "a", 1, proxy.ErrUnavailable, down)
		}
		c.Wait()
		broken = false
		c.take(t.Context(), "a", 1)
		c.Wait()
	})
}

// Who asks again as soon as he has been told shares the next trip with those who wait
// for it already: otherwise there would be two groups, and twice as many trips.
func TestWhoHasBeenToldGoesAlongOnTheNextTrip(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that it is known who has a turn
	var trips atomic.Int64
	m, err := proxy.NewManager(proxy.Coalesce(tripCounter{&trips}), proxy.WithTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	const callers, takes = 8, 200
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range takes {
				if _, err := m.Bucket("a", hundred).TryConsume(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := trips.Load(); got > takes*3/2 {
		t.Errorf("%d trips for %d callers who take %d times each", got, callers, takes)
	}
}

// tripCounter counts trips, on which others have a turn.
type tripCounter struct{ trips *atomic.Int64 }

func (c tripCounter) Do(context.Context, []proxy.Decision) {
	c.trips.Add(1)
	runtime.Gosched()
}

func (tripCounter) Close() error { return nil }

func TestAnObserverHearsOfSharedTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard recorder
		c := coalesced(t, newSlow(), proxy.WithObserver(&heard))
		for range 3 {
			c.take(t.Context(), "a", 1)
		}
		c.Wait()
		var sources [2]int
		for _, e := range heard.events {
			sources[e.Result.Source]++
		}
		if sources != [2]int{bucket.SourceStore: 1, bucket.SourceCoalesced: 2} {
			t.Errorf("sources %v", sources)
		}
	})
}

func TestCoalescingIsExact(t *testing.T) {
	s := newShelf()
	m, err := proxy.NewManager(proxy.Coalesce(proxy.CompareAndSwap(s, codec.MessagePack{})), proxy.WithTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	const capacity = 10_000
	c := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(1, 24*time.Hour))))
	var granted, refused atomic.Int64
	var wg sync.WaitGroup
	for g := range uint64(64) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 1))
			for range 200 {
				n := 1 + r.Int64N(3)
				ok, err := m.Bucket("k", c).TryConsume(t.Context(), n)
				switch {
				case err != nil:
					t.Error(err)
				case ok:
					granted.Add(n)
				default:
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	left, err := m.Bucket("k", c).Available(t.Context())
	if err != nil || granted.Load()+left != capacity || refused.Load() == 0 {
		t.Errorf("granted %d, left %d of %d, %v; refused %d calls", granted.Load(), left, capacity, err, refused.Load())
	}
	t.Logf("%d trips for %d calls", s.loads, 64*200)
}

func TestCoalesceForwards(t *testing.T) {
	if _, err := proxy.NewManager(proxy.Coalesce(nil)); err == nil {
		t.Error("a nil backend is accepted")
	}
	if _, err := proxy.NewManager(proxy.Coalesce(proxy.CompareAndSwap(nil, nil))); err == nil {
		t.Error("what is wrong with the backend is not told")
	}
	b := proxy.Coalesce(newSlow())
	if proxy.Coalesce(b) != b {
		t.Error("coalescing twice is not the same as once")
	}
}
