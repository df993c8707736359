package redis_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC35WhatIsNotOursIsLeftAlone(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		key := prefix + "k"
		heard := new(ear)
		m := on.manager(t, rdb, prefix, mode, proxy.WithObserver(heard))
		b := m.Bucket("k", perHour(t, 10))
		supplied := m.BucketFunc("k", supply(perHour(t, 10)))
		for _, tt := range foreign(t) {
			t.Run(tt.name, func(t *testing.T) {
				if err := tt.put(rdb, key); err != nil {
					t.Fatal(err)
				}
				was, err := rdb.Dump(t.Context(), key).Result()
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range []proxy.Bucket{b, supplied} {
					for _, op := range ops {
						wantStoreError(t, op.do(t.Context(), m, b), tt.kind, key)
						if now := rdb.Dump(t.Context(), key).Val(); now != was {
							t.Fatalf("%s changed what is there", op.name)
						}
						if n := heard.count(proxy.StoreFailed); n != 1 {
							t.Fatalf("%s: the observer heard of %d failures, want 1", op.name, n)
						}
					}
				}
				if _, _, err := m.Configuration(t.Context(), "k"); err == nil {
					t.Error("a configuration is read from it")
				}
				heard.forget()
				if ttl := rdb.PTTL(t.Context(), key).Val(); ttl != -1 {
					t.Errorf("it now expires in %v", ttl)
				}
				if err := rdb.Del(t.Context(), key).Err(); err != nil {
					t.Fatal(err)
				}
				if p := take(t, b, 1, true); p.RemainingTokens != 9 {
					t.Errorf("after it is deleted %d are left, want 9", p.RemainingTokens)
				}
			})
		}
	})
}

type foreignValue struct {
	name string
	kind error
	put  func(rdb *client.Client, key string) error
}

func foreign(t testing.TB) []foreignValue {
	t.Helper()
	text := func(b []byte) func(*client.Client, string) error {
		return func(rdb *client.Client, key string) error { return rdb.Set(context.Background(), key, b, 0).Err() }
	}
	values := []foreignValue{
		{"text", proxy.ErrForeignState, text([]byte("hello"))},
		{"a number", proxy.ErrForeignState, text([]byte("42"))},
		{"list", proxy.ErrForeignState, func(rdb *client.Client, key string) error {
			_ = rdb.Del(context.Background(), key)
			return rdb.LPush(context.Background(), key, "x").Err()
		}},
		{"hash", proxy.ErrForeignState, func(rdb *client.Client, key string) error {
			_ = rdb.Del(context.Background(), key)
			return rdb.HSet(context.Background(), key, "a", "b").Err()
		}},
		{"the format to come", proxy.ErrUnknownFormat, text([]byte("\xc1\x02hello"))},
		{"a format far off", proxy.ErrUnknownFormat, text([]byte{0xc1, 0xff})},
		{"the first format", proxy.ErrUnknownFormat, text([]byte{0xc1, 0x00, 0x01})},
	}
	random := rand.New(rand.NewPCG(3, 5))
	for _, longest := range []int{1, 8, 64, 1 << 12, 1 << 20} {
		b := make([]byte, 1+random.IntN(longest))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		if b[0] == 0xc1 {
			b[0] = 0xc0
		}
		values = append(values, foreignValue{"random bytes", proxy.ErrForeignState, text(b)})
	}
	return values
}

// A key may be hostile text, the line of a log is not.
func TestC35ForeignKeyIsQuoted(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		m := on.manager(t, rdb, prefix, mode)
		if err := rdb.Set(t.Context(), prefix+"good\x00\nkey", "hello", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := m.Bucket("good\x00\nkey", perHour(t, 1)).Consume(t.Context(), 1)
		wantStoreError(t, err, proxy.ErrForeignState, prefix+"good\x00\nkey")
		for _, c := range err.Error() {
			if c < ' ' {
				t.Fatalf("the error has a control character: %q", err)
			}
		}
	})
}
