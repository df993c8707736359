package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/memory"
)

// far is a backend that is as far away, there and back, as the context says.
type far struct {
	proxy.Backend
	calls atomic.Int64
	err   error
}

func newFar() *far { return &far{Backend: memory.New()} }

type way struct{ there, back time.Duration }

func (w way) on(ctx context.Context) context.Context { return context.WithValue(ctx, way{}, w) }

func (f *far) Do(ctx context.Context, ds []proxy.Decision) {
	f.calls.Add(1)
	if f.err != nil {
		proxy.Fail(ds, proxy.ErrUnavailable, f.err)
		return
	}
	w, _ := ctx.Value(way{}).(way)
	time.Sleep(w.there)
	f.Backend.Do(ctx, ds)
	time.Sleep(w.back)
}

// denied is a bucket behind a cache of denials, in the time of a bubble.
type denied struct {
	proxy.Bucket
	t     *testing.T
	store *far
}

func manage(t *testing.T, b proxy.Backend, opts ...proxy.Option) *proxy.Manager {
	t.Helper()
	m, err := proxy.NewManager(b, append([]proxy.Option{proxy.WithTimeout(time.Hour)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newDenied(t *testing.T, c bucket.Configuration, staleness time.Duration) denied {
	t.Helper()
	store := newFar()
	return denied{manage(t, proxy.CacheDenials(store, staleness)).Bucket("k", c), t, store}
}

// told is what a take is to be told.
type told struct {
	consumed bool
	left     int64
	wait     time.Duration
	source   bucket.Source
}

func (d denied) take(n int64, want told) {
	d.t.Helper()
	p, err := d.Consume(d.t.Context(), n)
	if got := (told{p.Consumed, p.RemainingTokens, p.Wait, p.Source}); got != want || err != nil {
		d.t.Errorf("take %d: got %+v, %v; want %+v", n, got, err, want)
	}
}

// asked says how often the store must have been asked since the last time.
func (d denied) asked(want int64) {
	d.t.Helper()
	if got := d.store.calls.Swap(0); got != want {
		d.t.Errorf("the store was asked %d times, want %d", got, want)
	}
}

// tenSeconds gives a token each second.
var tenSeconds = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(10, 10*time.Second))))

func TestADenialAnswersTakesOfAllCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newDenied(t, tenSeconds, time.Minute)
		b.take(10, told{consumed: true})
		b.take(3, told{wait: 3 * time.Second})
		b.asked(2)
		time.Sleep(500 * time.Millisecond)
		b.take(3, told{wait: 2500 * time.Millisecond, source: bucket.SourceCache})
		b.take(8, told{wait: 7500 * time.Millisecond, source: bucket.SourceCache})
		b.take(1, told{wait: 500 * time.Millisecond, source: bucket.SourceCache})
		if p, err := b.Consume(t.Context(), 11); err != nil || !p.Never || p.Source != bucket.SourceCache {
			t.Errorf("11 of 10: %+v, %v", p, err)
		}
		if p, err := b.ConsumeUpTo(t.Context(), 4); err != nil || p.Consumed || p.Wait != 500*time.Millisecond || p.Source != bucket.SourceCache {
			t.Errorf("up to 4: %+v, %v", p, err)
		}
		var late *bucket.TooLateError
		if _, err := b.Reserve(t.Context(), 2, time.Second); !errors.As(err, &late) || late.Wait != 1500*time.Millisecond {
			t.Errorf("reserving 2 within a second: %v", err)
		}
		if _, err := b.Reserve(t.Context(), 11, math.MaxInt64); !errors.Is(err, bucket.ErrNever) {
			t.Errorf("reserving 11 of 10: %v", err)
		}
		b.asked(0)
		if r, err := b.Reserve(t.Context(), 2, 1500*time.Millisecond); err != nil || r.RemainingTokens != -2 {
			t.Errorf("reserving 2: %+v, %v", r, err)
		}
		b.asked(1)
		b.take(1, told{left: -2, wait: 2500 * time.Millisecond})
		b.take(1, told{left: -2, wait: 2500 * time.Millisecond, source: bucket.SourceCache})
		b.asked(1)
	})
}

