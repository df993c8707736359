package proxy

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// CacheDenials spares b the calls whose refusal is known already. It keeps what a
// refusal was worked out from, and answers later takes on the key from that, of
// whatever cost, as long as they are refused by it: consuming, consuming up to a
// number, and reserving. What might be granted or would change anything goes to b,
// as all else does. So a denial is forgotten at its wait, not later, and nothing is
// ever granted here. As long as nobody changes the bucket elsewhere every field of
// such an answer is the one that b would give, and its waits are at most longer by
// the time that a call of b takes. It tells where it comes from
// ([bucket.SourceCache]).
//
// Staleness, 1 ms to 1 h, is within what time that is seen which is done to a bucket
// elsewhere, by other processes or other managers: credit, refunds, resets, other
// limits, removals. Until then it may still be refused here. Tokens that are taken
// elsewhere meanwhile make the true wait longer than the one told. What is done
// through this wrapper is seen at once: every call that b answers drops what is
// remembered of its key, except a look that finds the bucket as it is remembered.
//
// It belongs around the backend, coalescing included, and inside of failure
// policies: a remembered denial refuses within its staleness even while the store is
// down, whatever the policy, and tells a breaker nothing. Time is counted by the
// monotonic clock; a store's clock that steps or goes at another speed counts as a
// change elsewhere.
//
// An answer from here is no round trip and no allocation (up to four bandwidths), and
// keys do not wait for each other. See [WithMaxDenials] for the memory. Failures are
// not remembered, nor is what another store or a policy answered, a refusal by a
// stored bucket that is full, which may be forgotten at any time, or one by a backend
// that does not tell what it saw ([Decision.Seen]). Batches and sets are passed on.
func CacheDenials(b Backend, staleness time.Duration, opts ...DenialOption) Backend {
	c := &denials{backend: b, staleness: staleness, most: DefaultMaxDenials, now: time.Now, seed: maphash.MakeSeed()}
	if staleness < time.Millisecond || staleness > time.Hour {
		c.err = &bucket.ArgumentError{Field: "staleness", Value: staleness, Allowed: "1ms to 1h"}
	}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	c.shards = make([]denialShard, max(1, min(mostShards, c.most)))
	for i := range c.shards {
		c.shards[i].keys = map[string]*denial{}
		c.shards[i].most = c.most / len(c.shards)
	}
	return c
}

// DenialOption changes what [CacheDenials] makes.
type DenialOption func(*denials)

// DefaultMaxDenials is of how many keys [CacheDenials] remembers a denial, unless it
// is told otherwise.
const DefaultMaxDenials = 65_536

// WithMaxDenials sets of how many keys a denial is remembered at most, 1 or more.
// Each takes some 310 bytes and those of its key. Those whose time is over go as
// others come, and beyond the number one makes place for another, so keys that an
// attacker makes up cost no more than that.
func WithMaxDenials(n int) DenialOption {
	return func(c *denials) {
		if n < 1 {
			c.err = errors.Join(c.err, &bucket.ArgumentError{Field: "max denials", Value: n, Allowed: "1 or more"})
		}
		c.most = n
	}
}

// WithDenialClock replaces the clock, for tests and simulations.
func WithDenialClock(now func() time.Time) DenialOption {
	return func(c *denials) {
		if now == nil {
			c.err = errors.Join(c.err, &bucket.ArgumentError{Field: "clock", Value: "nil", Allowed: "a function"})
		}
		c.now = now
	}
}

type denials struct {
	backend   Backend
	staleness time.Duration
	most      int
	now       func() time.Time
	err       error
	seed      maphash.Seed
	shards    []denialShard
}

// denial is what a refusal was worked out from. It never changes.
type denial struct {
	seen *Seen
	// The store was asked after sent and its answer was there by answered, so its
	// instant lies between. By the first it is forgotten, by the second it answers:
	// what is forgotten is forgotten early, and what is told to wait is not short.
	sent, answered time.Time
	life           time.Duration // how long after sent it may be used
	epoch          uint8         // which one of the shard is its key's
}

// Do decides; see [Backend].
func (c *denials) Do(ctx context.Context, ds []Decision) {
	if len(ds) == 1 && len(ds[0].Charges) == 1 {
		p, op := c.place(ds[0].Charges[0].Key), ds[0].Charges[0].Op
		switch known, _ := p.look(); {
		case mayBeRefused(op):
			c.ask(ctx, ds, p)
			return
		case looks(op) && known != nil:
			c.look(ctx, ds, p)
			return
		}
	}
	c.backend.Do(ctx, ds)
	for i := range ds {
		for j := range ds[i].Charges {
			c.place(ds[i].Charges[j].Key).forget()
		}
	}
}

// ask answers one that may be refused, and remembers it if it is.
func (c *denials) ask(ctx context.Context, ds []Decision, p place) {
	d := &ds[0]
	epoch, ok := c.recall(p, d)
	if ok {
		return
	}
	sent := c.now()
	c.see(ctx, ds)
	if !confirmed(d) {
		p.forget()
		return
	}
	fresh := &denial{seen: d.Seen, sent: sent, answered: c.now(), life: c.staleness, epoch: p.epoch}
	if r := &d.Results[0]; r.Existed {
		// A full one may have been forgotten by the store since.
		fresh.life = min(fresh.life, r.TimeToFull)
	}
	p.keep(epoch, fresh)
}

// look passes on what changes nothing. What is remembered stays if it is what the
// caller is about to hear of.
func (c *denials) look(ctx context.Context, ds []Decision, p place) {
	c.see(ctx, ds)
	if confirmed(&ds[0]) {
		p.compare(ds[0].Seen)
	} else {
		p.forget()
	}
}

