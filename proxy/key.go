package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sluice-go/sluice/bucket"
)

const (
	// DefaultKeyPrefix comes before every key unless WithKeyPrefix says
	// otherwise.
	DefaultKeyPrefix = "sluice:"
	// MaxKeyLength is how long a key may be, in bytes, before its SHA-256
	// stands for it.
	MaxKeyLength = 256

	hashMark = "sha256:"
)

// storedKey is the name of a key in the store. A key that looks like a hashed
// one is hashed too, so that no two keys ever share a name.
func storedKey(prefix, key string) (string, error) {
	switch {
	case key == "":
		return "", &bucket.ArgumentError{Field: "key", Value: key, Allowed: "a key that is not empty"}
	case len(key) > MaxKeyLength || strings.HasPrefix(key, hashMark):
		sum := sha256.Sum256([]byte(key))
		return prefix + hashMark + hex.EncodeToString(sum[:]), nil
	default:
		return prefix + key, nil
	}
}