// Looks are answered by the store. One that finds the bucket as it is remembered leaves
// the denial alone, and after one that finds another nobody is told what was before.
func TestLooksAreNotAnsweredByDenials(t *testing.T) {
	for name, look := range map[string]func(b proxy.Bucket) error{
		"estimate":  func(b proxy.Bucket) error { _, err := b.Estimate(context.Background(), 1); return err },
		"available": func(b proxy.Bucket) error { _, err := b.Available(context.Background()); return err },
		"inspect":   func(b proxy.Bucket) error { _, err := b.Inspect(context.Background()); return err },
		"cost 0":    func(b proxy.Bucket) error { _, err := b.Consume(context.Background(), 0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const staleness = 5 * time.Second
				b := newDenied(t, daily, staleness)
				b.take(3, told{consumed: true})
				look := func() {
					t.Helper()
					if err := look(b.Bucket); err != nil {
						t.Error(err)
					}
				}
				wait := 24 * time.Hour
				b.take(1, told{wait: wait})
				b.asked(2)
				for range 3 {
					time.Sleep(time.Second)
					wait -= time.Second
					b.take(1, told{wait: wait, source: bucket.SourceCache})
					b.asked(0)
					look()
					b.asked(1)
				}

				if _, err := manage(t, b.store).Bucket("k", daily).Add(t.Context(), 2); err != nil {
					t.Error(err)
				}
				b.asked(1)
				b.take(1, told{wait: wait, source: bucket.SourceCache})
				look()
				b.take(1, told{consumed: true, left: 1})
				b.asked(2)
			})
		})
	}
}

// What a look says of the time to full holds for its own configuration, and not for
// the stored bucket, which is forgotten sooner here.
func TestALookUnderAnotherConfigurationProlongsNoDenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := proxy.CacheDenials(newFar(), 5*time.Minute)
		quick := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(1, time.Second))))
		slow := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(100, bandwidth.Greedy(1, time.Hour))))
		m, ruled := manage(t, cache), manage(t, cache, proxy.WithStoredRules())
		for _, granted := range []bool{true, false} {
			if ok, err := m.Bucket("k", quick).TryConsume(t.Context(), 3); ok != granted || err != nil {
				t.Errorf("got %t, %v", ok, err)
			}
		}
		if _, err := m.Bucket("k", slow).Available(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(100 * time.Second)
		if p, err := ruled.Bucket("k", slow).Consume(t.Context(), 5); err != nil || !p.Consumed {
			t.Errorf("got %+v, %v, where the key has long been forgotten", p, err)
		}
	})
}