// see has the backend decide and tell what it saw.
func (c *denials) see(ctx context.Context, ds []Decision) {
	asked := ds[0].AskSeen
	ds[0].AskSeen, ds[0].Seen = true, nil
	c.backend.Do(ctx, ds)
	ds[0].AskSeen = asked
}

// confirmed tells that the store itself refused or told of the bucket, and what it saw.
func confirmed(d *Decision) bool {
	if d.Err != nil || d.Seen == nil {
		return false
	}
	s := d.Results[0].Source
	return s == bucket.SourceStore || s == bucket.SourceCoalesced
}

// Recall answers from what is remembered, if that refuses.
func (c *denials) Recall(d *Decision) bool {
	if len(d.Charges) != 1 || !mayBeRefused(d.Charges[0].Op) {
		return false
	}
	_, ok := c.recall(c.place(d.Charges[0].Key), d)
	return ok
}

// recall is Recall, and returns the present epoch.
func (c *denials) recall(p place, d *Decision) (epoch uint64, ok bool) {
	known, epoch := p.look()
	return epoch, known != nil && known.answer(d, c.now())
}

// answer gives the answer of the store, if that is surely no. This clock and the
// store's are both cut to microseconds, hence one more for the latest that it may be
// by the store's.
func (k *denial) answer(d *Decision, now time.Time) bool {
	at, since := k.seen.At, now.Sub(k.answered)
	if k.over(now) || since < 0 {
		return false
	}
	passed := int64(since / time.Microsecond)
	if at.Now > math.MaxInt64-passed {
		return false
	}
	at.Now += passed
	req := &d.Charges[0].Request
	var r bucket.Result
	entry := k.seen.Entry
	f, err := entry.Step(&r, req, at)
	unsure := time.Duration(int64(now.Sub(k.sent)/time.Microsecond)-passed+1) * time.Microsecond
	if err != nil || f.Change != bucket.Keep || !refused(req.Op, &r) || !r.Never && r.Wait-unsure <= req.Op.LongestWait {
		return false
	}
	r.Source = bucket.SourceCache
	d.Results[0] = r
	return true
}

// over tells that the time has passed within which it may be used, or that the
// clock was set back.
func (k *denial) over(now time.Time) bool {
	age := now.Sub(k.sent)
	return age < 0 || age >= k.life
}

// How the keys are spread: over shards, each with a lock, and within a shard over
// epochs.
const (
	mostShards   = 64
	shardsEpochs = 64
)

// denialShard keeps the denials of some keys.
//
// Nobody may be answered by what was before something that anybody has been told
// already. So an epoch ends when a call of one of its keys returns with anything but
// a refusal, and when a denial is dropped; and a refusal answers others only if its
// epoch is still the one in which its call began. Keys that share an epoch by chance
// cost each other a call of the backend.
type denialShard struct {
	mu     sync.RWMutex
	keys   map[string]*denial // nil once closed
	most   int
	epochs [shardsEpochs]uint64
}

// place is where a key belongs.
type place struct {
	*denialShard
	key   string
	epoch uint8
}

func (c *denials) place(key string) place {
	h, n := maphash.String(c.seed, key), uint64(len(c.shards))
	return place{&c.shards[h%n], key, uint8(h / n % shardsEpochs)}
}

// look returns what is remembered of the key, nil if nothing is, and the epoch.
func (p place) look() (*denial, uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.keys[p.key], p.epochs[p.epoch]
}

// forget ends the epoch.
func (p place) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.keys, p.key)
	p.epochs[p.epoch]++
}

// keep remembers a refusal of a call that was begun in an epoch. If that is over it
// answers nobody, and is kept only so that none is which saw what was before it.
func (p place) keep(epoch uint64, d *denial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epochs[p.epoch] != epoch {
		d.life = 0
	}
	known := p.keys[p.key]
	switch {
	case p.keys == nil:
	case known == nil:
		p.sweep(d.answered)
		p.keys[p.key] = d
	case known.seen.sameEntry(d.seen):
		if d.life > 0 && !known.sent.After(d.sent) {
			p.keys[p.key] = d
		}
	case d.sent.After(known.answered):
		p.keys[p.key] = d
	default:
		// Both were under way at once, and somebody changed the bucket. Nobody
		// knows which of them saw it first.
		p.drop(p.key, known)
	}
}

// compare forgets what is remembered unless a look has seen the same. The epoch ends
// in any case: what is under way may have seen something older.
func (p place) compare(seen *Seen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.keys[p.key]; known != nil && !known.seen.sameEntry(seen) {
		delete(p.keys, p.key)
	}
	p.epochs[p.epoch]++
}

// sweepSize is at how many denials each new one looks. With four, no more than a
// quarter of what is held has had its time, as long as new ones come.
const sweepSize = 4

// sweep drops those among a few whose time is over, and one more if there is no
// place.
func (s *denialShard) sweep(now time.Time) {
	looked := 0
	for key, d := range s.keys { // Go starts at a random place
		if d.over(now) || looked == 0 && len(s.keys) >= s.most {
			s.drop(key, d)
		}
		if looked++; looked == sweepSize {
			return
		}
	}
}

func (s *denialShard) drop(key string, d *denial) {
	delete(s.keys, key)
	s.epochs[d.epoch]++
}

func (s *Seen) sameEntry(other *Seen) bool {
	return s.Entry.State == other.Entry.State && s.Entry.Config.Equal(other.Entry.Config)
}

// Close forgets everything and closes the backend.
func (c *denials) Close() error {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.keys = nil
		s.mu.Unlock()
	}
	return c.backend.Close()
}

// Validate tells what is wrong with the arguments and the backend.
func (c *denials) Validate() error { return errors.Join(c.err, validate(c.backend)) }

// NonBlocking tells whether the backend never blocks.
func (c *denials) NonBlocking() bool { return nonBlocking(c.backend) }
