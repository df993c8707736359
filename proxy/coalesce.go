package proxy

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/limited"
)

// Coalesce lets operations on one key share a trip to the backend: while one is
// under way, those who come gather for the next, which carries all of them in
// the order in which they came. Nobody waits on purpose, and nothing is
// estimated: each answer is what the backend decides. So a key on which there
// is always somebody costs one trip after the other, however many there are.
//
// It belongs directly around the backend: a failure policy goes around it, not
// inside, since it must see each caller's deadline.
//
// A shared trip goes on until the latest deadline aboard. Who leaves before it
// has begun is not charged and gets ErrUnavailable with the context's error; who
// leaves later gets ErrOutcomeUnknown.
//
// The trip of somebody who is alone is an ordinary one. Decisions that come in
// batches, and sets, are passed on as they are.
func Coalesce(b Backend) Backend {
	if c, ok := b.(*coalescer); ok {
		return c
	}
	return &coalescer{backend: b, seed: maphash.MakeSeed()}
}

type coalescer struct {
	backend Backend
	seed    maphash.Seed
	turn    limited.Turn
	shards  [64]gate
}

// gate keeps the keys of a shard that have a trip under way, each with those who
// wait for the next; nil if nobody does.
type gate struct {
	mu   sync.Mutex
	keys map[string]*trip
	_    [48]byte // a cache line for each
}

// trip is those who go together. The gate's lock guards it until it is sent.
type trip struct {
	*manifest
	origin    context.Context // the first caller's, for its values
	latest    time.Time       // the latest deadline, unless
	unbounded bool            // somebody has none
	waiting   int             // how many of the seats are taken
	sent      bool
	over      *limited.Signal // everybody has his decision
}

// manifest is who is aboard and what for, in the same order.
type manifest struct {
	seats     []*seat
	decisions []Decision
}

// seat is a caller's decision on copies: he may leave at any time. By then it is
// not his any more, so only who stays gives it back.
type seat struct {
	charge  [1]Charge
	result  [1]bucket.Result
	askSeen bool
	empty   bool     // he has left before the trip was sent
	decided Decision // once the trip is over
}

// What is used again: each caller and trip would allocate it otherwise.
var (
	seats     = sync.Pool{New: func() any { return new(seat) }}
	manifests = sync.Pool{New: func() any { return new(manifest) }}
)

func (c *coalescer) Do(ctx context.Context, ds []Decision) {
	if len(ds) != 1 || len(ds[0].Charges) != 1 {
		c.backend.Do(ctx, ds)
		return
	}
	key := ds[0].Charges[0].Key
	g := &c.shards[maphash.String(c.seed, key)%uint64(len(c.shards))]
	s := seats.Get().(*seat)
	s.ask(&ds[0]) // ahead of the lock, which others wait for
	t := g.enter(ctx, key, s)
	switch {
	case t == nil:
		s.giveBack()
		defer c.land(g, key)
		c.backend.Do(ctx, ds)
	case t.over.Wait(ctx):
		s.tell(&ds[0])
		s.giveBack()
	case g.leave(t, s):
		Fail(ds, ErrUnavailable, ctx.Err())
	default:
		Fail(ds, ErrOutcomeUnknown, ctx.Err())
	}
}

// ask copies what a caller asks.
func (s *seat) ask(d *Decision) {
	s.charge[0], s.askSeen = d.Charges[0], d.AskSeen
}

// tell gives a caller his answer.
func (s *seat) tell(d *Decision) {
	charges, results := d.Charges, d.Results
	*d, results[0] = s.decided, s.result[0]
	if results[0].Source == bucket.SourceStore {
		results[0].Source = bucket.SourceCoalesced
	}
	d.Charges, d.Results = charges, results
}

func (s *seat) giveBack() {
	*s = seat{}
	seats.Put(s)
}

// enter begins a trip, or takes a seat in the next one.
func (g *gate) enter(ctx context.Context, key string, s *seat) *trip {
	deadline, bounded := ctx.Deadline()
	g.mu.Lock()
	defer g.mu.Unlock()
	t, busy := g.keys[key]
	if !busy {
		if g.keys == nil {
			g.keys = map[string]*trip{}
		}
		g.keys[key] = nil
		return nil
	}
	if t == nil {
		t = &trip{manifest: manifests.Get().(*manifest), origin: context.WithoutCancel(ctx), over: limited.NewSignal(ctx)}
		g.keys[key] = t
	}
	t.seats = append(t.seats, s)
	t.waiting++
	if !bounded {
		t.unbounded = true
	} else if deadline.After(t.latest) {
		t.latest = deadline
	}
	return t
}

// leave gives up a seat; false if the trip has begun.
func (g *gate) leave(t *trip, s *seat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.sent {
		return false
	}
	s.empty = true
	t.waiting--
	return true
}

// next takes those who wait for a key's next trip. If nobody does, the key is
// free again.
func (g *gate) next(key string) *trip {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.keys[key]
	if t == nil || t.waiting == 0 {
		delete(g.keys, key)
		return nil
	}
	t.sent = true
	g.keys[key] = nil
	return t
}

// land ends a trip: the next one begins, in a goroutine of its own since whose
// trip this was is on the way back to its caller.
func (c *coalescer) land(g *gate, key string) {
	if t := g.next(key); t != nil {
		go c.fly(g, key, t)
	}
}

// turns is how often those who have been told have a turn before the next trip begins:
// mostly another processor is idle, and takes up at once who gives his up for the first
// time.
const turns = 2

// fly carries out shared trips until nobody waits. Those who have been told mostly ask
// again, so they have a turn of the processor first and go along on the next trip.
func (c *coalescer) fly(g *gate, key string, t *trip) {
	for ; t != nil; t = g.next(key) {
		c.carry(t)
		for range turns {
			c.turn.Give()
		}
	}
}

// carry makes a trip.
func (c *coalescer) carry(t *trip) {
	ctx, cancel := t.context()
	defer cancel()
	t.board()
	c.backend.Do(ctx, t.decisions)
	t.disembark()
}

func (t *trip) context() (context.Context, context.CancelFunc) {
	if t.unbounded {
		return context.WithCancel(t.origin)
	}
	return context.WithDeadline(t.origin, t.latest)
}

// board makes the decisions of those who are still there.
func (t *trip) board() {
	t.seats = slices.DeleteFunc(t.seats, func(s *seat) bool { return s.empty })
	for _, s := range t.seats {
		t.decisions = append(t.decisions, Decision{Charges: s.charge[:], Results: s.result[:], AskSeen: s.askSeen})
	}
}

// disembark gives the decisions to those who asked for them.
func (t *trip) disembark() {
	for i, s := range t.seats {
		s.decided = t.decisions[i]
	}
	t.over.Done()
	clear(t.seats)
	clear(t.decisions)
	t.seats, t.decisions = t.seats[:0], t.decisions[:0]
	manifests.Put(t.manifest)
}

// Close closes the backend.
func (c *coalescer) Close() error { return c.backend.Close() }

// Validate tells what the backend has to tell.
func (c *coalescer) Validate() error { return validate(c.backend) }

// Recall answers what the backend can at once.
func (c *coalescer) Recall(d *Decision) bool { return recall(c.backend, d) }

// NonBlocking tells whether the backend never blocks.
func (c *coalescer) NonBlocking() bool { return nonBlocking(c.backend) }
