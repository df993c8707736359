package memory

import "sync"

// shardCount spreads the keys, so that they seldom wait for each other. All work
// under the lock of one shard is short.
const shardCount = 512

// shard is a part of the keys: one cache line.
type shard struct {
	mu sync.Mutex
	index
	records
	hand place  // the record to be looked at next
	turn uint32 // counts calls
}

// find is the place of a key's record, if there is one.
func (s *shard) find(hash uint32, key string) (place, bool) {
	if len(s.index) == 0 {
		return 0, false
	}
	for i := s.home(hash); s.index[i] != 0; i = s.next(i) {
		if slot := s.index[i]; slot.hash() == hash && s.named(slot.place(), key) {
			return slot.place(), true
		}
	}
	return 0, false
}

// insert adds a key that is not there.
func (s *shard) insert(hash uint32, key string) place {
	s.index = s.fit(s.count() + 1)
	p := s.add()
	s.put(newSlot(hash, p))
	s.name(p, hash, key)
	return p
}

// remove forgets the key at a place, which the last record then takes.
func (s *shard) remove(p place) {
	last := place(s.count() - 1)
	s.index.remove(newSlot(s.at(p).hash, p))
	if p != last {
		hash := s.at(last).hash
		s.index[s.index.find(newSlot(hash, last))] = newSlot(hash, p)
		s.move(p, last)
	}
	s.drop()
	s.index = s.fit(s.count())
}

// look is the place of the next record to look at. There must be one.
func (s *shard) look() place {
	if int(s.hand) >= s.count() {
		s.hand = 0
	}
	return s.hand
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
