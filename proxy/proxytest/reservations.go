package proxytest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// Tokens that are taken ahead of time.
var reservationTests = []bucketTest{
	{"C60 who reserves is served in order", func(s *scene) {
		b := s.bucket(interval(5, 5, 5*time.Second))
		b.reserves(3, 2, 0)
		b.reserves(3, -1, 5*time.Second)
		b.reserves(3, -4, 5*time.Second)
		b.reserves(3, -7, 10*time.Second)
		b.refuses(1, 10*time.Second)
		s.at(10 * time.Second)
		b.has(3)
	}},
	{"C60 who would wait too long takes nothing", func(s *scene) {
		b := s.bucket(interval(5, 5, 5*time.Second))
		b.reserves(3, 2, 0)
		for range 3 {
			b.tooLate(3, 4*time.Second, 5*time.Second)
		}
		b.has(2)
	}},
	{"the longest wait is exact", func(s *scene) {
		b := s.bucket(greedy(3, 3, time.Second))
		b.takes(3)
		wait := s.ticks(333_333_334 * time.Nanosecond)
		b.tooLate(1, 0, wait)
		b.tooLate(1, wait-s.step(), wait)
		if r, err := b.Reserve(s.ctx, 1, wait); err != nil || r.Wait != wait || r.RemainingTokens != -1 {
			s.Fatalf("Reserve(1) within %v: %v", wait, err)
		}
		b.tooLate(1, wait, 666_666_667*time.Nanosecond)
	}},
	{"every bandwidth must have the tokens in time", func(s *scene) {
		b := s.bucket(greedy(10, 10, time.Second), greedy(3, 3, time.Minute))
		b.takes(3)
		b.tooLate(2, 39*time.Second, 40*time.Second)
		b.reserves(2, -2, 40*time.Second)
		b.holds(5, -2)
	}},
	{"reserving 0 asks for a token and takes none", func(s *scene) {
		b := s.bucket(greedy(3, 3, 3*time.Second))
		b.cancels(b.reserves(0, 3, 0), 3)
		b.takes(3)
		b.tooLate(0, time.Second-s.step(), time.Second)
		b.settles(b.reserves(0, 0, 0), 2, -2)
	}},
	{"C21 C76 what can never be there is not waited for", func(s *scene) {
		b := s.bucket(greedy(3, 3, 2*time.Second))
		b.neverThere(4)
		b.takes(3)
		b.neverThere(4)
		b = s.bucket(greedy(10, 10, time.Second), greedy(3, 3, time.Minute))
		b.neverThere(5)
	}},
	{"C76 a wait of 200 years is told as such", func(s *scene) {
		const centuries = 200 * 365 * 24 * time.Hour
		b := s.bucket(interval(1, 1, centuries))
		b.takes(1)
		b.refuses(1, centuries)
		b.tooLate(1, centuries-1, centuries)
		b.reserves(1, -1, centuries)
	}},
	{"C48 what is not used goes back once", func(s *scene) {
		s.each(1, time.Hour, func(s *scene, r bandwidth.Refill) {
			b := s.bucket(limit(10, r))
			for _, c := range []struct{ used, left int64 }{{0, 10}, {2, 8}, {4, 6}, {9, 1}, {14, -4}} {
				b.resets()
				r := b.reserves(4, 6, 0)
				b.settles(r, c.used, c.left)
				b.settles(r, 7, c.left)
				b.cancels(r, c.left)
			}
		})
	}},
	{"C48 a refund stops at the capacity", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Hour))
		first, second := b.reserves(1, 9, 0), b.reserves(1, 8, 0)
		b.adds(1, 9)
		b.cancels(first, 10)
		b.cancels(second, 10)
		b.cancels(first, 10)

		third := b.reserves(5, 5, 0)
		b.resets()
		b.cancels(third, 10)

		fourth := b.reserves(5, 5, 0)
		s.at(3 * time.Hour)
		b.cancels(fourth, 10)

		fifth := b.reserves(5, 5, 0)
		b.forceAdds(100, 105) // more than the capacity stays as it is
		b.cancels(fifth, 105)
	}},
	{"C48 a reservation is given back when the caller has left", func(s *scene) {
		done, cancel := context.WithCancel(s.ctx)
		cancel()
		b := s.bucket(greedy(10, 1, time.Hour))
		for name, back := range map[string]func(*bucket.Reservation) error{
			"Cancel": func(r *bucket.Reservation) error { return r.Cancel(done) },
			"Settle": func(r *bucket.Reservation) error { return r.Settle(done, 0) },
		} {
			b.ok(name, back(b.reserves(10, 0, 0)))
			b.has(10)
		}
	}},
	{"C48 many who give back at once give back once", func(s *scene) {
		b := s.bucket(greedy(100, 1, time.Hour))
		b.takes(50)
		r := b.reserves(10, 40, 0)
		var failed atomic.Int64
		together(20, func(int) {
			if r.Cancel(s.ctx) != nil {
				failed.Add(1)
			}
		})
		if failed.Load() > 0 {
			s.Errorf("%d of 20 failed", failed.Load())
		}
		b.has(50)
	}},
	{"C28 a negative use is an error and closes nothing", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Hour))
		r := b.reserves(4, 6, 0)
		var bad *bucket.ArgumentError
		if err := r.Settle(s.ctx, -1); !errors.As(err, &bad) || bad.Field != "tokens used" {
			s.Errorf("Settle(-1): %v; want an ArgumentError for the tokens used", err)
		}
		b.has(6)
		b.settles(r, 1, 9)
	}},
	{"later reservations keep their due times", func(s *scene) {
		b := s.bucket(greedy(5, 5, 5*time.Second))
		first := b.reserves(5, 0, 0)
		b.reserves(5, -5, 5*time.Second)
		b.cancels(first, 0)
		// Whoever comes after has the advantage, and nobody has it twice.
		b.reserves(3, -3, 3*time.Second)
		s.at(5 * time.Second)
		b.has(2)
	}},
	{"a reservation may be paid by what others give back", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Minute))
		held := b.reserves(10, 0, 0)
		late := b.reserves(2, -2, 2*time.Minute)
		b.cancels(held, 8)
		b.cancels(late, 10)
	}},
}

