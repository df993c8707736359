package faults_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Of the first bucket there is always more, the second is soon empty; refill is negligible.
const (
	callers = 16
	plenty  = 1_000_000
	scarce  = 50
)

func perDay(capacity int64) bucket.Configuration {
	return bucket.MustConfiguration(bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(1, 24*time.Hour))))
}

var (
	plentiful = perDay(plenty)
	few       = perDay(scarce)
)

func bucketOf(m *proxy.Manager, scarce bool) proxy.Bucket {
	if scarce {
		return m.Bucket("scarce", few)
	}
	return m.Bucket("plenty", plentiful)
}

// load is callers who take from two buckets, half of them in either mode, until they are told to stop.
type load struct {
	t        *testing.T
	managers [2]*proxy.Manager
	callers  [callers]caller
	stop     atomic.Bool
	wg       sync.WaitGroup
}

// caller is what one of them saw.
type caller struct {
	mu    sync.Mutex
	takes []take
}

type take struct {
	scarce     bool
	granted    bool
	err        error
	begun, end time.Time
}

// outcomes are what all of them saw.
type outcomes struct {
	decided    int64
	failures   map[string]int
	unexpected error
	longest    time.Duration
}

func begin(t *testing.T, c *faults.Client) *load {
	t.Helper()
	l, prefix := &load{t: t}, redistest.Prefix(t)
	for i, options := range [][]redis.Option{nil, {redis.WithCompareAndSwap()}} {
		m, err := proxy.NewManager(c.Backend(options...), proxy.WithKeyPrefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		l.managers[i] = m
	}
	for i := range callers {
		l.wg.Go(func() { l.callers[i].run(l, l.managers[i%2]) })
	}
	t.Cleanup(l.end)
	return l
}

func (c *caller) run(l *load, m *proxy.Manager) {
	for n := 0; !l.stop.Load(); n++ {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		x := take{scarce: n%4 == 3, begun: time.Now()}
		x.granted, x.err = bucketOf(m, x.scarce).TryConsume(ctx, 1)
		x.end = time.Now()
		cancel()
		c.mu.Lock()
		c.takes = append(c.takes, x)
		c.mu.Unlock()
		time.Sleep(2 * time.Millisecond) // a caller's own work
	}
}

func (l *load) end() {
	l.stop.Store(true)
	l.wg.Wait()
}

// decisions are how many calls of a caller that began after an instant were decided.
func (c *caller) decisions(after time.Time) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.takes) - 1; i >= 0 && c.takes[i].begun.After(after); i-- {
		if c.takes[i].err == nil {
			n++
		}
	}
	return n
}

// awaitDecisions waits until each caller has had some since an instant.
func (l *load) awaitDecisions(after time.Time, each int) {
	l.t.Helper()
	end := time.Now().Add(2 * soon)
	for i := range l.callers {
		for l.callers[i].decisions(after) < each {
			if time.Now().After(end) {
				l.t.Fatalf("caller %d has had %d decisions, want %d", i, l.callers[i].decisions(after), each)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// recovery is how long after an instant calls still failed, or the first decision came.
func (l *load) recovery(over time.Time) (longest time.Duration) {
	for i := range l.callers {
		decided := false
		for _, x := range l.callers[i].takes {
			if !x.begun.After(over) {
				continue
			}
			if x.err != nil || !decided {
				longest = max(longest, x.end.Sub(over))
			}
			decided = decided || x.err == nil
		}
	}
	return longest
}

func (l *load) outcomes() outcomes {
	o := outcomes{failures: map[string]int{}}
	for i := range l.callers {
		for _, x := range l.callers[i].takes {
			o.add(x)
		}
	}
	return o
}

func (o *outcomes) add(x take) {
	o.longest = max(o.longest, x.end.Sub(x.begun))
	switch {
	case x.err == nil:
		o.decided++
	case errors.Is(x.err, proxy.ErrOutcomeUnknown):
		o.failures["unknown"]++
	case errors.Is(x.err, proxy.ErrUnavailable):
		o.failures["unavailable"]++
	case errors.Is(x.err, proxy.ErrContended):
		o.failures["contended"]++
	default:
		o.unexpected = x.err
	}
}

// excess is how many tokens were granted beyond what the buckets tell, or charged beyond what callers know of. A server
// that lost its buckets once may have granted everything twice.
func (l *load) excess(lost bool) int64 {
	l.t.Helper()
	many, few := l.account(false), l.account(true)
	if lost {
		return max(0, few.granted-2*scarce)
	}
	return max(0, many.excess(plenty-l.available(false)), few.excess(scarce-l.available(true)))
}

// account is what callers know of one of the buckets.
type account struct{ granted, denied, unknown int64 }

func (l *load) account(scarce bool) (a account) {
	for i := range l.callers {
		for _, x := range l.callers[i].takes {
			switch {
			case x.scarce != scarce:
			case x.granted:
				a.granted++
			case x.err == nil:
				a.denied++
			case errors.Is(x.err, proxy.ErrOutcomeUnknown):
				a.unknown++
			}
		}
	}
	return a
}

func (a account) excess(gone int64) int64 { return max(a.granted-gone, gone-a.granted-a.unknown) }

// falseDenials are refusals by a bucket that has tokens still: nothing but the loss of it puts any back.
func (l *load) falseDenials(lost bool) int64 {
	l.t.Helper()
	n := l.account(false).denied
	if a := l.account(true); !lost && l.available(true) > 0 {
		n += a.denied
	}
	return n
}

func (l *load) available(scarce bool) int64 {
	l.t.Helper()
	for end := time.Now().Add(soon); ; {
		n, err := bucketOf(l.managers[0], scarce).Available(context.Background())
		if err == nil {
			return n
		}
		if time.Now().After(end) {
			l.t.Fatal(err)
		}
	}
}

// awaitNoCalls returns how long it took until no goroutine was busy with a call any more: those that were given up go
// on for one socket timeout.
func awaitNoCalls(t *testing.T, socketTimeout time.Duration) time.Duration {
	t.Helper()
	stacks := make([]byte, 16<<20)
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		all := string(stacks[:runtime.Stack(stacks, true)])
		took := time.Since(begun)
		if !strings.Contains(all, "sluice/proxy") {
			return took
		}
		if took > socketTimeout+socketMargin {
			t.Errorf("after %v calls still go on:\n%s", took, all)
			return took
		}
	}
}
