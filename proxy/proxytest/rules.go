package proxytest

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// supplier counts how often it is asked for a configuration.
type supplier struct {
	config bucket.Configuration
	err    error
	asked  int
	during func()
}

func (f *supplier) supply(context.Context) (bucket.Configuration, error) {
	f.asked++
	if f.during != nil {
		f.during()
	}
	return f.config, f.err
}

// Buckets under whatever configuration is stored.
var ruleTests = []storeTest{
	{"stored rules: a stored configuration stays in force", func(s *store) {
		m := s.manager(proxy.WithStoredRules())
		stored := of(greedy(20, 20, 10*time.Second))
		s.on(s.manager(), "key", stored).takes(5)
		for _, c := range []bucket.Configuration{
			of(greedy(100, 1, time.Hour)), of(greedy(1, 1, time.Hour)), version(9, bucket.Reset, greedy(100, 1, time.Hour)),
		} {
			b := s.on(m, "key", c)
			b.has(15)
			if p := b.takes(2); p.RemainingTokens != 13 || !p.Configuration.Equal(stored) {
				s.Errorf("%s, under %v", told(p), p.Configuration.Bandwidths())
			}
			b.never(21)
			b.refuses(20, 3500*time.Millisecond)
			b.adds(2, 15)
		}
		if got := s.stored(m, "key", true); !got.Equal(stored) {
			s.Errorf("the stored configuration has become %v", got.Bandwidths())
		}
	}},
	{"stored rules: the declared configuration creates", func(s *store) {
		m := s.manager(proxy.WithStoredRules())
		first := of(greedy(20, 20, 10*time.Second))
		s.on(m, "key", first).takes(20)
		b := s.on(m, "key", of(greedy(100, 1, time.Hour)))
		b.has(0)
		s.at(time.Second)
		b.takes(2)
		b.resets()
		b.has(20)
	}},
	{"stored rules: consuming up to and filling", func(s *store) {
		m := s.manager(proxy.WithStoredRules())
		s.on(m, "key", of(interval(20, 20, 10*time.Second), greedy(30, 1, time.Second))).takes(15)
		b := s.on(m, "key", of(greedy(100, 1, time.Hour)))
		p, err := b.ConsumeUpTo(s.ctx, 50)
		b.ok("ConsumeUpTo", err)
		if p.Tokens != 5 {
			s.Errorf("took %d of 5", p.Tokens)
		}
		b.holds(0, 10)
		b.resets()
		b.holds(20, 30)
	}},
	{"a supplier is asked only when the key is absent", func(s *store) {
		f := supplier{config: of(interval(10, 10, 10*time.Second))}
		m := s.manager()
		b := &checked{m.BucketFunc("key", f.supply), s.scene}
		asked := func(want int) {
			s.Helper()
			if f.asked != want {
				s.Errorf("the supplier was asked %d times, want %d", f.asked, want)
			}
			f.asked = 0
		}
		b.has(10)
		asked(1) // a look stores nothing
		b.takes(4)
		asked(1)
		for _, call := range bucketCalls {
			if call.name != "Reset" {
				b.ok(call.name, call.do(s.ctx, b, 1))
			}
		}
		asked(0)
		f.config = of(greedy(99, 1, time.Hour))
		b.has(2) // Six calls took one each, and two put one back.
		b.never(11)
		asked(0)
		removes(s, m, "key", true)
		b.takes(99)
		asked(1)
		if got := s.stored(m, "key", true); !got.Equal(f.config) {
			s.Errorf("the key is stored under %v", got.Bandwidths())
		}
	}},
	{"a stored configuration rules over a supplied one", func(s *store) {
		m := s.manager()
		stored := of(greedy(20, 20, 10*time.Second))
		f := supplier{config: version(9, bucket.Reset, greedy(99, 1, time.Hour))}
		// Another process makes the bucket while the supplier is asked.
		f.during = func() { s.on(s.manager(), "key", stored).takes(5) }
		b := &checked{m.BucketFunc("key", f.supply), s.scene}
		if p := b.takes(1); p.RemainingTokens != 14 || !p.Configuration.Equal(stored) {
			s.Errorf("%s, under %v", told(p), p.Configuration.Bandwidths())
		}
	}},
	{"a supplier's error is the caller's", func(s *store) {
		f := supplier{err: errors.New("no such plan")}
		m := s.manager()
		for _, call := range bucketCalls {
			if err := call.do(s.ctx, m.BucketFunc("key", f.supply), 1); err != f.err {
				s.Errorf("%s: %v, want %v", call.name, err, f.err)
			}
		}
		s.stored(m, "key", false)
	}},
	{"a supplier that supplies nothing is an error", func(s *store) {
		m := s.manager()
		for _, call := range bucketCalls {
			for what, b := range map[string]bucket.Bucket{
				"the zero configuration": m.BucketFunc("key", new(supplier).supply), "no supplier": m.BucketFunc("key", nil),
			} {
				if err := call.do(s.ctx, b, 1); !errors.Is(err, bucket.ErrInvalidArgument) {
					s.Errorf("%s with %s: %v", call.name, what, err)
				}
			}
		}
	}},
	{"a supplier is not asked by a call that is no good", func(s *store) {
		f := supplier{config: of(greedy(10, 10, time.Second))}
		m := s.manager()
		cancelled, cancel := context.WithCancel(s.ctx)
		cancel()
		if _, err := m.BucketFunc("key", f.supply).Consume(cancelled, 1); err != context.Canceled {
			s.Errorf("with a context that is done: %v", err)
		}
		if _, err := m.BucketFunc("key", f.supply).Consume(s.ctx, -1); !errors.Is(err, bucket.ErrInvalidArgument) {
			s.Errorf("with a negative cost: %v", err)
		}
		if _, err := m.BucketFunc("", f.supply).Consume(s.ctx, 1); !errors.Is(err, bucket.ErrInvalidArgument) {
			s.Errorf("with an empty key: %v", err)
		}
		if f.asked != 0 {
			s.Errorf("the supplier was asked %d times", f.asked)
		}
	}},
	{"a supplier may lift the limit", func(s *store) {
		f := supplier{config: bucket.Unlimited()}
		m := s.manager()
		b := &checked{m.BucketFunc("key", f.supply), s.scene}
		b.takes(1 << 40)
		s.stored(m, "key", false)
	}},
}
