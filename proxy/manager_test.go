package proxy_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func TestNewManagerReportsEveryBadArgument(t *testing.T) {
	var none *memory.Backend
	for name, tc := range map[string]struct {
		backend proxy.Backend
		opts    []proxy.Option
		fields  []string
	}{
		"nil backend":        {nil, nil, []string{"backend"}},
		"typed nil backend":  {none, nil, []string{"backend"}},
		"backend's argument": {memory.New(memory.WithClock(nil)), nil, []string{"clock"}},
		"brace in prefix":    {memory.New(), []proxy.Option{proxy.WithKeyPrefix("a{b")}, []string{"key prefix"}},
		"no timeout":         {memory.New(), []proxy.Option{proxy.WithTimeout(0)}, []string{"timeout"}},
		"nil observer":       {memory.New(), []proxy.Option{proxy.WithObserver(nil)}, []string{"observer"}},
		"nil option":         {memory.New(), []proxy.Option{nil}, []string{"option"}},
		"expiration":         {memory.New(), []proxy.Option{proxy.WithExpiration(expiration.TimeToFull(-1))}, []string{"keep"}},
		"all at once":        {nil, []proxy.Option{proxy.WithTimeout(-1), proxy.WithKeyPrefix("}")}, []string{"backend", "timeout", "key prefix"}},
	} {
		m, err := proxy.NewManager(tc.backend, tc.opts...)
		if m != nil || !errors.Is(err, bucket.ErrInvalidArgument) {
			t.Errorf("%s: got %v, %v", name, m, err)
			continue
		}
		for _, field := range tc.fields {
			if !strings.Contains(err.Error(), "invalid "+field) {
				t.Errorf("%s: %v does not name %q", name, err, field)
			}
		}
	}
}

// recorder keeps the names of events and what they told.
type recorder struct {
	mu     sync.Mutex
	events []proxy.Event
}

func (r *recorder) Observe(_ context.Context, e proxy.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Result != nil {
		result := *e.Result
		e.Result = &result
	}
	r.events = append(r.events, e)
}

func (r *recorder) String() string {
	var names []string
	for _, e := range r.events {
		names = append(names, e.Kind.String())
	}
	return strings.Join(names, ", ")
}

// fixed is a backend that answers each decision the same way.
type fixed struct {
	answer func(context.Context, *proxy.Decision)
}

func (f fixed) Close() error { return nil }

func (f fixed) Do(ctx context.Context, ds []proxy.Decision) {
	for i := range ds {
		f.answer(ctx, &ds[i])
	}
}