func TestC61(t *testing.T) {
	t.Run("the tenth is allowed and the eleventh denied", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newDenied(t, tenSeconds, time.Minute)
			for left := int64(9); left >= 0; left-- {
				b.take(1, told{consumed: true, left: left})
			}
			b.take(1, told{wait: time.Second})
			b.take(1, told{wait: time.Second, source: bucket.SourceCache})
		})
	})

	t.Run("a denial is forgotten at its wait, not later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newDenied(t, tenSeconds, time.Minute)
			b.take(10, told{consumed: true})
			time.Sleep(300 * time.Millisecond)
			b.take(1, told{wait: 700 * time.Millisecond})
			time.Sleep(700*time.Millisecond - 2*time.Microsecond)
			b.take(1, told{wait: 2 * time.Microsecond, source: bucket.SourceCache})
			time.Sleep(2 * time.Microsecond)
			b.take(1, told{consumed: true})
		})
	})

	t.Run("however long the store took to say so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newDenied(t, tenSeconds, time.Minute)
			b.take(10, told{consumed: true})
			// The store refuses after 1 s, with 4 s to go.
			p, err := b.Consume(way{time.Second, 2 * time.Second}.on(t.Context()), 5)
			if err != nil || p.Wait != 4*time.Second {
				t.Errorf("got %v, %v", p.Wait, err)
			}
			// Nobody here knows when in these 3 s that was.
			b.take(5, told{left: 1, wait: 4 * time.Second, source: bucket.SourceCache})
			time.Sleep(time.Second - 2*time.Microsecond)
			b.take(5, told{left: 1, wait: 3*time.Second + 2*time.Microsecond, source: bucket.SourceCache})
			time.Sleep(2 * time.Microsecond)
			b.take(5, told{left: 4, wait: time.Second})
			time.Sleep(time.Second)
			b.take(5, told{consumed: true})
		})
	})

	t.Run("nor is a reservation refused that might do", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newDenied(t, tenSeconds, time.Minute)
			b.take(10, told{consumed: true})
			if _, err := b.Consume(way{time.Second, 2 * time.Second}.on(t.Context()), 5); err != nil {
				t.Error(err)
			}
			if r, err := b.Reserve(t.Context(), 5, 2*time.Second); err != nil || r.Wait != 2*time.Second {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	})

	t.Run("of twenty at once five are allowed", func(t *testing.T) {
		five := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(5, bandwidth.Greedy(1, 24*time.Hour))))
		for i := range 50 {
			m := manage(t, proxy.CacheDenials(proxy.Coalesce(proxy.CompareAndSwap(newShelf(), codec.MessagePack{})), time.Minute))
			var allowed atomic.Int64
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					ok, err := m.Bucket(strconv.Itoa(i), five).TryConsume(t.Context(), 1)
					if err != nil {
						t.Error(err)
					}
					if ok {
						allowed.Add(1)
					}
				})
			}
			wg.Wait()
			if allowed.Load() != 5 {
				t.Fatalf("%d of 20 were allowed", allowed.Load())
			}
		}
	})
}

var daily, dailyV2 = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(3, bandwidth.Greedy(1, 24*time.Hour)))),
	bucket.Must(bucket.MustConfiguration(bandwidth.Must(bandwidth.New(9, bandwidth.Greedy(1, 24*time.Hour)))).WithVersion(2, bucket.Additive))

// What happens by another manager, as in another process, is seen within the
// staleness, and what happens by this one at once.
func TestC61WhatHappensElsewhereIsSeenInTime(t *testing.T) {
	const staleness = 5 * time.Second
	for name, change := range map[string]func(*proxy.Manager, *bucket.Reservation) error{
		"add": func(m *proxy.Manager, _ *bucket.Reservation) error {
			_, err := m.Bucket("k", daily).Add(context.Background(), 2)
			return err
		},
		"force-add": func(m *proxy.Manager, _ *bucket.Reservation) error {
			_, err := m.Bucket("k", daily).ForceAdd(context.Background(), 20)
			return err
		},
		"reset": func(m *proxy.Manager, _ *bucket.Reservation) error {
			return m.Bucket("k", daily).Reset(context.Background())
		},
		"cancel": func(_ *proxy.Manager, r *bucket.Reservation) error { return r.Cancel(context.Background()) },
		"settle": func(_ *proxy.Manager, r *bucket.Reservation) error { return r.Settle(context.Background(), 1) },
		"remove": func(m *proxy.Manager, _ *bucket.Reservation) error {
			_, err := m.Remove(context.Background(), "k")
			return err
		},
		"replace": func(m *proxy.Manager, _ *bucket.Reservation) error {
			return m.Bucket("k", daily).Replace(context.Background(), dailyV2, bucket.Reset)
		},
		"newer version": func(m *proxy.Manager, _ *bucket.Reservation) error {
			_, err := m.Bucket("k", dailyV2).Consume(context.Background(), 1)
			return err
		},
	} {
		for _, elsewhere := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, elsewhere %t", name, elsewhere), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newFar()
					here := manage(t, proxy.CacheDenials(store, staleness))
					other := here
					if elsewhere {
						other = manage(t, store)
					}
					b := denied{here.Bucket("k", daily), t, store}
					reserved, err := other.Bucket("k", daily).Reserve(t.Context(), 3, 0)
					if err != nil {
						t.Fatal(err)
					}
					b.take(1, told{wait: 24 * time.Hour})
					seen := time.Now()
					time.Sleep(time.Second)
					if err := change(other, reserved); err != nil {
						t.Fatal(err)
					}
					if elsewhere {
						time.Sleep(time.Until(seen.Add(staleness - 1)))
						b.take(1, told{wait: 24*time.Hour - (staleness - time.Microsecond), source: bucket.SourceCache})
						time.Sleep(time.Nanosecond)
					}
					if p, err := b.Consume(t.Context(), 1); err != nil || !p.Consumed || p.Source != bucket.SourceStore {
						t.Errorf("after that: %+v, %v", p, err)
					}
				})
			})
		}
	}
}

