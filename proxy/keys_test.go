package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

func ExampleNewKeyed() {
	type caller struct {
		tenant string
		user   int
	}
	m, _ := proxy.NewManager(memory.New())
	defer m.Close()
	callers := proxy.NewKeyed(m, func(c caller) string { return proxy.JoinKey("user", c.tenant, fmt.Sprint(c.user)) })

	ok, err := callers.Bucket(caller{"acme", 42}, hourly).TryConsume(context.Background(), 1)
	fmt.Println(ok, err)
	// Output: true <nil>
}

func ExampleJoinKey() {
	fmt.Println(proxy.JoinKey("user", "a:b", "c"))
	fmt.Println(proxy.JoinKey("user", "a", "b:c"))
	// Output:
	// user:a\:b:c
	// user:a:b\:c
}

func TestC38JoinedKeysNeverCollide(t *testing.T) {
	parts := []string{"", "a", "b", "ab", "a:b", ":", `\`, `\:`, `a\`, "127.0.0.1"}
	from := map[string]string{}
	add := func(p ...string) {
		key, name := proxy.JoinKey(p...), fmt.Sprintf("%q", p)
		if other, taken := from[key]; taken {
			t.Errorf("%s and %s are both %q", other, name, key)
		}
		from[key] = name
	}
	for _, a := range parts {
		add(a)
		for _, b := range parts {
			add(a, b)
			for _, c := range parts {
				add(a, b, c)
			}
		}
	}
}

func TestKeyedWithoutAnEncoderFails(t *testing.T) {
	m, err := proxy.NewManager(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proxy.NewKeyed[int](m, nil).Bucket(1, hourly).TryConsume(t.Context(), 1); !errors.Is(err, bucket.ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
}

func TestReservationsAndReplacementInAStore(t *testing.T) {
	m, err := proxy.NewManager(memory.New())
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bucket("k", hourly)
	r, err := b.Reserve(t.Context(), 3, 0)
	if err != nil || r.RemainingTokens != 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if _, err := b.Reserve(t.Context(), 1, 0); !errors.Is(err, bucket.ErrTooLate) {
		t.Errorf("nothing left: %v", err)
	}
	if err := r.Settle(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if n, err := b.Available(t.Context()); n != 2 || err != nil {
		t.Errorf("%d left, %v; want 2", n, err)
	}
	v2 := bucket.Must(hourly.WithVersion(2, bucket.AsIs))
	if err := b.Replace(t.Context(), v2, bucket.Reset); err != nil {
		t.Error(err)
	}
	if n, err := b.Available(t.Context()); n != 3 || err != nil { // the handle's own configuration is older
		t.Errorf("%d left, %v; want 3", n, err)
	}
	if err := b.Replace(t.Context(), hourly, bucket.AsIs); !errors.Is(err, bucket.ErrOlderConfiguration) {
		t.Errorf("an older configuration: %v", err)
	}
	for name, c := range map[string]bucket.Configuration{"unlimited": bucket.Unlimited(), "no configuration": {}} {
		for _, b := range []proxy.Bucket{b, m.Bucket("absent", hourly)} {
			if err := b.Replace(t.Context(), c, bucket.AsIs); !errors.Is(err, bucket.ErrInvalidArgument) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What is in the store tells nothing of a hashed key, and another secret or none
// gives it another name.
func TestHashedKeys(t *testing.T) {
	secret := []byte("sixteen bytes at least")
	names := map[string]bool{}
	for _, opts := range [][]proxy.Option{
		nil,
		{proxy.WithHashedKeys(secret)},
		{proxy.WithHashedKeys(secret), proxy.WithKeyPrefix("other:")},
		{proxy.WithHashedKeys([]byte("another secret, as long"))},
	} {
		for _, key := range []string{"alice@example.com", "{slot}1", "{slot}2", strings.Repeat("long", 1000), "hmac:0"} {
			var name string
			m, err := proxy.NewManager(fixed{func(_ context.Context, d *proxy.Decision) { name = d.Charges[0].Key }}, opts...)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := m.Bucket(key, hourly).TryConsume(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				if opts != nil && (strings.ContainsAny(name, "{}@") || len(name) > 80) {
					t.Errorf("key %.20q is stored as %q", key, name)
				}
			}
			names[name] = true
			if _, _, err := m.Configuration(t.Context(), key); err != nil || !names[name] {
				t.Errorf("another name for the configuration: %q, %v", name, err)
			}
		}
	}
	if len(names) != 4*5 {
		t.Errorf("%d names for 20 keys", len(names))
	}
	var wrong *bucket.ArgumentError
	if _, err := proxy.NewManager(fixed{}, proxy.WithHashedKeys([]byte("short"))); !errors.As(err, &wrong) || wrong.Field != "secret" ||
		strings.Contains(err.Error(), "short") {
		t.Errorf("a short secret: %v", err)
	}
}
