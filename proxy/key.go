package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sluice-go/sluice/bucket"
)

const (
	// DefaultKeyPrefix comes before every key in a store outside this process
	// unless WithKeyPrefix says otherwise.
	DefaultKeyPrefix = "sluice:"
	// MaxKeyLength is how long a key may be, in bytes, before its SHA-256
	// stands for it.
	MaxKeyLength = 256

	hashMark   = "sha256:"
	secretMark = "hmac:"

	// leastSecret is how many bytes a secret has at least.
	leastSecret = 16
)

// storedKey is the name of a key in the store. A key that looks like a hashed
// one is hashed too, so that no two keys ever share a name.
func (m *Manager) storedKey(key string) (string, error) {
	switch {
	case key == "":
		return "", &bucket.ArgumentError{Field: "key", Value: key, Allowed: "a key that is not empty"}
	case m.secret != nil:
		mac := hmac.New(sha256.New, m.secret)
		mac.Write([]byte(key))
		return m.prefix + secretMark + hex.EncodeToString(mac.Sum(nil)), nil
	case len(key) > MaxKeyLength || strings.HasPrefix(key, hashMark) || strings.HasPrefix(key, secretMark):
		sum := sha256.Sum256([]byte(key))
		return m.prefix + hashMark + hex.EncodeToString(sum[:]), nil
	case m.prefix == "":
		return key, nil
	default:
		return m.prefix + key, nil
	}
}
