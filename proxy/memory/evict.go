package memory

import "github.com/sluice-go/sluice/bucket"

// WithMaxKeys bounds how many keys are held; the default is no bound. A new key
// that comes when all places are taken takes that of another one, which is
// evicted: of 16 keys, the one that would be forgotten soonest. Among buckets of
// one limit that is the fullest one.
//
// Whoever comes for an evicted key meets a new bucket. So each eviction grants at
// most what its bucket lacked, its capacity and its debt, and [Backend.Evicted]
// counts them: choose a bound that is reached in emergencies only. To refuse the
// newcomers instead would let anybody who makes up keys lock out everybody else.
func WithMaxKeys(n int) Option {
	return func(b *Backend) {
		if n < 1 {
			b.fail(&bucket.ArgumentError{Field: "max keys", Value: n, Allowed: "1 or more"})
			return
		}
		b.most = int64(n)
	}
}

// evictLooks is how many keys an eviction chooses from.
const evictLooks = 16

// Evicted is how many buckets were dropped before their time, to keep the bound
// of [WithMaxKeys].
func (b *Backend) Evicted() int64 { return b.evicted.Load() }

// enter takes a place for one more key, if there is one.
func (b *Backend) enter() bool {
	if b.most == 0 {
		return true
	}
	for {
		n := b.held.Load()
		if n >= b.most {
			return false
		}
		if b.held.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave gives back the places of n keys.
func (b *Backend) leave(n int) {
	if b.most > 0 && n > 0 {
		b.held.Add(int64(-n))
	}
}

// victim is a key that may be evicted. It can be gone by the time it is.
type victim struct {
	shard *shard
	place place
	hash  uint32
	until int64
}

// evict makes room for one key, unless another call was faster. It holds one lock
// at a time, beginning at the shard of the new key.
func (b *Backend) evict(hash uint64) {
	var v victim
	looks := evictLooks
	for i := range uint64(len(b.shards)) {
		if looks -= b.shard(hash+i).choose(&v, looks); looks == 0 {
			break
		}
	}
	if v.shard == nil {
		return
	}
	now := b.clock()
	if !v.shard.evict(&v) {
		return
	}
	b.leave(1)
	if now < v.until {
		b.evicted.Add(1)
	}
}

// choose looks at the next few records for a better victim, and returns how many
// they were.
func (s *shard) choose(v *victim, looks int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	looks = min(looks, s.count)
	for range looks {
		p := s.look()
		if r := s.at(p); v.shard == nil || r.until < v.until {
			*v = victim{s, p, r.hash, r.until}
		}
		s.hand++
	}
	return looks
}

// evict forgets the victim, if it is still there as it was.
func (s *shard) evict(v *victim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(v.place) >= len(s.records) || s.marks[v.place] == 0 {
		return false
	}
	if r := s.at(v.place); r.hash != v.hash || r.until != v.until {
		return false
	}
	s.remove(v.place)
	return true
}
