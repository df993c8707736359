package proxytest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// short is a key as a message shows it.
func short(key string) string {
	if len(key) > 40 {
		return key[:20] + "…" + key[len(key)-20:]
	}
	return key
}

// Keys and prefixes.
var keyTests = []storeTest{
	{"C58 whatever the key, it is a bucket of its own", func(s *store) {
		long := strings.Repeat("a", 1<<20)
		sum := sha256.Sum256([]byte(long))
		keys := []string{
			long, long[1:] + "b", "b" + long[1:],
			"a", "A", " a", "a ", "a\x00", "a\x00b", "\x00", "a\nb", "a\r\nb", "a\tb", "\n",
			"\xff\xfe", "\xff", "\xed\xa0\x80", "é", "e\u0301", "\u202e", "🪣",
			"a{b", "a}b", "{}", "{x}y", "{x}z", "user:{42}:{7}", "user:{42}:{8}",
			"%s", "*", "a*", "?", "[a]", `\`, `"`, "'; DROP TABLE buckets; --", "../a", "a/b", "a:b", "a::b", ":", "0", "00", "nil", "null",
			strings.Repeat("k", proxy.MaxKeyLength-1), strings.Repeat("k", proxy.MaxKeyLength), strings.Repeat("k", proxy.MaxKeyLength+1),
			// The hash of a long key is no way to reach its bucket.
			hex.EncodeToString(sum[:]), "sha256:" + hex.EncodeToString(sum[:]), "sha256:",
		}
		m := s.manager()
		c := of(greedy(1000, 1, time.Hour))
		for i, key := range keys {
			s.on(m, key, c).takes(int64(i) + 1)
		}
		again := s.manager()
		for i, key := range keys {
			b := s.on(again, key, c)
			if left, err := b.Available(s.ctx); err != nil || left != 1000-int64(i)-1 {
				s.Errorf("key %q: %d left, %v; want %d", short(key), left, err, 1000-i-1)
			}
		}
		for _, key := range keys {
			removes(s, m, key, true)
		}
		for _, key := range keys {
			s.stored(m, key, false)
		}
	}},
	{"C58 an empty key is an error", func(s *store) {
		f := supplier{config: of(greedy(1, 1, time.Hour))}
		m := s.manager()
		isKey := func(name string, err error) {
			s.Helper()
			var bad *bucket.ArgumentError
			if !errors.As(err, &bad) || bad.Field != "key" || !errors.Is(err, bucket.ErrInvalidArgument) {
				s.Errorf("%s: %v; want an ArgumentError for the key", name, err)
			}
		}
		for _, call := range allCalls {
			for _, c := range []bucket.Configuration{f.config, bucket.Unlimited(), {}} {
				isKey(call.name, call.do(s.ctx, m.Bucket("", c), 1))
			}
			isKey(call.name, call.do(s.ctx, m.BucketFunc("", f.supply), 1))
		}
		for _, call := range managerCalls {
			isKey(call.name, call.do(s.ctx, m, ""))
		}
	}},
	{"C38 keys of several parts are buckets of their own", func(s *store) {
		c := of(greedy(1000, 1, time.Hour))
		buckets := proxy.NewKeyed(s.manager(), func(parts []string) string { return proxy.JoinKey(parts...) })
		all := [][]string{
			{"a", "bc"},
			{"ab", "c"},
			{"a:b", "c"},
			{"a", "b:c"},
			{"a", "b", "c"},
			{"abc"},
			{`a\`, "b"},
			{`a\:b`},
			{"user", "127.0.0.1"},
			{"ip", "127.0.0.1"},
			{"127.0.0.1"},
			{"127.0.0.1", ""},
			{"", "127.0.0.1"},
			{"", ""},
			{"", "", ""},
		}
		for i, parts := range all {
			(&checked{buckets.Bucket(parts, c), s.scene}).takes(int64(i) + 1)
		}
		for i, parts := range all {
			if left, err := buckets.Bucket(parts, c).Available(s.ctx); err != nil || left != 1000-int64(i)-1 {
				s.Errorf("key %q: %d left, %v; want %d", parts, left, err, 1000-i-1)
			}
		}
	}},
	{"C37 prefixes keep managers apart", func(s *store) {
		const key = "ip:10.0.0.1"
		login := s.manager(proxy.WithKeyPrefix(s.prefix + "login:"))
		api := s.manager(proxy.WithKeyPrefix(s.prefix + "api:"))
		two, hundred := of(greedy(2, 2, time.Hour)), of(greedy(100, 100, time.Hour))
		s.on(login, key, two).takes(2)
		s.on(api, key, hundred).has(100)
		s.stored(api, key, false)
		s.on(api, key, hundred).takes(1)
		s.on(login, key, two).has(0)
		// Two managers of one prefix share one bucket.
		s.on(s.manager(proxy.WithKeyPrefix(s.prefix+"login:")), key, two).has(0)
		removes(s, login, key, true)
		s.on(api, key, hundred).has(99)
	}},
	{"C37 without a prefix keys are as they are", func(s *store) {
		c := of(greedy(2, 2, time.Hour))
		bare := s.manager(proxy.WithKeyPrefix(""))
		s.on(bare, s.prefix+"key", c).takes(2)
		s.on(s.manager(), "key", c).has(0)
		removes(s, bare, s.prefix+"key", true)
	}},
	{"C37 a prefix with a brace is refused", func(s *store) {
		for _, prefix := range []string{"{", "}", "{rl}:", "rl:{"} {
			m, err := proxy.NewManager(s.backend(), proxy.WithKeyPrefix(prefix))
			var bad *bucket.ArgumentError
			if m != nil || !errors.As(err, &bad) || bad.Field != "key prefix" || bad.Value != prefix {
				s.Errorf("prefix %q: %v; want an ArgumentError for the prefix", prefix, err)
			}
		}
	}},
}
