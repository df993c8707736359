package redis_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC37PrefixesKeepManagersApart(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		const key = "ip:10.0.0.1"
		login := on.manager(t, rdb, "login", mode)
		api := on.manager(t, rdb, "api:", mode)
		plain := on.manager(t, rdb, "", mode)
		take(t, login.Bucket(key, perHour(t, 2)), 2, true)
		take(t, login.Bucket(key, perHour(t, 2)), 1, false)
		take(t, api.Bucket(key, perHour(t, 100)), 1, true)
		take(t, plain.Bucket(key, perHour(t, 10)), 1, true)
		wantAvailable(t, api.Bucket(key, perHour(t, 100)), 99)
		wantAvailable(t, plain.Bucket(key, perHour(t, 10)), 9)

		got := rdb.Keys(t.Context(), "*").Val()
		if len(got) != 3 {
			t.Errorf("keys %q, want three", got)
		}
		for _, name := range []string{"login" + key, "api:" + key, key} {
			if n := rdb.Exists(t.Context(), name).Val(); n != 1 {
				t.Errorf("keys %q, want %q among them", got, name)
			}
		}

		// Two managers of one prefix share each bucket.
		again := on.manager(t, connect(t, server.URL()), "login", mode)
		take(t, again.Bucket(key, perHour(t, 2)), 1, false)

		var argument *bucket.ArgumentError
		_, err := proxy.NewManager(on(t, rdb, mode), proxy.WithKeyPrefix("a{b"))
		if !errors.As(err, &argument) || argument.Field != "key prefix" {
			t.Errorf("a prefix with a brace: got %v", err)
		}
	})
}

// nameOf is how a long key is named.
func nameOf(key string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(key))) }

func TestC58AnyKeyIsBoundedAndDistinct(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	mega := strings.Repeat("a", 1<<20)
	keys := []string{
		mega, mega + "b", mega + "c", mega[1:], "a\x00b", "a\nb", "a\r\nDEL x\r\n", "\xff\xfe", "\xff", " ", "a", "a b", "é", "e\u0301",
		nameOf(mega), nameOf(nameOf(mega)), "{a", "a}", "{}", "user:{42}:{7}", "sha256:", "sha256:" + strings.Repeat("0", 64), strings.Repeat("k", 256), strings.Repeat("k", 257),
	}
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		m := on.manager(t, rdb, "p:", mode)
		for i, key := range keys {
			take(t, m.Bucket(key, perHour(t, 100)), int64(i+1), true)
		}
		for i, key := range keys {
			wantAvailable(t, m.Bucket(key, perHour(t, 100)), int64(99-i))
		}
		names := rdb.Keys(t.Context(), "*").Val()
		if len(names) != len(keys) {
			t.Errorf("%d names for %d keys", len(names), len(keys))
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "p:") || len(name) > len("p:")+proxy.MaxKeyLength {
				t.Errorf("the name %.80q has %d bytes", name, len(name))
			}
		}

		var argument *bucket.ArgumentError
		_, err := m.Bucket("", perHour(t, 1)).Consume(t.Context(), 1)
		if !errors.As(err, &argument) || argument.Field != "key" {
			t.Errorf("the empty key: got %v", err)
		}
	})
}
