package memory

import (
	"hash/maphash"
	"strings"
	"sync"
)

// shardCount spreads the keys, so that they seldom wait for each other. All work
// under the lock of one shard is short.
const shardCount = 512

// shard is a part of the keys: one cache line.
type shard struct {
	mu sync.Mutex
	index
	records
	hand place  // the record to be swept next
	turn uint32 // counts calls
}

// find returns the number of a key's slot, and its record; nil if there is none.
func (s *shard) find(hash uint64, key string) (int, *record) {
	if len(s.index) == 0 {
		return 0, nil
	}
	for i := s.home(hash); ; i = s.index.next(i) {
		slot := s.index[i]
		if slot == 0 {
			return 0, nil
		}
		if slot.fits(hash) {
			if r := s.at(slot.place()); r.key == key {
				return i, r
			}
		}
	}
}

// insert adds a key that is not there. It keeps a copy, since the key may be a
// part of something large.
func (s *shard) insert(hash uint64, key string) *record {
	s.index = s.fit(s.count() + 1)
	p := s.add()
	s.set(newSlot(hash, p))
	r := s.at(p)
	r.key = strings.Clone(key)
	return r
}

// remove forgets the key of a slot. The last record takes its place.
func (s *shard) remove(seed maphash.Seed, i int) {
	p, last := s.index[i].place(), s.last()
	s.unset(i)
	if p != last {
		moved := s.at(last)
		hash := maphash.String(seed, moved.key)
		s.index[s.locate(newSlot(hash, last))] = newSlot(hash, p)
		*s.at(p) = *moved
	}
	s.drop()
	s.index = s.fit(s.count())
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count()
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index, s.records, s.hand = nil, records{}, 0
}

// sweep forgets those of the next few records that have expired, and returns
// how many they were.
func (s *shard) sweep(seed maphash.Seed, now int64, looks int) (expired int) {
	for range looks {
		n := s.count()
		if n == 0 {
			break
		}
		if s.hand > s.last() {
			s.hand = 0
		}
		r := s.at(s.hand)
		if now < r.until {
			s.hand = s.records.next(s.hand)
			continue
		}
		s.remove(seed, s.locate(newSlot(maphash.String(seed, r.key), s.hand)))
		expired++
	}
	return expired
}
