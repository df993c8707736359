package proxytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// Callers who sleep until their tokens are due.
var sleepTests = []bucketTest{
	{"C20 whoever cannot be served in time is told at once", func(s *scene) {
		b := s.bucket(greedy(1, 1, time.Hour))
		b.takes(1)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		err := b.Wait(ctx, 1)
		var late *bucket.TooLateError
		if !errors.As(err, &late) || !errors.Is(err, bucket.ErrTooLate) || !errors.Is(err, context.DeadlineExceeded) || late.Wait <= late.Longest {
			s.Errorf("Wait: %v; want a TooLateError", err)
		}
		if ctx.Err() != nil {
			s.Errorf("Wait slept until the deadline")
		}
		if !s.remote {
			s.slept(begun, 0)
		}
		b.has(0) // and no reservation remains
	}},
	{"C20 whoever can wait is served when the tokens are due", func(s *scene) {
		b := s.bucket(greedy(1, 1, 10*s.unit()))
		begun := time.Now()
		b.takes(1)
		b.ok("Wait", b.Wait(s.ctx, 1))
		s.slept(begun, 10)
		ctx, cancel := context.WithTimeout(s.ctx, 10*s.unit()+patience)
		defer cancel()
		b.ok("Wait with time enough", b.Wait(ctx, 1))
		s.slept(begun, 20)
	}},
	{"C60 a reservation tells how long from now", func(s *scene) {
		b := s.bucket(greedy(5, 1, time.Hour))
		if r := b.reserves(5, 0, 0); r.Delay() != 0 {
			s.Errorf("what is there is due in %v", r.Delay())
		}
		r, err := b.Reserve(s.ctx, 2, 3*time.Hour)
		b.ok("Reserve", err)
		time.Sleep(s.unit())
		if d := r.Delay(); d > 2*time.Hour-s.unit() || d <= time.Hour {
			s.Errorf("due in %v of 2 hours, of which %v have passed", d, s.unit())
		}
	}},
	{"C73 idling saves up no more than the capacity", func(s *scene) {
		takes := s.either(23, 5)
		for capacity := range 2 {
			b := s.bucket(greedy(int64(capacity)+1, 1, s.unit()))
			b.takes(1)
			time.Sleep(2 * s.unit())
			begun := time.Now()
			for i := range takes {
				b.ok("Wait", b.Wait(s.ctx, 1))
				s.slept(begun, max(i-capacity, 0))
			}
		}
	}},
	{"who waits comes after those who have reserved", func(s *scene) {
		b := s.bucket(greedy(1, 1, 4*s.unit()))
		begun := time.Now()
		b.takes(1)
		if _, err := b.Reserve(s.ctx, 1, patience); err != nil {
			s.Fatal(err)
		}
		b.ok("Wait", b.Wait(s.ctx, 1))
		s.slept(begun, 8)
	}},
	{"a cancelled wait costs nothing", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Hour))
		b.takes(10)
		ctx, cancel := context.WithCancel(s.ctx)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if err := b.Wait(ctx, 5); !errors.Is(err, context.Canceled) {
				s.Errorf("Wait: %v; want context.Canceled", err)
			}
		})
		s.asleep(b)
		cancel()
		waiting.Wait()
		b.has(0)
	}},
	{"C68 who cannot be served in time does not queue", func(s *scene) {
		b := s.bucket(greedy(3, 1, time.Hour))
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		var served atomic.Int64
		together(s.either(10_000, 100), func(int) {
			switch err := b.Wait(ctx, 1); {
			case err == nil:
				served.Add(1)
			case !errors.Is(err, bucket.ErrTooLate):
				s.Errorf("Wait: %v; want ErrTooLate", err)
			}
		})
		if served.Load() != 3 {
			s.Errorf("served %d of a capacity of 3", served.Load())
		}
		b.has(0)
	}},
	{"C68 many who wait are served at the rate", func(s *scene) {
		b := s.bucket(greedy(1, 1, s.unit()))
		begun := time.Now()
		var served atomic.Int64
		together(s.either(10_000, 50), func(int) {
			ctx, cancel := context.WithTimeout(s.ctx, 2*s.unit())
			defer cancel()
			switch err := b.Wait(ctx, 1); {
			case err == nil:
				served.Add(1)
			case !errors.Is(err, context.DeadlineExceeded):
				s.Errorf("Wait: %v; want a deadline exceeded", err)
			}
		})
		passed := time.Since(begun)
		if most := 1 + int64((passed+drift)/s.unit()); served.Load() > most {
			s.Errorf("served %d in %v, want at most %d", served.Load(), passed, most)
		}
		if !s.remote && (served.Load() < 2 || passed > 2*time.Second) {
			s.Errorf("served %d within %v, want 2 or 3 within 2 s", served.Load(), passed)
		}
	}},
}

// Callers who sleep on keys of a manager.
var sleepStoreTests = []storeTest{
	{"C59 a listener hears when a wait is over", func(s *store) {
		heard := newLedger()
		b := s.on(s.real(proxy.WithListener(heard)), "key", of(greedy(1, 1, s.unit())))
		begun := time.Now()
		together(3, func(int) {
			if err := b.Wait(s.ctx, 1); err != nil {
				s.Errorf("Wait: %v", err)
			}
		})
		if heard.gone != 3 || heard.told[bucket.Reserved] != 3 || len(heard.waited) != 3 {
			s.Fatalf("heard of %v, and %d tokens gone", heard.told, heard.gone)
		}
		slices.SortFunc(heard.waited, time.Time.Compare)
		for i, at := range heard.waited {
			due := begun.Add(time.Duration(i) * s.unit())
			if at.Before(due.Add(-drift)) || !s.remote && !at.Equal(due) {
				s.Errorf("wait %d was over after %v", i, at.Sub(begun))
			}
		}
	}},
	{"C68 no more may wait than were allowed to", func(s *store) {
		m := s.real(proxy.WithMaxWaiters(2))
		c := of(greedy(10, 1, time.Hour))
		a, b := s.on(m, "a", c), s.on(m, "b", c)
		ctx, cancel := context.WithCancel(s.ctx)
		var waiting sync.WaitGroup
		for _, one := range []*checked{a, b} {
			one.takes(10)
			waiting.Go(func() {
				if err := one.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
					s.Errorf("Wait: %v; want context.Canceled", err)
				}
			})
			s.until("somebody waits", func() bool {
				left, err := one.Available(s.ctx)
				one.ok("Available", err)
				return left < 0
			})
		}
		free := s.on(m, "free", c)
		if err := free.Wait(s.ctx, 1); err != bucket.ErrTooManyWaiters {
			s.Errorf("a third who would wait: %v; want ErrTooManyWaiters", err)
		}
		s.stored(m, "free", false)
		cancel()
		waiting.Wait()
		free.ok("Wait", free.Wait(s.ctx, 1))
	}},
}
