package proxytest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// ledger is a listener that adds up what it hears.
type ledger struct {
	mu     sync.Mutex
	gone   int64                    // tokens
	told   map[bucket.EventKind]int // how often
	waited []time.Time              // when waits ended
}

func newLedger() *ledger { return &ledger{told: map[bucket.EventKind]int{}} }

func (l *ledger) Tell(_ context.Context, e bucket.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[e.Kind]++
	switch e.Kind {
	case bucket.Consumed, bucket.Reserved, bucket.Forced:
		l.gone += e.Tokens
	case bucket.Refunded, bucket.Added:
		l.gone -= e.Tokens
	case bucket.Waited:
		l.waited = append(l.waited, time.Now())
	}
}

// count is how often it was told a kind.
func (l *ledger) count(kind bucket.EventKind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told[kind]
}

// What a listener hears of tokens.
var listenerTests = []storeTest{
	{"C59 a listener hears of each token once", func(s *store) {
		heard := newLedger()
		b := s.on(s.manager(proxy.WithListener(heard)), "key", of(greedy(100, 1, 1000*time.Hour)))
		b.takes(10)
		if p, err := b.ConsumeUpTo(s.ctx, 5); err != nil || p.Tokens != 5 {
			s.Fatalf("ConsumeUpTo(5): %s, %v", told(p), err)
		}
		b.never(1000)
		look(s.scene, b)
		b.forces(7, 78, 0)
		b.adds(2, 80)
		b.forceAdds(3, 83)
		b.settles(b.reserves(6, 77, 0), 0, 83)
		b.settles(b.reserves(6, 77, 0), 3, 80)
		b.settles(b.reserves(6, 74, 0), 6, 74)
		b.settles(b.reserves(6, 68, 0), 9, 65)
		b.ok("Wait", b.Wait(s.ctx, 5))
		b.neverThere(101)
		if heard.gone != 40 {
			s.Errorf("heard of %d tokens gone of 100, and 60 are left", heard.gone)
		}
		for kind, want := range map[bucket.EventKind]int{
			bucket.Consumed: 2, bucket.Forced: 2, bucket.Added: 2, bucket.Reserved: 5, bucket.Refunded: 2,
			bucket.Refused: 5, bucket.Cancelled: 1, bucket.Settled: 3, bucket.Waited: 1,
		} {
			if heard.told[kind] != want {
				s.Errorf("heard of %d %v, want %d", heard.told[kind], kind, want)
			}
		}
		b.resets()
		b.replaces(of(greedy(100, 1, time.Hour)), bucket.AsIs)
		if heard.told[bucket.Filled] != 1 || heard.told[bucket.Replaced] != 1 {
			s.Errorf("heard of %v", heard.told)
		}
	}},
	{"C59 once, however many are in the way", func(s *store) {
		const capacity, each = 1_000_000, 50
		heard := newLedger()
		many := crowd{scene: s.scene}
		for range 3 {
			many.handles = append(many.handles, s.on(s.manager(proxy.WithListener(heard)), "key", of(greedy(capacity, 1, 1000*time.Hour))))
		}
		many.handles[0].takes(capacity / 2) // far from both ends
		taken := many.each("all that takes and returns", func(i int64, b bucket.Bucket) (int64, error) {
			n := i%7 + 1
			switch i % 5 {
			case 0:
				p, err := b.Consume(s.ctx, n)
				return p.Tokens, err
			case 1:
				_, err := b.Add(s.ctx, n)
				return -n, err
			case 2:
				_, err := b.Force(s.ctx, n)
				return n, err
			case 3:
				return each, b.Wait(s.ctx, each)
			}
			r, err := b.Reserve(s.ctx, each, time.Hour)
			if err != nil {
				return 0, err
			}
			return n, r.Settle(s.ctx, n)
		})
		many.has(capacity/2 - taken)
		if heard.gone != capacity/2+taken {
			s.Errorf("heard of %d tokens gone, want %d", heard.gone, capacity/2+taken)
		}
	}},
	{"an error is told to no listener", func(s *store) {
		heard := newLedger()
		m := s.manager(proxy.WithListener(heard))
		for _, call := range allCalls {
			if call.count {
				_ = call.do(s.ctx, m.Bucket("key", of(greedy(10, 1, time.Hour))), -1)
			}
			_ = call.do(s.ctx, m.Bucket("", of(greedy(10, 1, time.Hour))), 1)
		}
		if len(heard.told) != 0 {
			s.Errorf("heard of %v", fmt.Sprint(heard.told))
		}
	}},
}