// Reservations of keys that are absent by the time they are closed.
var reservedTests = []storeTest{
	{"C48 a reservation of a key that has gone gives nothing", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", of(greedy(10, 1, time.Hour)))
		for _, used := range []int64{0, 3} {
			r := b.reserves(10, 0, 0)
			removes(s, m, "key", true)
			b.settles(r, used, 10)
			s.stored(m, "key", false)
		}
		// What was used beyond it is charged, to whatever is there.
		r := b.reserves(4, 6, 0)
		removes(s, m, "key", true)
		b.settles(r, 6, 8)
	}},
	{"C48 nor when its life was over", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", of(greedy(10, 1, time.Second)))
		r := b.reserves(10, 0, 0)
		s.at(wideSkew + time.Hour)
		b.cancels(r, 10)
		s.at(wideSkew + time.Hour + 1)
		b.has(10)
		b.takes(10)
		b.has(0)
	}},
	{"C48 a bucket that starts less than full gets back no more than was taken", func(s *store) {
		m := s.manager()
		b := s.on(m, "key", of(greedy(10, 1, time.Hour, bandwidth.WithInitialTokens(3))))
		r := b.reserves(2, 1, 0)
		removes(s, m, "key", true)
		b.cancels(r, 5) // the new one's 3, and the 2
		b.cancels(r, 5)
	}},
	{"a reservation is closed by any process", func(s *store) {
		c := of(greedy(10, 1, time.Hour))
		a, b := s.on(s.manager(), "key", c), s.on(s.manager(), "key", c)
		first, second := a.reserves(4, 6, 0), b.reserves(4, 2, 0)
		a.cancels(second, 6)
		b.settles(first, 1, 9)
	}},
}
