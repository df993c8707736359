package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// shelf is the smallest store that a stranger could write: bytes by key under a
// mutex, on a clock that stands still.
type shelf struct {
	mu      sync.Mutex
	bytes   map[string][]byte
	life    map[string]expiration.Life
	between func() // called before each swap
	loads   int
	swaps   int
}

func newShelf() *shelf {
	return &shelf{bytes: map[string][]byte{}, life: map[string]expiration.Life{}, between: func() {}}
}

func (s *shelf) Load(_ context.Context, key string) (proxy.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	return s.stored(key), nil
}

func (s *shelf) stored(key string) proxy.Stored {
	return proxy.Stored{Bytes: s.bytes[key], At: bucket.Moment{Now: 1_700_000_000_000_000, Tick: bucket.Microsecond}}
}

func (s *shelf) Swap(_ context.Context, key string, was proxy.Stored, next []byte, life expiration.Life) (proxy.Stored, bool, error) {
	s.between()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swaps++
	if !bytes.Equal(s.bytes[key], was.Bytes) || (s.bytes[key] == nil) != (was.Bytes == nil) {
		return s.stored(key), false, nil
	}
	if next == nil {
		delete(s.bytes, key)
	} else {
		s.bytes[key], s.life[key] = bytes.Clone(next), life
	}
	return proxy.Stored{}, true, nil
}

func (s *shelf) Close() error { return nil }

