package memory

import "sync"

// shardCount spreads the keys, so that they seldom wait for each other. All work
// under the lock of one shard is short.
const shardCount = 2048

// shard is a part of the keys. Calls seldom need more than its first cache line.
type shard struct {
	mu   sync.Mutex
	turn uint32 // counts calls
	hand uint32 // the place to be looked at next
	table
	_ [8]byte
}

// look is the place of the next record to look at. There must be one.
func (s *shard) look() place {
	p := s.next(place(s.hand))
	s.hand = uint32(p)
	return p
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table, s.hand = table{}, 0
}
