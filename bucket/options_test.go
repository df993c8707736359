package bucket_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

func TestWaitersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New(bucket.MustConfiguration(greedy(1, 1, time.Second)), bucket.WithMaxWaiters(2))
		b.TryConsume(1)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := b.Wait(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := b.Wait(t.Context(), 1); !errors.Is(err, bucket.ErrTooManyWaiters) {
			t.Errorf("the third waiter: %v", err)
		}
		wg.Wait()
		if err := b.Wait(t.Context(), 1); err != nil {
			t.Errorf("after the others: %v", err)
		}
	})
}

// ledger adds up what a listener hears.
type ledger struct {
	mu    sync.Mutex
	gone  int64
	kinds map[bucket.EventKind]int
}

func (l *ledger) Tell(_ context.Context, e bucket.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = map[bucket.EventKind]int{}
	}
	l.kinds[e.Kind]++
	switch e.Kind {
	case bucket.Consumed, bucket.Reserved, bucket.Forced:
		l.gone += e.Tokens
	case bucket.Refunded, bucket.Added:
		l.gone -= e.Tokens
	}
}

func TestC59ListenerHearsEachTokenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard ledger
		b := bucket.New(bucket.MustConfiguration(greedy(100, 1, 1000*time.Hour)), bucket.WithListener(&heard))
		b.TryConsume(10)
		b.ConsumeUpTo(5)
		b.TryConsume(1000)
		b.TryConsume(0)
		b.Estimate(5)
		b.Force(7)
		b.Add(2)
		for _, used := range []int64{0, 3, 9} {
			r, err := b.Reserve(6, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Settle(t.Context(), used); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Wait(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
		if left := b.Available(); heard.gone != 100-left {
			t.Errorf("%d told gone, %d left of 100", heard.gone, left)
		}
		for kind, want := range map[bucket.EventKind]int{
			bucket.Consumed: 2, bucket.Refused: 1, bucket.Forced: 2, bucket.Added: 1, bucket.Reserved: 4,
			bucket.Refunded: 2, bucket.Cancelled: 1, bucket.Settled: 2, bucket.Waited: 1,
		} {
			if heard.kinds[kind] != want {
				t.Errorf("%v told %d times, want %d", kind, heard.kinds[kind], want)
			}
		}
	})
}

func TestListenerHearsThatDenyAllRefusesForce(t *testing.T) {
	var heard ledger
	b := bucket.New(bucket.DenyAll(), bucket.WithListener(&heard))
	b.Force(7)
	b.TryConsume(7)
	if heard.gone != 0 || heard.kinds[bucket.Refused] != 2 {
		t.Errorf("%d told gone, events %v", heard.gone, heard.kinds)
	}
}