func TestObserverHearsWhatHappened(t *testing.T) {
	failure := &proxy.StoreError{Kind: proxy.ErrUnavailable, Key: "k", Cause: errors.New("down")}
	for want, answer := range map[string]func(*proxy.Decision){
		"decision made": func(*proxy.Decision) {},
		"store failed":  func(d *proxy.Decision) { d.Err = failure },
		"handed to compare-and-swap, store failed":               func(d *proxy.Decision) { d.Notes, d.Err = proxy.HandedOver, failure },
		"handed to compare-and-swap, bucket lost, decision made": func(d *proxy.Decision) { d.Notes = proxy.HandedOver | proxy.StateLost },
		"contended, store failed":                                func(d *proxy.Decision) { d.LostSwaps, d.Err = 1, failure },
		"handed to compare-and-swap, contended, decision made":   func(d *proxy.Decision) { d.Notes, d.LostSwaps = proxy.HandedOver, 3 },
		"configuration conflict, decision made":                  func(d *proxy.Decision) { d.Results[0].Conflict = true },
	} {
		var heard recorder
		m, err := proxy.NewManager(fixed{func(_ context.Context, d *proxy.Decision) { answer(d) }},
			proxy.WithObserver(&heard), proxy.WithKeyPrefix("p:"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Bucket("k", hourly).Consume(t.Context(), 2)
		if heard.String() != want {
			t.Errorf("heard %q, want %q", heard.String(), want)
		}
		last := heard.events[len(heard.events)-1]
		if last.Key != "p:k" || last.Op != (bucket.Operation{Kind: bucket.OpConsume, Tokens: 2}) || !errors.Is(last.Err, err) {
			t.Errorf("%s: told key %q, operation %v, error %v beside %v", want, last.Key, last.Op, last.Err, err)
		}
	}
}

func TestCallsAreBoundedByTheTimeout(t *testing.T) {
	var left time.Duration
	m, err := proxy.NewManager(fixed{func(ctx context.Context, _ *proxy.Decision) {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
	}}, proxy.WithTimeout(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) time.Duration {
		left = 0
		if _, err := m.Bucket("k", hourly).Consume(ctx, 1); err != nil {
			t.Fatal(err)
		}
		return left
	}
	if d := ask(t.Context()); d < 59*time.Minute || d > time.Hour {
		t.Errorf("%v left of an hour", d)
	}
	sooner, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if d := ask(sooner); d <= 0 || d > time.Minute {
		t.Errorf("%v left of the caller's minute", d)
	}
}

func TestStatelessConfigurationsTouchNoStore(t *testing.T) {
	m, err := proxy.NewManager(fixed{func(context.Context, *proxy.Decision) { t.Error("the store was asked") }})
	if err != nil {
		t.Fatal(err)
	}
	free, shut := m.Bucket("k", bucket.Unlimited()), m.Bucket("k", bucket.DenyAll())
	if p, err := free.Consume(t.Context(), 1<<40); !p.Consumed || err != nil {
		t.Errorf("unlimited: %+v, %v", p, err)
	}
	if p, err := shut.Consume(t.Context(), 1); p.Consumed || !p.Never || err != nil {
		t.Errorf("deny all: %+v, %v", p, err)
	}
	if err := free.Reset(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSupplierFaultsAreReturned(t *testing.T) {
	m, err := proxy.NewManager(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("plan not found")
	_, err = m.BucketFunc("k", func(context.Context) (bucket.Configuration, error) { return bucket.Configuration{}, lost }).Available(t.Context())
	if err != lost {
		t.Errorf("got %v", err)
	}
	for name, supply := range map[string]func(context.Context) (bucket.Configuration, error){
		"nil":  nil,
		"zero": func(context.Context) (bucket.Configuration, error) { return bucket.Configuration{}, nil },
	} {
		if _, err := m.BucketFunc("k", supply).Available(t.Context()); !errors.Is(err, bucket.ErrInvalidArgument) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDefaultPrefix(t *testing.T) {
	// Nobody else sees the keys of this process.
	var heard recorder
	for want, b := range map[string]proxy.Backend{
		"key":        memory.New(),
		"sluice:key": fixed{func(context.Context, *proxy.Decision) {}},
	} {
		m, err := proxy.NewManager(b, proxy.WithObserver(&heard))
		if err != nil {
			t.Fatal(err)
		}
		heard.events = nil
		if _, err := m.Bucket("key", hourly).TryConsume(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if len(heard.events) != 1 || heard.events[0].Key != want {
			t.Errorf("%T: got %+v, want one event of the key %q", b, heard.events, want)
		}
	}
}

func TestStoredKeys(t *testing.T) {
	var stored string
	m, err := proxy.NewManager(fixed{func(_ context.Context, d *proxy.Decision) { stored = d.Charges[0].Key }}, proxy.WithKeyPrefix("p:"))
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	long := strings.Repeat("a", 1<<20)
	const hashed = "p:sha256:9bc1b2a288b26af7257a36277ae3816a7d4f16e89c1e7e77d0a5c48bad62b360"
	for key, want := range map[string]string{
		"a": "p:a", "a\x00b": "p:a\x00b", "\xff\n": "p:\xff\n", "{x}y": "p:{x}y",
		strings.Repeat("a", 256): "p:" + strings.Repeat("a", 256),
		long:                     hashed,
		long + "b":               "", // some other hash
		hashed[2:]:               "", // a key that looks like a hash
	} {
		if _, err := m.Bucket(key, hourly).Available(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want != "" && stored != want {
			t.Errorf("%.40q is stored as %.80q, want %.80q", key, stored, want)
		}
		if len(stored) > len("p:")+proxy.MaxKeyLength {
			t.Errorf("%.40q is stored under %d bytes", key, len(stored))
		}
		if other, taken := owner[stored]; taken {
			t.Errorf("%.40q and %.40q are both stored as %.80q", key, other, stored)
		}
		owner[stored] = key
	}
}

func TestObserverHearsWhoDecidedAndHowOftenASwapWasLost(t *testing.T) {
	const wrapper = bucket.SourcePolicy + 7
	for _, source := range []bucket.Source{bucket.SourceStore, wrapper} {
		var heard recorder
		m, err := proxy.NewManager(fixed{func(_ context.Context, d *proxy.Decision) {
			d.Results[0].Source, d.Notes, d.LostSwaps = source, proxy.StateLost, 1000
		}}, proxy.WithObserver(&heard))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Bucket("k", hourly).Consume(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for _, e := range heard.events {
			if e.Kind == proxy.DecisionMade && e.Result.Source != source || e.LostSwaps != 1000 {
				t.Errorf("%v: told %+v and %d lost swaps", e.Kind, e.Result, e.LostSwaps)
			}
		}
	}
	if bucket.SourceStore.String() != "store" || wrapper.String() != "unknown source" {
		t.Errorf("the sources are called %v and %v", bucket.SourceStore, wrapper)
	}
}

func TestManagerAllocatesNothingInMemory(t *testing.T) {
	m, err := proxy.NewManager(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	c := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1<<40, bandwidth.Greedy(1, time.Hour))))
	ctx := context.Background()
	b := m.Bucket("k", c)
	if ok, err := b.TryConsume(ctx, 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for name, call := range map[string]func() error{
		"granted":       func() error { _, err := b.TryConsume(ctx, 1); return err },
		"refused":       func() error { _, err := b.Consume(ctx, 1<<50); return err },
		"consume up to": func() error { _, err := b.ConsumeUpTo(ctx, 2); return err },
		"estimate":      func() error { _, err := b.Estimate(ctx, 5); return err },
		"inspect":       func() error { _, err := b.Inspect(ctx); return err },
		"force":         func() error { _, err := b.Force(ctx, 3); return err },
		"add":           func() error { _, err := b.Add(ctx, 1); return err },
		"force-add":     func() error { _, err := b.ForceAdd(ctx, 1); return err },
	} {
		if n := testing.AllocsPerRun(1000, func() { err = errors.Join(err, call()) }); n != 0 || err != nil {
			t.Errorf("%s: %v allocations a call, %v", name, n, err)
		}
	}
}

func TestASupplierMakesOneEvent(t *testing.T) {
	var heard recorder
	m, err := proxy.NewManager(memory.New(), proxy.WithObserver(&heard))
	if err != nil {
		t.Fatal(err)
	}
	b := m.BucketFunc("k", func(context.Context) (bucket.Configuration, error) { return hourly, nil })
	for range 2 {
		if ok, err := b.TryConsume(t.Context(), 1); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if got := heard.String(); got != "decision made, decision made" || !heard.events[0].Result.Consumed {
		t.Errorf("heard %q, the first of %+v", got, heard.events[0].Result)
	}
}

func TestStoredRulesComeBeforeTheExtremes(t *testing.T) {
	backend := memory.New()
	operator, err := proxy.NewManager(backend)
	if err != nil {
		t.Fatal(err)
	}
	m, err := proxy.NewManager(backend, proxy.WithStoredRules())
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", bucket.Unlimited())
	if p, err := b.Consume(t.Context(), 100); !p.Consumed || err != nil {
		t.Errorf("nothing stored: %+v, %v", p, err)
	}
	if _, err := operator.Bucket("k", hourly).TryConsume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Consume(t.Context(), 3); p.Consumed || p.RemainingTokens != 2 || err != nil {
		t.Errorf("a limit stored: %+v, %v", p, err)
	}
}

func TestMissingArgumentsAreErrorsNotPanics(t *testing.T) {
	for name, b := range map[string]proxy.Backend{
		"compare-and-swap of nothing": proxy.CompareAndSwap(nil, nil),
		"zero memory backend":         &memory.Backend{},
	} {
		if _, err := proxy.NewManager(b); !errors.Is(err, bucket.ErrInvalidArgument) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := (proxy.Bucket{}).Consume(t.Context(), 1); !errors.Is(err, bucket.ErrInvalidArgument) {
		t.Errorf("zero bucket: got %v", err)
	}
	if err := (proxy.Bucket{}).Wait(t.Context(), 1); !errors.Is(err, bucket.ErrInvalidArgument) {
		t.Errorf("waiting for the zero bucket: got %v", err)
	}
}

func TestErrorsAreOneShortLine(t *testing.T) {
	err := &proxy.StoreError{
		Kind: proxy.ErrUnavailable, Key: "a\nb" + strings.Repeat("c", 1<<20),
		Cause: errors.New("first\nsecond \x1b[31m" + strings.Repeat("d", 1<<20)),
	}
	if msg := err.Error(); len(msg) > 600 || strings.ContainsAny(msg, "\n\x1b") {
		t.Errorf("got %d bytes: %.200q", len(msg), msg)
	}
}
