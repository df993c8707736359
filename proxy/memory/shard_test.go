package memory

import (
	"strings"
	"testing"
)

// Keys whose hashes are equal cannot be found by trying, so this test gives them
// to a shard itself.
func TestEqualHashes(t *testing.T) {
	const hash = 7
	long := strings.Repeat("k", headSize)
	keys := []string{"a", "b", "aa", long, long + "a", long + "b", long + "ab", long[1:]}
	var s shard
	for _, key := range keys {
		if _, found := s.find(hash, key); found {
			t.Errorf("%q is there before it is inserted", key)
		}
		s.insert(hash, key)
	}
	for n, key := range keys {
		p, found := s.find(hash, key)
		if !found {
			t.Fatalf("%q is lost", key)
		}
		s.remove(p)
		for i, other := range keys {
			if _, found := s.find(hash, other); found != (i > n) {
				t.Errorf("without %q and those before it, %q is there: %v", key, other, found)
			}
		}
	}
	if s.count > 0 || s.records != nil || s.marks != nil || s.tails != nil {
		t.Error("an empty shard holds memory")
	}
}
