package bucket_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice/bucket"
)

// call is one on a local bucket whose clock stands still.
type call struct {
	kind bucket.Kind
	n    int64
}

const held = 10 // tokens, at first and at most

var tokens = porcupine.Model{
	Init: func() any { return int64(held) },
	Step: func(state, input, output any) (bool, any) {
		there, in, out := state.(int64), input.(call), output.(int64)
		switch in.kind {
		case bucket.OpConsume:
			if there < in.n {
				return out == 0, there
			}
			return out == 1, there - in.n
		case bucket.OpForce:
			return true, there - in.n
		case bucket.OpAdd:
			if there < held {
				there = min(there+in.n, held)
			}
			return out == there, there
		case bucket.OpForceAdd:
			return out == there+in.n, there + in.n
		case bucket.OpReset:
			return true, int64(held)
		default:
			return out == there, there
		}
	},
}

func do(l *bucket.Local, c call) int64 {
	switch c.kind {
	case bucket.OpConsume:
		if l.TryConsume(c.n) {
			return 1
		}
		return 0
	case bucket.OpForce:
		l.Force(c.n)
	case bucket.OpAdd:
		return l.Add(c.n)
	case bucket.OpForceAdd:
		return l.ForceAdd(c.n)
	case bucket.OpReset:
		l.Reset()
	default:
		return l.Available()
	}
	return 0
}

// Takes by the shortest way there is and everything else by the general one, at the
// same time, are as one after another.
func TestLocalIsLinearizable(t *testing.T) {
	hourly := greedy(held, 1, time.Hour)
	t.Run("word", func(t *testing.T) { // which credit moves the state out of, and back
		localIsLinearizable(t, bucket.MustConfiguration(hourly))
	})
	t.Run("lock", func(t *testing.T) {
		localIsLinearizable(t, bucket.MustConfiguration(hourly, interval(held, 1, time.Hour), aligned(held, 1, time.Hour)))
	})
}

func localIsLinearizable(t *testing.T, c bucket.Configuration) {
	kinds := []bucket.Kind{
		bucket.OpConsume, bucket.OpConsume, bucket.OpConsume, bucket.OpConsume, bucket.OpInspect,
		bucket.OpForce, bucket.OpAdd, bucket.OpForceAdd, bucket.OpReset,
	}
	for seed := range uint64(300) {
		l := bucket.New(c, bucket.WithMonotonicClock(func() int64 { return 1 << 50 }))
		const callers, calls = 6, 8
		var history [callers][]porcupine.Operation
		begun := time.Now()
		start := make(chan struct{})
		var wg sync.WaitGroup
		for id := range callers {
			r := rand.New(rand.NewPCG(seed, uint64(id)))
			wg.Go(func() {
				<-start
				for range calls {
					c := call{kinds[r.IntN(len(kinds))], 1 + r.Int64N(4)}
					called := int64(time.Since(begun))
					out := do(l, c)
					history[id] = append(history[id], porcupine.Operation{
						ClientId: id, Input: c, Output: out, Call: called, Return: int64(time.Since(begun)),
					})
				}
			})
		}
		close(start)
		wg.Wait()
		var all []porcupine.Operation
		for _, h := range history {
			all = append(all, h...)
		}
		if porcupine.CheckOperationsTimeout(tokens, all, 20*time.Second) == porcupine.Illegal {
			t.Fatalf("seed %d: no order of these calls explains what they saw: %+v", seed, all)
		}
	}
}

// Every token is granted once, whatever the number of takers.
func TestLocalTakersShareWhatThereIs(t *testing.T) {
	for _, c := range []bucket.Configuration{
		bucket.MustConfiguration(greedy(100_000, 1, time.Hour)),                                // in a word
		bucket.MustConfiguration(greedy(100_000, 1, time.Hour), greedy(200_000, 1, time.Hour)), // under the lock
	} {
		l := bucket.New(c, bucket.WithMonotonicClock(func() int64 { return 7 }))
		var granted [8]int64
		var wg sync.WaitGroup
		for id := range granted {
			wg.Go(func() {
				for range 30_000 {
					if l.TryConsume(1) {
						granted[id]++
					}
				}
			})
		}
		wg.Wait()
		var sum int64
		for _, n := range granted {
			sum += n
		}
		if sum != 100_000 || l.Available() != 0 {
			t.Errorf("%d granted of 100,000, %d left", sum, l.Available())
		}
	}
}

