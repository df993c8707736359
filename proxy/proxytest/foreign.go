package proxytest

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/proxy"
)

// What else may be found under a key.
var foreignTests = []storeTest{
	{"C35 what is not ours is never touched", func(s *store) {
		s.puts("text", []byte("hello"))
		s.puts("digit", []byte("5"))
		s.puts("MessagePack", []byte{0x93, 1, 2, 3})
		s.untouched(proxy.ErrForeignState, "text", "digit", "MessagePack")
	}},
	{"C77 what a later release has written is never touched", func(s *store) {
		s.puts("next", []byte{0xc1, 0x02, 1, 10, 1, 1, 0, 3, 0})
		s.puts("last", []byte{0xc1, 0xff})
		s.untouched(proxy.ErrUnknownFormat, "next", "last")
	}},
	{"C77 what the first release has written is read", func(s *store) {
		// Capacity 10, one token in 1,000,000 microseconds; 3 tokens and half of
		// the next one at the scene's start.
		golden := []byte{0xc1, 0x01, 1, 10, 1, 0xce, 0x00, 0x0f, 0x42, 0x40, 0xcf}
		golden = binary.BigEndian.AppendUint64(golden, uint64(start.UnixMicro()))
		golden = append(golden, 3, 0xce, 0x00, 0x07, 0xa1, 0x20)
		s.puts("key", golden)
		m := s.manager()
		c := of(greedy(10, 1, time.Second))
		if got := s.stored(m, "key", true); !got.Equal(c) {
			s.Errorf("read the configuration %v, want %v", got.Bandwidths(), c.Bandwidths())
		}
		b := s.on(m, "key", c)
		b.refuses(4, 500*time.Millisecond)
		b.takes(3)
		s.at(500 * time.Millisecond)
		b.takes(1)
	}},
	{"what is damaged is replaced by a new bucket", func(s *store) {
		heard := new(listener)
		m := s.manager(proxy.WithObserver(heard))
		c := of(greedy(10, 1, time.Second))
		whole := []byte{0xc1, 0x01, 1, 10, 1, 0xce, 0x00, 0x0f, 0x42, 0x40, 0, 3, 0}
		fresh := map[string]int64{} // what a call and a take leave of a new bucket
		for _, call := range bucketCalls {
			b := s.on(m, "fresh "+call.name, c)
			b.ok(call.name, call.do(s.ctx, b, 1))
			b.takes(1)
			fresh[call.name] = b.inspects().RemainingTokens
		}
		lost := []proxy.EventKind{proxy.BucketLost, proxy.DecisionMade}
		for what, damaged := range map[string][]byte{
			"nothing":          {},
			"the mark alone":   whole[:1],
			"no configuration": whole[:2],
			"cut":              whole[:len(whole)-1],
			"cut in a number":  whole[:8],
			"too long":         append(slices.Clone(whole), 0),
			"a part above one": {0xc1, 0x01, 1, 10, 1, 0xce, 0x00, 0x0f, 0x42, 0x40, 0, 3, 0xce, 0x00, 0x0f, 0x42, 0x40},
			"no capacity":      {0xc1, 0x01, 1, 0, 1, 0xce, 0x00, 0x0f, 0x42, 0x40, 0, 3, 0},
			"text for numbers": append([]byte{0xc1, 0x01}, "hello world"...),
		} {
			for _, call := range bucketCalls {
				s.puts("key", damaged)
				heard.kinds()
				b := s.on(m, "key", c)
				b.ok(what+": "+call.name, call.do(s.ctx, b, 1))
				if got := heard.kinds(); !slices.Equal(got, lost) {
					s.Errorf("%s: %s: the observer heard %v, want %v", what, call.name, got, lost)
				}
				b.tries(1)
				heard.kinds()
				if left, want := b.inspects().RemainingTokens, fresh[call.name]; left != want {
					s.Errorf("%s: %s and a take left %d of a new bucket's 10, want %d", what, call.name, left, want)
				}
				if got := heard.kinds(); slices.Contains(got, proxy.BucketLost) {
					s.Errorf("%s: the damage is still there after %s and a take", what, call.name)
				}
			}
		}
	}},
}

// puts stores bytes under a key.
func (s *store) puts(key string, b []byte) {
	s.Helper()
	if s.factory.Put == nil {
		s.Skip("the factory has no Put")
	}
	s.factory.Put(s.T, s.prefix+key, b)
}

// untouched asks everything of keys and always gets the same error.
func (s *store) untouched(want error, keys ...string) {
	s.Helper()
	m := s.manager()
	c := of(greedy(10, 1, time.Second))
	check := func(name, key string, err error) {
		s.Helper()
		var at *proxy.StoreError
		if !errors.Is(err, want) || !errors.As(err, &at) || at.Key != s.prefix+key {
			s.Errorf("%s of %s: %v; want a StoreError with its key: %v", name, key, err, want)
		}
	}
	for _, key := range keys {
		for range 2 {
			for _, call := range allCalls {
				check(call.name, key, call.do(s.ctx, m.Bucket(key, c), 1))
				check(call.name+" with a supplier", key, call.do(s.ctx, m.BucketFunc(key, (&supplier{config: c}).supply), 1))
			}
			for _, call := range managerCalls {
				check(call.name, key, call.do(s.ctx, m, key))
			}
		}
	}
	// The store is not to blame.
	s.on(m, "another", c).takes(10)
}
