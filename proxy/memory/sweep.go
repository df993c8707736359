package memory

// How calls sweep. One that adds a key looks at sweepOnInsert records of its
// shard, so expired ones never grow to much more than a third of those alive
// while keys come. Besides, one call in sweepEvery looks at a few records of the
// next shard, and at more while many of them had expired. So the work of a call
// is bounded, and whatever the traffic, what has expired is soon gone.
const (
	sweepOnInsert = 4
	sweepEvery    = 16
	sampleSize    = 8
	sweepRounds   = 8
)

// sweepNext sweeps in the next shard.
func (b *Backend) sweepNext(now int64) {
	s := &b.shards[b.swept.Add(1)%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	for range sweepRounds {
		expired := s.sweep(b.seed, now, sampleSize)
		b.count(-expired)
		if expired <= sampleSize/4 {
			return
		}
	}
}