// A word holds the differences of a few days at such a rate. After any time the
// bucket is full, and no fuller.
func TestLocalWordAfterIdling(t *testing.T) {
	for idle := time.Hour; idle > 0; idle += idle / 3 {
		var now int64
		l := bucket.New(bucket.MustConfiguration(greedy(10, 9999, time.Second)), bucket.WithMonotonicClock(func() int64 { return now }))
		for round := range 3 {
			for i := range 11 {
				if got := l.TryConsume(1); got != (i < 10) {
					t.Fatalf("after %d times %v: take %d is %t", round, idle, i+1, got)
				}
			}
			if now += int64(idle); now < 0 {
				return
			}
		}
	}
}

// Such a clock is not allowed, and hands out nothing all the same.
func TestLocalWordOnAClockThatGoesBack(t *testing.T) {
	now := int64(1000)
	l := bucket.New(bucket.MustConfiguration(greedy(10, 1, time.Hour)), bucket.WithMonotonicClock(func() int64 { return now }))
	l.TryConsume(10)
	now--
	if l.Available() != 0 || l.TryConsume(1) {
		t.Error("a step back has refilled the bucket")
	}
	now += int64(time.Hour) + 1
	if !l.TryConsume(1) || l.TryConsume(1) {
		t.Error("not one token after an hour")
	}
}

// A configuration that was read anew is the same.
func TestLocalWordSurvivesAnEqualConfiguration(t *testing.T) {
	config := func() bucket.Configuration { return bucket.MustConfiguration(greedy(10, 1, time.Hour)) }
	l := bucket.New(config())
	l.TryConsume(4)
	if err := l.Bucket().Replace(t.Context(), config(), bucket.AsIs); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if !l.TryConsume(1) {
			t.Fatal("tokens are gone")
		}
	}
	if l.TryConsume(1) {
		t.Error("a token too many")
	}
}

// Takes while time moves: no more than the capacity and what came back.
func TestLocalTakersWhileTimeMoves(t *testing.T) {
	var now atomic.Int64
	l := bucket.New(bucket.MustConfiguration(greedy(100, 1000, time.Second)), bucket.WithMonotonicClock(now.Load))
	var granted atomic.Int64
	var takers, mover sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		takers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if l.TryConsume(1) {
					granted.Add(1)
				}
				l.Available()
			}
		})
	}
	mover.Go(func() {
		for range 20_000 {
			now.Add(100_000) // a tenth of a token
		}
		close(stop)
	})
	mover.Wait()
	takers.Wait()
	if n, most := granted.Load()+l.Available(), int64(100+2000); n > most || n < 100 {
		t.Errorf("%d granted or left, want 100 to %d", n, most)
	}
}

// The real clock: what is taken in a while is what the rate allows.
func TestLocalWordRefills(t *testing.T) {
	l := bucket.New(bucket.MustConfiguration(greedy(10, 1000, time.Second)))
	begun := time.Now()
	var granted int64
	for time.Since(begun) < 50*time.Millisecond {
		if l.TryConsume(1) {
			granted++
		}
	}
	if most := 10 + int64(time.Since(begun)/time.Millisecond) + 1; granted > most || granted < 10 {
		t.Errorf("%d granted, want 10 to %d", granted, most)
	}
}

// overtaken is a bucket with a take under way that another caller comes before: at has
// read the word and reads the clock, which tells at once when it was asked, and what
// the other does happens meanwhile.
func overtaken(c bucket.Configuration, at *int64, other func(l *bucket.Local)) *bucket.Local {
	var l *bucket.Local
	armed := false
	l = bucket.New(c, bucket.WithMonotonicClock(func() int64 {
		now := *at
		if armed {
			armed = false
			other(l)
		}
		return now
	}))
	l.TryConsume(c.Bandwidth(0).Capacity())
	armed = true
	return l
}

// Who has lost a swap is not refused what has come back by then.
func TestLocalWordRefusesByTheClock(t *testing.T) {
	at := int64(0)
	l := overtaken(bucket.MustConfiguration(greedy(2, 1, time.Second)), &at, func(l *bucket.Local) {
		if !l.TryConsume(1) {
			t.Error("the other was refused")
		}
		at += int64(time.Second)
	})
	at += int64(time.Second)
	if !l.TryConsume(1) || l.TryConsume(1) {
		t.Error("two tokens came back in two seconds, of which the other took one")
	}
}

// Who has lost a swap knows nothing of a word that was away: at this rate its
// differences are told right for less than five seconds.
func TestLocalWordThatWasAwayIsReadAnew(t *testing.T) {
	at := int64(0)
	l := overtaken(bucket.MustConfiguration(greedy(10, 999_999_999, time.Second)), &at, func(l *bucket.Local) {
		at += int64(5 * time.Second)
		if !l.TryConsume(10) { // by the slow path, beyond the window
			t.Error("the other was refused")
		}
	})
	at += 2 // a token is there
	if l.TryConsume(1) || l.Available() != 0 {
		t.Errorf("a token of none is granted, and %d are left", l.Available())
	}
}