func onShelf(t *testing.T, s proxy.Store, opts ...proxy.Option) *proxy.Manager {
	t.Helper()
	m, err := proxy.NewManager(proxy.CompareAndSwap(s, codec.MessagePack{}), append(opts, proxy.WithKeyPrefix(""))...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSwapTrips(t *testing.T) {
	s := newShelf()
	b := onShelf(t, s).Bucket("k", hourly)
	for _, tc := range []struct {
		name         string
		cost         int64
		consumed     bool
		loads, swaps int
	}{
		{"refused before it exists", 4, false, 1, 0},
		{"granted", 3, true, 1, 1},
		{"refused", 1, false, 1, 0},
		{"peek", 0, false, 1, 0},
	} {
		s.loads, s.swaps = 0, 0
		p, err := b.Consume(t.Context(), tc.cost)
		if err != nil || p.Consumed != tc.consumed || s.loads != tc.loads || s.swaps != tc.swaps {
			t.Errorf("%s: %+v, %v in %d loads and %d swaps", tc.name, p, err, s.loads, s.swaps)
		}
	}
	if got, want := s.life["k"], expiration.Life(time.Hour/time.Microsecond); got != want {
		t.Errorf("the key lives %d µs, want %d", got, want)
	}
	if err := b.Reset(t.Context()); err != nil || len(s.bytes) != 0 {
		t.Errorf("a full bucket is kept: % x, %v", s.bytes, err)
	}
}

func TestALostSwapStartsFromWhatIsThere(t *testing.T) {
	s := newShelf()
	b := onShelf(t, s).Bucket("k", hourly)
	other := onShelf(t, s).Bucket("k", hourly)
	s.between = func() {
		s.between = func() {}
		if ok, err := other.TryConsume(context.Background(), 2); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	p, err := b.Consume(t.Context(), 2)
	if err != nil || p.Consumed || p.RemainingTokens != 1 || s.loads != 2 {
		t.Errorf("got %+v, %v after %d loads", p, err, s.loads)
	}
}

// gone adds up the tokens that a listener hears gone.
type gone int64

func (g *gone) Tell(_ context.Context, e bucket.Event) { *g += gone(e.Tokens) }

func TestC59ContentionIsToldAndEachTokenOnce(t *testing.T) {
	s := newShelf()
	var heard recorder
	var taken gone
	b := onShelf(t, s, proxy.WithObserver(&heard), proxy.WithListener(&taken), proxy.WithTimeout(time.Minute)).Bucket("k", hourly)
	other := onShelf(t, s).Bucket("k", hourly)
	for _, tc := range []struct {
		lost int
		want string
	}{{0, "decision made"}, {1, "contended, decision made"}, {50, "contended, decision made"}} {
		others := tc.lost
		var interfere func()
		interfere = func() {
			if others == 0 {
				return
			}
			others--
			s.between = func() {} // for the other's own swap
			if _, err := other.Force(context.Background(), 1); err != nil {
				t.Error(err)
			}
			s.between = interfere
		}
		s.between = interfere
		heard.events = nil
		if _, err := b.Force(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		last := heard.events[len(heard.events)-1]
		if heard.String() != tc.want || last.LostSwaps != tc.lost {
			t.Errorf("heard %q and of %d lost swaps, want %q and %d", heard.String(), last.LostSwaps, tc.want, tc.lost)
		}
	}
	wantLeft(t, other, -51) // 3 less our 3 and the 51 of the other
	if taken != 3 {
		t.Errorf("a listener heard of %d tokens gone, want 3", taken)
	}
}

func wantLeft(t *testing.T, b proxy.Bucket, want int64) {
	t.Helper()
	if left, err := b.Available(t.Context()); err != nil || left != want {
		t.Errorf("%d left, %v; want %d", left, err, want)
	}
}

// What is damaged is told by each call that meets it, until one replaces it.
func TestReadsLeaveWhatIsDamaged(t *testing.T) {
	s := newShelf()
	s.bytes["k"] = []byte("\xc1")
	var heard recorder
	b := onShelf(t, s, proxy.WithObserver(&heard)).Bucket("k", hourly)
	for range 2 {
		wantLeft(t, b, 3)
	}
	if ok, err := b.TryConsume(t.Context(), 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	wantLeft(t, b, 2)
	const each = "bucket lost, decision made, "
	if got := heard.String(); got != each+each+each+"decision made" {
		t.Errorf("heard %q", got)
	}
}

func TestContentionIsExact(t *testing.T) {
	s := newShelf()
	var granted, refused atomic.Int64
	var wg sync.WaitGroup
	c := bucket.MustConfiguration(hourly.Bandwidth(0))
	for range 4 {
		m := onShelf(t, s, proxy.WithTimeout(time.Minute))
		for range 25 {
			wg.Go(func() {
				ok, err := m.Bucket("k", c).TryConsume(context.Background(), 1)
				switch {
				case err != nil:
					t.Error(err)
				case ok:
					granted.Add(1)
				default:
					refused.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if granted.Load() != 3 || refused.Load() != 97 {
		t.Errorf("%d granted and %d refused of 100, capacity 3", granted.Load(), refused.Load())
	}
}

func TestContentionEndsWithTheDeadline(t *testing.T) {
	s := newShelf()
	busy := byte(0)
	s.between = func() { // somebody else is always faster
		busy++
		s.bytes["k"] = append([]byte(codec.Prefix(hourly)), 0, 1, 0)
		s.bytes["k"][len(s.bytes["k"])-3] = busy % 100
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := onShelf(t, s).Bucket("k", hourly).TryConsume(ctx, 1)
	var fault *proxy.StoreError
	if !errors.Is(err, proxy.ErrContended) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &fault) || fault.Key != "k" {
		t.Errorf("got %v", err)
	}
}

// Whoever has lost many swaps stops making way for newcomers: two hundred losses do not
// take him past his deadline.
func TestNobodyMakesWayForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		const losses = 200
		s.between = func() { // somebody else is faster
			if s.swaps < losses {
				s.bytes["k"] = append([]byte(codec.Prefix(hourly)), byte(s.swaps%100), 1, 0)
			}
		}
		if ok, err := onShelf(t, s).Bucket("k", hourly).TryConsume(t.Context(), 1); !ok || err != nil {
			t.Errorf("got %v, %v after %d swaps", ok, err, s.swaps)
		}
	})
}

func TestWhoseBytes(t *testing.T) {
	ours := codec.Prefix(hourly)
	for name, tc := range map[string]struct {
		bytes string
		want  error // nil: replaced by a new bucket
	}{
		"foreign":        {"hello", proxy.ErrForeignState},
		"another format": {"\xc1\x02\x01\x02\x03", proxy.ErrUnknownFormat},
		"empty":          {"", nil},
		"only the mark":  {"\xc1", nil},
		"cut":            {ours + "\x05", nil},
		"too long":       {ours + "\x05\x01\x00\x00", nil},
		"out of range":   {ours + "\x05\x01\xff", nil},
	} {
		for _, op := range []bucket.Operation{
			{Kind: bucket.OpConsume, Tokens: 1},
			{Kind: bucket.OpConsume, Tokens: 9},
			{Kind: bucket.OpConsumeUpTo, Tokens: 1},
			{Kind: bucket.OpAdd, Tokens: 1},
			{Kind: bucket.OpReset},
			{Kind: bucket.OpInspect},
			{Kind: bucket.OpRemove},
		} {
			s := newShelf()
			s.bytes["k"] = []byte(tc.bytes)
			d := []proxy.Decision{{
				Charges: []proxy.Charge{{Key: "k", Request: bucket.Request{Config: hourly, Op: op}}},
				Results: make([]bucket.Result, 1),
			}}
			proxy.CompareAndSwap(s, codec.MessagePack{}).Do(t.Context(), d)
			lost := d[0].Notes&proxy.StateLost != 0
			kept := bytes.Equal(s.bytes["k"], []byte(tc.bytes)) && s.bytes["k"] != nil
			switch {
			case !errors.Is(d[0].Err, tc.want):
				t.Errorf("%s, %v: got %v, want %v", name, op.Kind, d[0].Err, tc.want)
			case lost != (tc.want == nil):
				t.Errorf("%s, %v: lost is %v", name, op.Kind, lost)
			case kept != (tc.want != nil || op.ReadOnly()):
				t.Errorf("%s, %v: bytes are now % x", name, op.Kind, s.bytes["k"])
			}
		}
	}
}

// failing is a store whose swaps fail.
type failing struct {
	*shelf
	err error
}

func (f failing) Swap(context.Context, string, proxy.Stored, []byte, expiration.Life) (proxy.Stored, bool, error) {
	return proxy.Stored{}, false, f.err
}

func TestAFailedSwapIsNotRetried(t *testing.T) {
	want := &proxy.StoreError{Kind: proxy.ErrOutcomeUnknown, Key: "k"}
	s := failing{newShelf(), want}
	if _, err := onShelf(t, s).Bucket("k", hourly).TryConsume(t.Context(), 1); err != want {
		t.Errorf("got %v", err)
	}
	if s.loads != 1 {
		t.Errorf("%d loads", s.loads)
	}
}

func TestSetsAreUnsupported(t *testing.T) {
	d := []proxy.Decision{{Charges: make([]proxy.Charge, 2), Results: make([]bucket.Result, 2)}}
	proxy.CompareAndSwap(newShelf(), codec.MessagePack{}).Do(t.Context(), d)
	if !errors.Is(d[0].Err, errors.ErrUnsupported) {
		t.Errorf("got %v", d[0].Err)
	}
}