// Nobody is told what was before something that somebody has been told. In each of
// these two calls pass each other on their way, while a third is not back yet.
func TestDenialsThatAreOvertaken(t *testing.T) {
	type timetable = func(start time.Duration, w way, call func(context.Context)) // in seconds
	for name, calls := range map[string]struct {
		first func(b denied, at timetable)
		left  int64
	}{
		"by a credit": {left: 2, first: func(b denied, at timetable) {
			at(0, way{0, 4}, b.refused(0))
			at(1, way{0, 0}, func(ctx context.Context) { _, _ = b.Add(ctx, 2) })
		}},
		"by a look at a credit": {left: 2, first: func(b denied, at timetable) {
			at(0, way{0, 0}, b.refused(0))
			at(1, way{0, 9}, func(ctx context.Context) { _, _ = b.Add(ctx, 2) })
			at(2, way{0, 0}, func(ctx context.Context) { _, _ = b.Available(ctx) })
		}},
		"by one that saw more": {left: -3, first: func(b denied, at timetable) {
			at(0, way{2, 10}, b.forced)
			at(0, way{1, 5}, b.refused(0))
			at(1, way{2, 1}, b.refused(-3))
		}},
		"by one that saw more and was remembered before": {left: -3, first: func(b denied, at timetable) {
			at(0, way{1, 3}, b.refused(0))
			at(0, way{2, 10}, b.forced)
			at(0, way{3, 2}, b.refused(-3))
		}},
		"by one that cancelled another": {left: -3, first: func(b denied, at timetable) {
			at(0, way{2, 10}, b.forced)
			at(0, way{3, 1}, b.refused(-3))
			at(0, way{1, 4}, b.refused(0))
			at(0, way{1, 5}, b.refused(0))
		}},
		"by one of an epoch that is over": {left: -3, first: func(b denied, at timetable) {
			at(0, way{2, 10}, b.forced)
			at(0, way{3, 1}, b.refused(-3))
			at(1, way{0, 0}, func(ctx context.Context) { _, _ = b.Available(ctx) })
			at(1, way{0, 4}, b.refused(0))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newDenied(t, daily, time.Hour)
				if ok, err := b.TryConsume(t.Context(), 3); !ok || err != nil {
					t.Fatal(ok, err)
				}
				begun := time.Now()
				calls.first(b, func(start time.Duration, w way, call func(context.Context)) {
					time.Sleep(time.Until(begun.Add(start * time.Second)))
					go call(way{w.there * time.Second, w.back * time.Second}.on(t.Context()))
					synctest.Wait()
				})
				time.Sleep(time.Until(begun.Add(7 * time.Second)))
				p, err := b.Consume(t.Context(), 3)
				if err != nil || p.Consumed || p.RemainingTokens != calls.left {
					t.Errorf("got %+v, %v; want %d left", p, err, calls.left)
				}
				time.Sleep(time.Minute) // all are back
			})
		})
	}
}

func (d denied) forced(ctx context.Context) {
	if _, err := d.Force(ctx, 3); err != nil {
		d.t.Error(err)
	}
}

// refused is a take that is refused and told how many are left.
func (d denied) refused(left int64) func(context.Context) {
	return func(ctx context.Context) {
		p, err := d.Consume(ctx, 3)
		if err != nil || p.Consumed || p.RemainingTokens != left {
			d.t.Errorf("got %+v, %v; want %d left", p, err, left)
		}
	}
}
