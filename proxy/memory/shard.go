package memory

import "sync"

// mostShards spread the keys, so that they seldom wait for each other and all work
// under the lock of one is short.
const mostShards = 2048

// shardsFor is how many shards there are for at most so many keys (0: no bound), a
// power of two. When all keys are there an eviction finds enough to choose from in one
// or two.
func shardsFor(keys int64) int {
	n := mostShards
	for keys > 0 && n > 1 && int64(n)*evictLooks > keys {
		n /= 2
	}
	return n
}

func (b *Backend) shard(hash uint64) *shard { return &b.shards[hash&uint64(len(b.shards)-1)] }

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

// lock locks a shard for a call. Calls hold it for some ten nanoseconds, so who finds
// it locked looks a few times more before he waits as for something that takes long.
func (s *shard) lock() {
	for range patience {
		if s.mu.TryLock() {
			return
		}
	}
	s.mu.Lock()
}

const patience = 100

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
