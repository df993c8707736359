package proxy

import (
	"context"
	"strings"

	"github.com/sluice-go/sluice/bucket"
)

// JoinKey makes one key of several parts, so that different parts never give the
// same key: it puts colons between them, and a backslash before each colon and
// backslash within one. Say what a part is by another one:
//
//	JoinKey("ip", "192.0.2.1")
//	JoinKey("user", tenant, id)
func JoinKey(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = keyEscapes.Replace(part)
	}
	return strings.Join(escaped, ":")
}

var keyEscapes = strings.NewReplacer(`\`, `\\`, `:`, `\:`)

// Keyed hands out a manager's buckets by keys of a type. Make one with
// [NewKeyed]; it is a small value, safe for concurrent use.
type Keyed[K any] struct {
	manager *Manager
	encode  func(K) string
}

// NewKeyed returns the manager's buckets by keys that encode turns into text.
// Different keys must become different texts; [JoinKey] helps with those of
// several parts. A nil function makes every operation fail, as an empty key does.
func NewKeyed[K any](m *Manager, encode func(K) string) Keyed[K] {
	if encode == nil {
		encode = func(K) string { return "" }
	}
	return Keyed[K]{m, encode}
}

// Bucket is [Manager.Bucket].
func (k Keyed[K]) Bucket(key K, c bucket.Configuration) Bucket {
	return k.manager.Bucket(k.encode(key), c)
}

// BucketFunc is [Manager.BucketFunc]; the supplier gets the key.
func (k Keyed[K]) BucketFunc(key K, supply func(context.Context, K) (bucket.Configuration, error)) Bucket {
	return k.manager.BucketFunc(k.encode(key), func(ctx context.Context) (bucket.Configuration, error) { return supply(ctx, key) })
}

// Remove is [Manager.Remove].
func (k Keyed[K]) Remove(ctx context.Context, key K) (bool, error) {
	return k.manager.Remove(ctx, k.encode(key))
}
