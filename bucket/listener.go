package bucket

import "context"

// Listener hears what happens to tokens. Tell is called on the goroutine of the
// call, after the answer is known, and must be quick and safe for concurrent
// use. Nothing is allocated where nobody listens.
//
// The tokens that have left a bucket are those of Consumed, Reserved and Forced
// less those of Refunded and Added: each is told once, whatever it took to store
// it.
//
// No event tells the key of a bucket, so a listener cannot make it the label of
// a metric: Kind is one. What else should tell buckets apart, such as the plan of
// a user, can be put into the context of the call.
type Listener interface {
	Tell(ctx context.Context, e Event)
}

// Event is one thing that happened to tokens. New kinds and fields may be added.
type Event struct {
	Kind   EventKind
	Tokens int64
	// Probe is the answer of the operation; nil for Waited, Cancelled and
	// Settled. It is valid only during the call.
	Probe *Probe
}

// EventKind is what happened.
type EventKind uint8

// The kinds of event.
const (
	// Consumed: tokens were taken that were there.
	Consumed EventKind = iota + 1
	// Refused: that many were asked for in vain.
	Refused
	// Reserved: tokens were taken that may be used later.
	Reserved
	// Forced: tokens were taken whether they were there or not. Only DenyAll
	// refuses.
	Forced
	// Refunded: unused tokens of a reservation were given back.
	Refunded
	// Added: that many were offered to a bucket, which takes no more than its
	// capacity unless forced.
	Added
	// Filled: the bucket was reset.
	Filled
	// Replaced: another configuration was put in force by Replace.
	Replaced
	// Waited: a caller of Wait may now use the tokens it had reserved.
	Waited
	// Cancelled: a reservation was given back whole; Refunded tells the same
	// tokens.
	Cancelled
	// Settled: a reservation was closed with that many tokens used; Refunded or
	// Forced tells the difference.
	Settled
)

var eventNames = [...]string{
	Consumed: "consumed", Refused: "refused", Reserved: "reserved", Forced: "forced", Refunded: "refunded", Added: "added",
	Filled: "filled", Replaced: "replaced", Waited: "waited", Cancelled: "cancelled", Settled: "settled",
}

// String is the name of the kind, fit for a label.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown event"
}

// tell tells a listener, if there is one, what an operation did. Reads did
// nothing.
func tell(ctx context.Context, l Listener, op Operation, p Probe) {
	if l == nil || op.ReadOnly() {
		return
	}
	told := p // on the heap, but only here
	e := Event{Tokens: op.Tokens, Probe: &told}
	switch op.Kind {
	case OpConsume, OpConsumeUpTo:
		e.Kind, e.Tokens = Consumed, p.Tokens
	case OpReserve:
		e.Kind = Reserved
	case OpForce:
		e.Kind = Forced
	case OpRefund:
		e.Kind = Refunded
	case OpAdd, OpForceAdd:
		e.Kind = Added
	case OpReset:
		e.Kind = Filled
	case OpReplace:
		e.Kind = Replaced
	}
	if asks := e.Kind == Consumed || e.Kind == Reserved || e.Kind == Forced; asks && !p.Consumed {
		e.Kind, e.Tokens = Refused, op.Tokens
	}
	l.Tell(ctx, e)
}
