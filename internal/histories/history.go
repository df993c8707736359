package histories

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// The size of a history. Porcupine's work grows fast with it.
const (
	clients = 12
	calls   = 30 // of each client
	doubts  = 4  // unknown outcomes after which a client stops
)

// most is how many calls clients make before what disturbs is over: the others show what came of it.
const most = calls * 3 / 5

// undecided is how long porcupine may search for an order. It takes milliseconds as a rule.
const undecided = 2 * time.Minute

// A History is what clients asked and were told, and when. Begin one, Play it, perhaps with something done
// to the server meanwhile, and Check what came of it.
type History struct {
	seed     uint64
	keys     int
	managers []*proxy.Manager
	pace     time.Duration
	pressing bool

	epoch   time.Time
	begun   atomic.Int64  // calls
	midway  chan struct{} // closed when some of the calls have been made
	reach   func()        // closes it
	calm    chan struct{} // closed when what disturbs is over
	mu      sync.Mutex
	history []porcupine.Operation
	doubt   []span // failovers
	failed  int    // calls that did nothing
	fault   error  // one that no disturbance explains
}

// Begin prepares a history over managers on the same store under a prefix of their own, which clients use in turn. The
// seed decides who does what.
func Begin(seed uint64, managers ...*proxy.Manager) *History {
	midway := make(chan struct{})
	return &History{
		seed: seed, keys: 1 + int(seed%2)*2, managers: managers, epoch: time.Now(),
		midway: midway, reach: sync.OnceFunc(func() { close(midway) }), calm: make(chan struct{}),
	}
}

// Seed is the history's seed.
func (h *History) Seed() uint64 { return h.seed }

// Keys is how many keys there are. They are the numbers from 0 on.
func (h *History) Keys() int { return h.keys }

// Pace has clients wait so long between calls while something disturbs. Play comes after.
func (h *History) Pace(between time.Duration) { h.pace = between }

// Press has clients mostly take, so that most are refused. Play comes after.
func (h *History) Press() { h.pressing = true }

// Play has all clients make their calls. As they do, disturb is called on this goroutine, unless it is nil. Until it
// has returned a client waits whose call has failed, so that few outcomes are unknown, or that has made most of its
// calls, so that some come later.
func (h *History) Play(disturb func()) {
	var all sync.WaitGroup
	for id := range clients {
		all.Go(func() { h.play(id) })
	}
	go func() {
		all.Wait()
		h.reach() // if nobody could
	}()
	<-h.midway
	if disturb != nil {
		disturb()
	}
	close(h.calm)
	all.Wait()
}

// Lose notes that the server forgot every bucket at some instant while f ran.
func (h *History) Lose(f func()) {
	from := h.now()
	f()
	for key := range h.keys {
		h.note(clients, call{key: key}, answer{}, from, h.now())
	}
}

// span is a time.
type span struct{ from, to int64 }

// FailOver notes that another server took the place of the one there was while f ran, and that it may lack what was
// done last. No answer of that time counts, for two servers may have given them at once; from then on a bucket holds
// what it is first seen to hold.
func (h *History) FailOver(f func()) {
	from := h.now()
	f()
	s := span{from, h.now()}
	h.doubt = append(h.doubt, s)
	for key := range h.keys {
		h.note(clients, call{key: key, kind: replaced}, answer{}, s.from, s.to)
	}
}

// doubtful is the history without the answers that do not count: any order may explain those calls.
func (h *History) doubtful() []porcupine.Operation {
	ops := slices.Clone(h.history)
	for i := range ops {
		op := &ops[i]
		if slices.ContainsFunc(h.doubt, func(s span) bool { return op.Call <= s.to && op.Return >= s.from }) {
			op.Output = answer{unknown: true}
		}
	}
	return ops
}

// Check tells how the history cannot be, or nil if it can.
func (h *History) Check() error {
	if h.fault != nil {
		return h.fault
	}
	switch porcupine.CheckOperationsTimeout(model, h.doubtful(), undecided) {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return fmt.Errorf("seed %d: no order of these calls explains their answers:\n%s", h.seed, h.text())
	default:
		return fmt.Errorf("seed %d: not decided after %v:\n%s", h.seed, undecided, h.text())
	}
}

// client is one caller.
type client struct {
	*History
	id       int
	manager  *proxy.Manager
	random   *rand.Rand
	reserved []*bucket.Reservation // by key; nil: none
}

func (h *History) play(id int) {
	c := client{
		History: h, id: id, manager: h.managers[id%len(h.managers)],
		random: rand.New(rand.NewPCG(h.seed, uint64(id))), reserved: make([]*bucket.Reservation, h.keys),
	}
	middle := int64(clients * calls / 5)
	middle += int64(h.seed % uint64(middle))
	for made, unknown := 0, 0; made < calls && unknown < doubts; made++ {
		if h.begun.Add(1) == middle {
			h.reach()
		}
		asked := c.choose()
		from := h.now()
		told, err := c.do(asked)
		switch {
		case err == nil:
			h.note(id, asked, told, from, h.now())
		case errors.Is(err, proxy.ErrOutcomeUnknown):
			h.note(id, asked, answer{unknown: true}, from, math.MaxInt64)
			unknown++
		default:
			h.fail(err)
		}
		if h.begun.Load() < middle { // the disturbance would wait for this client too
			continue
		}
		if err != nil || made >= most {
			<-h.calm
		}
		select {
		case <-h.calm:
		case <-time.After(h.pace):
		}
	}
}

func (h *History) now() int64 { return int64(time.Since(h.epoch)) }

func (h *History) note(id int, c call, a answer, from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history = append(h.history, porcupine.Operation{ClientId: id, Input: c, Output: a, Call: from, Return: to})
}

// fail notes a call that did nothing, by its error.
func (h *History) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed++
	if !errors.Is(err, proxy.ErrUnavailable) && !errors.Is(err, proxy.ErrContended) {
		h.fault = fmt.Errorf("seed %d: an error of no kind that is expected: %w", h.seed, err)
	}
}

// text is the history in the order of its calls.
func (h *History) text() string {
	ops := slices.Clone(h.history)
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, op := range ops {
		c := op.Input.(call)
		fmt.Fprintf(&b, "key %d, client %2d, %8d to %8d µs: %s\n",
			c.key, op.ClientId, op.Call/1000, min(op.Return/1000, 99_999_999), describe(c, op.Output.(answer)))
	}
	return b.String()
}
