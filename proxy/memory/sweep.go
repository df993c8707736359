package memory

// How calls sweep. One that adds a key looks at sweepOnInsert records of its
// shard, so that while keys come, what has expired is never more than about a
// third of what has not. Besides, one call in sweepEvery looks at a few records
// of the next shard, and at more while many of them had expired. So the work of
// a call is bounded, and whatever the traffic, what has expired is soon gone.
const (
	sweepOnInsert = 4
	sweepEvery    = 64
	sampleSize    = 8
	sweepRounds   = 8
)

// release unlocks a shard at the end of a call, and sweeps in another one if it
// is time to.
func (b *Backend) release(s *shard, now int64) {
	s.turn++
	due := s.turn%sweepEvery == 0
	s.mu.Unlock()
	if due {
		b.sweepNext(now)
	}
}

// sweepNext sweeps in the next shard.
func (b *Backend) sweepNext(now int64) {
	s := b.shard(uint64(b.swept.Add(1)))
	s.mu.Lock()
	defer s.mu.Unlock()
	for range sweepRounds {
		expired := s.sweep(now, sampleSize)
		b.leave(expired)
		if expired <= sampleSize/4 {
			return
		}
	}
}

// sweep forgets those of the next few records that have expired, and returns how
// many they were.
func (s *shard) sweep(now int64, looks int) (expired int) {
	for range min(looks, s.count) {
		p := s.look()
		if now < s.at(p).until {
			s.hand++
			continue
		}
		s.remove(p)
		expired++
	}
	return expired
}
