// Package trips lets callers share round trips to a server: while as many as are
// meant to be are under way, those who come gather, and the next trip takes them all
// along. Nobody waits for company, and for others only a moment.
package trips

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/limited"
)

// To one server so many trips begin at once; others wait for one of them, and not for
// long. Few make pipelines long where processors are what is short. With several
// servers nobody shares: one of them in trouble would hold up those who ask another.
const (
	ToOneServer = 4
	NotShared   = math.MaxInt
)

// longestWait is how long those who gather wait for a trip to end before theirs begins
// all the same, as long as no more are under way than are meant to be. It is longer than a trip to a server near by, and where the network is
// slow it is all that sharing costs. Trips may also be stuck on connections that are
// dead while new ones would serve, and a client may not notice for seconds.
const longestWait = 500 * time.Microsecond

// Sharing is the trips of one client, for callers of type P.
type Sharing[P any] struct {
	most   int
	send   func(ctx context.Context, aboard []P)
	turn   limited.Turn
	mu     sync.Mutex
	flying int
	next   *Trip[P] // who gathers; nil: nobody
}

// New returns a sharing of at most so many trips at once. A trip is a call of send,
// which ends with its context as far as the client lets it.
func New[P any](most int, send func(ctx context.Context, aboard []P)) *Sharing[P] {
	return &Sharing[P]{most: most, send: send}
}

// Trip is the calls of several callers that go together.
type Trip[P any] struct {
	over      *limited.Signal // all are back
	aboard    []P
	origin    context.Context // the first caller's, for its values
	latest    time.Time       // the latest deadline
	unbounded bool            // somebody has none
	timer     *time.Timer     // when it begins in any case
}

// Wait waits until the trip is over; false if the context has ended before.
func (t *Trip[P]) Wait(ctx context.Context) bool { return t.over.Wait(ctx) }

// Enter joins those who gather for the next trip. It returns nil if a trip may begin
// at once: then the caller either makes it himself and calls [Sharing.Land], or has
// it made by [Sharing.Alone].
func (s *Sharing[P]) Enter(ctx context.Context, me P) *Trip[P] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flying < s.most {
		s.flying++
		return nil
	}
	if s.next == nil {
		t := &Trip[P]{over: limited.NewSignal(ctx), origin: context.WithoutCancel(ctx)}
		t.timer = time.AfterFunc(s.patience(), func() { s.begin(t) })
		s.next = t
	}
	s.next.add(ctx, me)
	return s.next
}

// patience grows with the square of what is under way beyond what is meant to be: few
// more trips spare a far server's callers a wait, and many would take all connections.
func (s *Sharing[P]) patience() time.Duration {
	return longestWait * time.Duration(s.flying*s.flying) / time.Duration(s.most*s.most)
}

// Alone has a trip made by a goroutine of its own. It ends with the caller's context.
func (s *Sharing[P]) Alone(ctx context.Context, me P) *Trip[P] {
	t := &Trip[P]{over: limited.NewSignal(ctx), aboard: []P{me}}
	go func() {
		defer t.over.Done()
		defer s.Land()
		s.send(ctx, t.aboard)
	}()
	return t
}

// Land ends a trip and sends those who have gathered on theirs, on a goroutine of
// their own, since whose trip this was is on the way back to his caller.
func (s *Sharing[P]) Land() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	if t := s.next; t != nil && s.flying < s.most {
		t.timer.Stop()
		s.next = nil
		s.flying++
		go s.fly(t)
	}
}

// begin begins a trip that has waited for long enough, unless it is under way.
func (s *Sharing[P]) begin(t *Trip[P]) {
	s.mu.Lock()
	gathers := s.next == t
	if gathers {
		s.next = nil
		s.flying++
	}
	s.mu.Unlock()
	if gathers {
		s.fly(t)
	}
}

// fly makes a shared trip. Those who have been told mostly ask again, so they have a
// turn of the processor first and go along on the next.
func (s *Sharing[P]) fly(t *Trip[P]) {
	defer s.Land()
	defer s.turn.Give()
	defer t.over.Done()
	ctx, cancel := t.context()
	defer cancel()
	s.send(ctx, t.aboard)
}

func (t *Trip[P]) add(ctx context.Context, one P) {
	t.aboard = append(t.aboard, one)
	if deadline, ok := ctx.Deadline(); !ok {
		t.unbounded = true
	} else if deadline.After(t.latest) {
		t.latest = deadline
	}
}

// context ends with the latest deadline aboard.
func (t *Trip[P]) context() (context.Context, context.CancelFunc) {
	if t.unbounded {
		return context.WithCancel(t.origin)
	}
	return context.WithDeadline(t.origin, t.latest)
}
