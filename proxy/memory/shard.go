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

// find returns the record of a key and its place; nil if there is none.
func (s *shard) find(hash uint32, key string) (*record, place) {
	if len(s.index) == 0 {
		return nil, 0
	}
	for i := s.home(hash); ; i = s.index.next(i) {
		slot := s.index[i]
		if slot == 0 {
			return nil, 0
		}
		if slot.hash() == hash {
			if r := s.at(slot.place()); r.is(key) {
				return r, slot.place()
			}
		}
	}
}

// insert adds a key that is not there.
func (s *shard) insert(hash uint32, key string) *record {
	s.index = s.fit(s.count() + 1)
	p := s.add()
	s.put(newSlot(hash, p))
	r := s.at(p)
	r.hash = hash
	r.setKey(key)
	return r
}

// remove forgets the key at a place, which the last record then takes.
func (s *shard) remove(p place) {
	r, last := s.at(p), s.last()
	s.index.remove(newSlot(r.hash, p))
	if p != last {
		*r = *s.at(last)
		s.index[s.index.find(newSlot(r.hash, last))] = newSlot(r.hash, p)
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
