package proxy

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
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
	shards  [64]gate
}

// gate keeps the keys of a shard that have a trip under way, each with those who
// wait for the next; nil if nobody does.
type gate struct {
	mu   sync.Mutex
	keys map[string]*trip
	_    [48]byte // a cache line for each
}

// trip is decisions that go together, on copies: a caller may leave at any time.
// The gate's lock guards it until it is sent.
type trip struct {
	seats     []seat
	origin    context.Context // the first caller's, for its values
	latest    time.Time       // the latest deadline, unless
	unbounded bool            // somebody has none
	sent      bool
	over      *limited.Signal // the decisions are there
	decisions []Decision
	untold    atomic.Int32 // how many aboard have not been told yet
}

type seat struct {
	charge  [1]Charge
	result  [1]bucket.Result
	askSeen bool
	empty   bool // who sat there has left
	place   int  // among the decisions
}

func (c *coalescer) Do(ctx context.Context, ds []Decision) {
	if len(ds) != 1 || len(ds[0].Charges) != 1 {
		c.backend.Do(ctx, ds)
		return
	}
	key := ds[0].Charges[0].Key
	g := &c.shards[maphash.String(c.seed, key)%uint64(len(c.shards))]
	t, i := g.enter(ctx, &ds[0])
	if t == nil {
		defer c.land(g, key)
		c.backend.Do(ctx, ds)
		return
	}
	if !t.over.Wait(ctx) {
		if g.leave(t, i) {
			Fail(ds, ErrUnavailable, ctx.Err())
			return
		}
		Fail(ds, ErrOutcomeUnknown, ctx.Err())
		return
	}
	t.tell(i, &ds[0])
}

// tell gives a caller his decision. The last one leaves the trip to be used again;
// where somebody aboard has left, nobody is the last.
func (t *trip) tell(i int, d *Decision) {
	charges, results := d.Charges, d.Results
	*d = t.decisions[t.seats[i].place]
	results[0] = d.Results[0]
	if results[0].Source == bucket.SourceStore {
		results[0].Source = bucket.SourceCoalesced
	}
	d.Charges, d.Results = charges, results
	if t.untold.Add(-1) == 0 {
		clear(t.seats)
		clear(t.decisions)
		*t = trip{seats: t.seats[:0], decisions: t.decisions[:0]}
		trips.Put(t)
	}
}

// trips are ones to be used again, for their seats.
var trips = sync.Pool{New: func() any { return new(trip) }}

// enter begins a trip, or takes a seat in the next one.
func (g *gate) enter(ctx context.Context, d *Decision) (*trip, int) {
	charge := &d.Charges[0]
	g.mu.Lock()
	defer g.mu.Unlock()
	t, busy := g.keys[charge.Key]
	if !busy {
		if g.keys == nil {
			g.keys = map[string]*trip{}
		}
		g.keys[charge.Key] = nil
		return nil, 0
	}
	if t == nil {
		t = trips.Get().(*trip)
		t.origin, t.over = context.WithoutCancel(ctx), limited.NewSignal(ctx)
		g.keys[charge.Key] = t
	}
	t.seats = append(t.seats, seat{charge: [1]Charge{*charge}, askSeen: d.AskSeen})
	if deadline, ok := ctx.Deadline(); !ok {
		t.unbounded = true
	} else if deadline.After(t.latest) {
		t.latest = deadline
	}
	return t, len(t.seats) - 1
}

// leave gives up a seat; false if the trip has begun.
func (g *gate) leave(t *trip, i int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.sent {
		return false
	}
	t.seats[i].empty = true
	return true
}

// next takes those who wait for a key's next trip. If nobody does, the key is
// free again.
func (g *gate) next(key string) *trip {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.keys[key]
	if t == nil || t.allLeft() {
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

// fly carries out a shared trip. The next one begins before the many here are
// told, so that it is on the way meanwhile.
func (c *coalescer) fly(g *gate, key string, t *trip) {
	ctx, cancel := t.context()
	defer cancel()
	defer t.over.Done()
	defer c.land(g, key)
	t.board()
	c.backend.Do(ctx, t.decisions)
}

func (t *trip) allLeft() bool {
	for i := range t.seats {
		if !t.seats[i].empty {
			return false
		}
	}
	return true
}

func (t *trip) context() (context.Context, context.CancelFunc) {
	if t.unbounded {
		return context.WithCancel(t.origin)
	}
	return context.WithDeadline(t.origin, t.latest)
}

// board makes the decisions of those who are still there.
func (t *trip) board() {
	for i := range t.seats {
		s := &t.seats[i]
		if s.empty {
			continue
		}
		s.place = len(t.decisions)
		t.decisions = append(t.decisions, Decision{Charges: s.charge[:], Results: s.result[:], AskSeen: s.askSeen})
	}
	t.untold.Store(int32(len(t.decisions)))
}

// Close closes the backend.
func (c *coalescer) Close() error { return c.backend.Close() }

// Validate tells what the backend has to tell.
func (c *coalescer) Validate() error { return validate(c.backend) }

// Recall answers what the backend can at once.
func (c *coalescer) Recall(d *Decision) bool { return recall(c.backend, d) }

// NonBlocking tells whether the backend never blocks.
func (c *coalescer) NonBlocking() bool { return nonBlocking(c.backend) }
