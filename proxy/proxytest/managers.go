package proxytest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// counter is a backend that counts what it is asked.
type counter struct {
	proxy.Backend
	decisions int
}

func (c *counter) Do(ctx context.Context, ds []proxy.Decision) {
	c.decisions += len(ds)
	c.Backend.Do(ctx, ds)
}

// What a manager does, whatever the bucket.
var callTests = []storeTest{
	{"C42 a closed manager answers nothing", func(s *store) {
		m := s.manager()
		f := supplier{config: of(greedy(10, 10, time.Second))}
		handle := s.on(m, "key", f.config)
		handle.takes(1)
		for range 2 {
			if err := m.Close(); err != nil {
				s.Errorf("Close: %v", err)
			}
		}
		for _, call := range allCalls {
			for what, b := range map[string]bucket.Bucket{
				"a handle made before": handle, "one made after": m.Bucket("key", f.config), "a supplier": m.BucketFunc("key", f.supply),
				"unlimited": m.Bucket("key", bucket.Unlimited()),
			} {
				if err := call.do(s.ctx, b, 1); !errors.Is(err, proxy.ErrClosed) {
					s.Errorf("%s through %s: %v; want ErrClosed", call.name, what, err)
				}
			}
		}
		for _, call := range managerCalls {
			if err := call.do(s.ctx, m, "key"); !errors.Is(err, proxy.ErrClosed) {
				s.Errorf("%s: %v; want ErrClosed", call.name, err)
			}
		}
		if f.asked != 0 {
			s.Errorf("the supplier was asked %d times", f.asked)
		}
	}},
	{"a backend may be closed twice", func(s *store) {
		b := s.factory.Open(s.T, Clock{s.clock.Now, wideSkew})
		for range 2 {
			if err := b.Close(); err != nil {
				s.Errorf("Close: %v", err)
			}
		}
	}},
	{"remove and configuration heed a context that is done", func(s *store) {
		m := s.manager()
		s.on(m, "key", of(greedy(10, 10, 10*time.Second))).takes(1)
		cancelled, cancel := context.WithCancel(s.ctx)
		cancel()
		for _, call := range managerCalls {
			if err := call.do(cancelled, m, "key"); err != context.Canceled {
				s.Errorf("%s: %v; want context.Canceled", call.name, err)
			}
		}
		s.stored(m, "key", true)
	}},
	{"C27 unlimited and deny all touch no store", func(s *store) {
		count := &counter{Backend: s.backend()}
		m := s.managerOf(count)
		for _, c := range []bucket.Configuration{bucket.Unlimited(), bucket.DenyAll()} {
			for _, call := range bucketCalls {
				if err := call.do(s.ctx, m.Bucket("key", c), 1); err != nil {
					s.Errorf("%s: %v", call.name, err)
				}
			}
		}
		if count.decisions != 0 {
			s.Errorf("the backend was asked %d times", count.decisions)
		}
		s.stored(m, "key", false)
	}},
	{"a call asks the backend once", func(s *store) {
		count := &counter{Backend: s.backend()}
		m := s.managerOf(count)
		b := s.on(m, "key", of(greedy(10, 10, 10*time.Second)))
		calls := 0
		for range 3 {
			for _, call := range allCalls {
				b.ok(call.name, call.do(s.ctx, b, 1))
				calls++
			}
		}
		if count.decisions != calls {
			s.Errorf("%d calls asked the backend %d times", calls, count.decisions)
		}
		for _, call := range allCalls {
			if call.count {
				_ = call.do(s.ctx, b, -1) // an error, tested elsewhere
			}
		}
		if count.decisions != calls {
			s.Errorf("calls with a negative count asked the backend")
		}
	}},
	{"an observer hears of every decision", func(s *store) {
		heard := new(listener)
		m := s.manager(proxy.WithObserver(heard))
		b := s.on(m, "key", of(greedy(10, 10, 10*time.Second)))
		b.takes(4)
		b.never(11)
		b.has(6)
		removes(s, m, "key", true)
		want := []bucket.Operation{
			{Kind: bucket.OpConsume, Tokens: 4}, {Kind: bucket.OpConsume, Tokens: 11}, {Kind: bucket.OpInspect}, {Kind: bucket.OpRemove},
		}
		var got []bucket.Operation
		for _, e := range heard.heard {
			got = append(got, e.Op)
			if e.Kind != proxy.DecisionMade || e.Err != nil || e.Result == nil || e.Key != s.prefix+"key" {
				s.Errorf("heard %+v", e)
			}
		}
		if !slices.Equal(got, want) {
			s.Fatalf("heard of %v, want %v", got, want)
		}
		if first := heard.heard[0].Result; !first.Consumed || first.Existed || first.RemainingTokens != 6 {
			s.Errorf("of the first take it heard %s, existed %v", told(first.Probe), first.Existed)
		}
		if second := heard.heard[1].Result; !second.Never || !second.Existed {
			s.Errorf("of the second it heard %s, existed %v", told(second.Probe), second.Existed)
		}
	}},
}
