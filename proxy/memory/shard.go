package memory

import (
	"math/rand/v2"
	"sync"

	"github.com/sluice-go/sluice/bucket"
)

// shardCount splits the map, so that looking up one key seldom waits for
// another. A shard's lock is held for the look-up only; decisions hold the lock
// of their entry.
const shardCount = 256

type shard struct {
	mu      sync.RWMutex
	entries map[string]*entry
	peak    int // the most entries since the map was made
}

type entry struct {
	mu      sync.Mutex
	bucket  bucket.Entry
	until   int64 // the instant from which it is forgotten
	dropped bool  // no longer in the map
}

func (s *shard) find(key string) *entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entries[key]
}

// insert adds an entry unless there is one by now.
func (s *shard) insert(key string, e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[key] != nil {
		return false
	}
	s.entries[key] = e
	s.peak = max(s.peak, len(s.entries))
	return true
}

func (s *shard) remove(key string, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[key] == e {
		delete(s.entries, key)
	}
}

func (s *shard) len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.entries)
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries, s.peak = map[string]*entry{}, 0
}

// How a call sweeps: one in sweepEvery looks at sampleSize entries of the next
// shard, and goes on there while more than a quarter of them had expired, at
// most sweepRounds times. So the work of a call is bounded, and expired entries
// are a small part of all as long as there are calls.
const (
	sweepEvery  = 8
	sampleSize  = 20
	sweepRounds = 8
)

func (b *Backend) sweepSome() {
	if rand.Uint32()%sweepEvery != 0 {
		return
	}
	s := &b.shards[b.sweep.Add(1)%shardCount]
	if s.len() == 0 {
		return
	}
	now := b.clock()
	for range sweepRounds {
		if s.sweep(now) <= sampleSize/4 {
			return
		}
	}
}

// sweep drops the expired ones among a few entries and returns how many they
// were. Entries in use are left for another time, so locks cannot form a ring.
func (s *shard) sweep(now int64) (expired int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := 0
	for key, e := range s.entries { // Go starts at a random place
		if e.mu.TryLock() {
			if now >= e.until {
				e.dropped = true
				delete(s.entries, key)
				expired++
			}
			e.mu.Unlock()
		}
		if seen++; seen == sampleSize {
			break
		}
	}
	s.shrink()
	return expired
}

// shrink makes the map anew when it has become much smaller, since a Go map
// never gives its memory back.
func (s *shard) shrink() {
	const worthwhile = 16
	if s.peak < worthwhile || len(s.entries) > s.peak/2 {
		return
	}
	entries := make(map[string]*entry, len(s.entries))
	for key, e := range s.entries {
		entries[key] = e
	}
	s.entries, s.peak = entries, len(entries)
}
