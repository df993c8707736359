// Package memory keeps the buckets of a [proxy.Manager] in this process.
//
// It is made for millions of keys, at 80 to 92 bytes of heap each, the text of up to
// 19 bytes included; longer keys take 82 to 102 beside their text, and three
// bandwidths 60 more. After many have gone it is up to a fifth more for each that is
// left; an empty backend takes 256 KiB. The keys are spread over many small tables
// with a lock each, held for the fraction of a microsecond that one decision takes, so
// keys hardly ever wait for each other. A bucket is forgotten once it is full again:
// one call in 64, and each that adds a key, looks at a few others, at no more than 68,
// and drops what has expired; memory goes back as it does. So there is no pause, no
// goroutine and nothing to stop. [WithMaxKeys] bounds the keys.
//
// By default it ticks in microseconds on the monotonic clock, so that a step of
// the wall clock changes nothing.
package memory

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
)

// Backend is buckets in memory. Make one with [New]; give it to one or several
// managers. Closing any of them closes and empties it for all.
type Backend struct {
	clock   func() int64
	err     error // a bad option, told by Validate
	seed    maphash.Seed
	most    int64 // keys; 0: no bound
	closed  atomic.Bool
	held    atomic.Int64 // keys, counted only where they are bounded
	evicted atomic.Int64
	swept   atomic.Uint32 // the shard that was swept last
	shards  []shard
}

var (
	_ proxy.Backend     = (*Backend)(nil)
	_ proxy.Validator   = (*Backend)(nil)
	_ proxy.NonBlocking = (*Backend)(nil)
	_ proxy.Taker       = (*Backend)(nil)
)

// Option changes what [New] makes.
type Option func(*Backend)

// WithClock replaces the clock, for tests and simulations. Instants are rounded
// down to microseconds.
func WithClock(now func() time.Time) Option {
	return func(b *Backend) {
		if now == nil {
			b.fail(&bucket.ArgumentError{Field: "clock", Value: "nil", Allowed: "a function"})
			return
		}
		b.clock = func() int64 { return now().UnixMicro() }
	}
}

func (b *Backend) fail(err error) { b.err = errors.Join(b.err, err) }

// New returns an empty backend.
func New(opts ...Option) *Backend {
	b := &Backend{clock: monotonic(), seed: maphash.MakeSeed()}
	for _, opt := range opts {
		if opt != nil {
			opt(b)
		}
	}
	b.shards = make([]shard, shardsFor(b.most))
	return b
}

// monotonic is a clock in microseconds that goes on whatever happens to the wall
// clock: what it counts from is the Unix epoch as it was on that clock.
func monotonic() func() int64 {
	now := time.Now()
	epoch := now.Add(-time.Duration(now.UnixNano()))
	return func() int64 { return int64(time.Since(epoch) / time.Microsecond) }
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
// been swept. It counts one part after another, so under traffic it can be a few
// off, and above [WithMaxKeys] too.
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
		if charge, result, ok := ds[i].Single(); b.clock == nil {
			ds[i].Err = b.Validate()
		} else if ok {
			ds[i].Err = b.decide(maphash.String(b.seed, charge.Key), charge, result, &ds[i])
		}
	}
}

// TakesFor tells whether other is this backend; see [proxy.Taker].
func (b *Backend) TakesFor(other proxy.Backend) bool { return other == proxy.Backend(b) }

// TryConsume decides by the shortest way; see [proxy.Taker].
func (b *Backend) TryConsume(key string, config bucket.Configuration, n int64, storedRules bool, rule expiration.Rule) (bool, error) {
	if b.clock == nil {
		return false, b.Validate()
	}
	hash := maphash.String(b.seed, key)
	if taken, decided := b.take(hash, key, config, n, rule); decided {
		return taken, nil
	}
	req := bucket.Request{Config: config, StoredRules: storedRules, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: n}}
	var result bucket.Result
	err := b.decide(hash, &proxy.Charge{Key: key, Request: req, Rule: rule}, &result, nil)
	return err == nil && result.Consumed, err
}

// take decides on a bucket that is there, under its own configuration, and has
// one bandwidth, as nearly all are.
func (b *Backend) take(hash uint64, key string, config bucket.Configuration, n int64, rule expiration.Rule) (taken, decided bool) {
	s := b.shard(hash)
	s.lock()
	at, found, now := b.find(s, uint32(hash>>32), key)
	if found {
		if r := s.at(at); r.config == config && now < r.until && config.Len() == 1 {
			var f bucket.Effect
			if f, decided = config.TakeOne(&r.level, &r.last, n, now); f.Change == bucket.Write {
				taken, r.until = true, rule.Life(f.ToFull, f.Remember).Until(now)
			}
		}
	}
	b.release(s, now)
	return taken, decided
}

// find finds the record of a key, and reads the clock while the memory of what may
// be that record is on its way: those two take longer than all else.
func (b *Backend) find(s *shard, hash uint32, key string) (at place, found bool, now int64) {
	s.fetch(hash)
	now = b.clock()
	at, found = s.find(hash, key)
	return at, found, now
}

// errFull means that a new key has to wait for an eviction.
var errFull = errors.New("full")

func (b *Backend) decide(hash uint64, c *proxy.Charge, result *bucket.Result, d *proxy.Decision) error {
	for {
		err := b.apply(hash, c, result, d)
		if err != errFull {
			return err
		}
		b.evict(hash)
	}
}

// apply finds or makes the record of a key and applies the charge to it, under
// the lock of its shard. The clock is read there too, so that instants arrive in
// order. The decision, if there is one, is told what it was worked out from.
func (b *Backend) apply(hash uint64, c *proxy.Charge, result *bucket.Result, d *proxy.Decision) error {
	s, upper := b.shard(hash), uint32(hash>>32)
	s.lock()
	if b.closed.Load() { // asked under the lock, so that nothing comes after clear
		s.mu.Unlock()
		return proxy.ErrClosed
	}
	at, found, now := b.find(s, upper, c.Key)
	var e bucket.Entry
	if found && now < s.at(at).until {
		s.load(at, &e)
	}
	lives := !e.Config.IsZero()
	moment := bucket.Moment{Now: now, Tick: bucket.Microsecond}
	var seen bucket.Entry
	if d != nil && d.AskSeen {
		seen = e
	}
	f, err := e.Step(result, &c.Request, moment)
	if d != nil {
		d.Err = err
		d.Conclude(&seen, moment, f.Change)
	}
	switch {
	case f.Change == bucket.Write && found:
		s.store(at, &e, until(f, c, now))
	case f.Change == bucket.Write && !b.enter():
		err = errFull
	case f.Change == bucket.Write:
		s.store(s.insert(upper, c.Key), &e, until(f, c, now))
		b.leave(s.sweep(now, sweepOnInsert))
	case found && (f.Change == bucket.Delete || !lives):
		s.remove(at)
		b.leave(1)
	}
	b.release(s, now)
	return err
}

func until(f bucket.Effect, c *proxy.Charge, now int64) int64 {
	return c.Rule.Life(f.ToFull, f.Remember).Until(now)
}
