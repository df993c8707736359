// Package memory keeps the buckets of a [proxy.Manager] in this process.
//
// Keys do not wait for each other, and a bucket is forgotten once it is full
// again: each call looks at a few others and drops what has expired, so there
// is no goroutine and nothing to stop. By default it ticks in microseconds on
// the monotonic clock, so that a step of the wall clock changes nothing.
package memory

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// Backend is buckets in memory. Make one with [New]; give it to one or several
// managers. Closing any of them closes and empties it for all.
type Backend struct {
	clock  func() int64
	err    error // a bad option, told by Validate
	seed   maphash.Seed
	shards [shardCount]shard
	sweep  atomic.Uint32 // the shard to sweep next
	closed atomic.Bool
}

var (
	_ proxy.Backend     = (*Backend)(nil)
	_ proxy.Validator   = (*Backend)(nil)
	_ proxy.NonBlocking = (*Backend)(nil)
)

// Option changes what [New] makes.
type Option func(*Backend)

// WithClock replaces the clock, for tests and simulations. Instants are rounded
// down to microseconds.
func WithClock(now func() time.Time) Option {
	return func(b *Backend) {
		if now == nil {
			b.err = &bucket.ArgumentError{Field: "clock", Value: "nil", Allowed: "a function"}
			return
		}
		b.clock = func() int64 { return now().UnixMicro() }
	}
}

// New returns an empty backend.
func New(opts ...Option) *Backend {
	base := time.Now()
	b := &Backend{
		clock: func() int64 { return base.Add(time.Since(base)).UnixMicro() },
		seed:  maphash.MakeSeed(),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(b)
		}
	}
	for i := range b.shards {
		b.shards[i].entries = map[string]*entry{}
	}
	return b
}

// Validate reports what was wrong with the options.
func (b *Backend) Validate() error {
	if b.clock == nil {
		return &bucket.ArgumentError{Field: "memory backend", Value: "zero value", Allowed: "one made by New"}
	}
	return b.err
}

// NonBlocking is true.
func (b *Backend) NonBlocking() bool { return true }

// Len is how many keys are held, those included that have expired and not yet
// been swept.
func (b *Backend) Len() int {
	n := 0
	for i := range b.shards {
		n += b.shards[i].len()
	}
	return n
}

// Close forgets everything. Later decisions fail with proxy.ErrClosed.
func (b *Backend) Close() error {
	b.closed.Store(true)
	for i := range b.shards {
		b.shards[i].clear()
	}
	return nil
}

// Do decides; see [proxy.Backend].
func (b *Backend) Do(_ context.Context, ds []proxy.Decision) {
	for i := range ds {
		charge, _, ok := ds[i].Single()
		if !ok {
			continue
		}
		if b.closed.Load() {
			ds[i].Err = proxy.ErrClosed
			continue
		}
		b.decide(&ds[i], charge)
	}
	b.sweepSome()
}

// decide finds or makes the entry of a key and applies the charge to it. It
// starts anew where another call made or dropped the entry at the same time.
func (b *Backend) decide(d *proxy.Decision, c *proxy.Charge) {
	s := &b.shards[maphash.String(b.seed, c.Key)%shardCount]
	for {
		e := s.find(c.Key)
		if e == nil {
			now := b.clock()
			o := step(bucket.Entry{}, c, now)
			if o.Change != bucket.Write || s.insert(c.Key, newEntry(o, c, now)) {
				d.Results[0], d.Err = o.Result, o.Err
				d.Conclude(&bucket.Entry{}, moment(now), o.Change)
				return
			}
			continue
		}
		if b.apply(s, e, d, c) {
			return
		}
	}
}

// apply decides on an entry under its lock. The clock is read inside, so that
// instants arrive in order. It is false if the entry was dropped meanwhile.
func (b *Backend) apply(s *shard, e *entry, d *proxy.Decision, c *proxy.Charge) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dropped {
		return false
	}
	now := b.clock()
	stored := e.bucket
	if now >= e.until {
		stored = bucket.Entry{}
	}
	o := step(stored, c, now)
	switch {
	case o.Change == bucket.Write:
		e.bucket, e.until = o.Next, until(o, c, now)
	case o.Change == bucket.Delete, stored.Config.IsZero():
		e.dropped = true
		s.remove(c.Key, e)
	}
	d.Results[0], d.Err = o.Result, o.Err
	d.Conclude(&stored, moment(now), o.Change)
	return true
}

func step(stored bucket.Entry, c *proxy.Charge, now int64) bucket.Outcome {
	return bucket.Step(stored, c.Request, moment(now))
}

func moment(now int64) bucket.Moment { return bucket.Moment{Now: now, Tick: bucket.Microsecond} }

func newEntry(o bucket.Outcome, c *proxy.Charge, now int64) *entry {
	return &entry{bucket: o.Next, until: until(o, c, now)}
}

func until(o bucket.Outcome, c *proxy.Charge, now int64) int64 {
	return c.Rule.Life(o.ToFull, o.Remember).Until(now)
}
