package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// Observer hears what a manager does with its store; what happens to tokens is
// told to a [bucket.Listener]. Observe is called on the goroutine of the call,
// after its answer is known, and must be quick and safe for concurrent use.
// Nothing is measured or allocated when there is no observer.
//
// Labels of metrics are Kind, Result.Source and Op.Kind, which have few values and
// names; what [CacheDenials] has answered is told by Result.Source. Key, Result and Err are for logs and traces.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is one thing that happened. New kinds and fields may be added.
type Event struct {
	Kind EventKind
	// Key is as stored. It may be personal data and has no bounded number of
	// values: it is no label for a metric, and neither is Err, which names it.
	Key string
	Op  bucket.Operation
	// Result is the answer; nil if there is none. It is only valid during the
	// call. Consumed means something only for operations that ask for tokens.
	Result *bucket.Result
	// Err is why there is no answer.
	Err error
	// Took is how long the backend took, retries included.
	Took time.Duration
	// LostSwaps is how often compare-and-swap started again because somebody
	// else was faster, at the cost of a round trip each.
	LostSwaps int
}

// EventKind is what happened.
type EventKind uint8

// The kinds of event. Every call that reaches the backend, a cache of denials
// included, ends in one DecisionMade, StoreFailed or Rejected; the others come before that, and so does
// the StoreFailed of a store in whose place a failure policy answered. Unlimited,
// DenyAll, bad input and a context that is already done make no event.
const (
	// DecisionMade: there is an answer, Result.
	DecisionMade EventKind = iota + 1
	// StoreFailed: the store gave none, because of Err. A context cancelled by the
	// caller comes here too.
	StoreFailed
	// HandedToSwap: a script left the decision to compare-and-swap, at the cost
	// of another round trip.
	HandedToSwap
	// BucketLost: a damaged state was taken for a new bucket. A read leaves the
	// damaged bytes, and so the next call tells of them again; what may write
	// replaces them, unless it failed.
	BucketLost
	// ConfigurationConflict: a stored configuration of the same version but
	// other content stays in force.
	ConfigurationConflict
	// Contended: LostSwaps is not 0.
	Contended
	// Rejected: the store is well, and what was asked for cannot be, because of
	// Err: a debt beyond int64, or a replacement that a version forbids.
	Rejected
	// BreakerOpened: this failure was one too many for [FallBack].
	BreakerOpened
	// BreakerClosed: [FallBack] has returned to its backend.
	BreakerClosed
)

var eventNames = [...]string{
	DecisionMade: "decision made", StoreFailed: "store failed", HandedToSwap: "handed to compare-and-swap",
	BucketLost: "bucket lost", ConfigurationConflict: "configuration conflict",
	Contended: "contended", Rejected: "rejected", BreakerOpened: "breaker opened", BreakerClosed: "breaker closed",
}

// String is the name of the kind, fit for a label.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown event"
}

// tell reports a decision to the observer. One that lacks what to go by is no
// answer: the caller then asks again, and only a failure behind it is told.
func (m *Manager) tell(ctx context.Context, d *Decision, took time.Duration, lacks bool) {
	if lacks && d.Failure == nil {
		return
	}
	e := Event{
		Key: d.Charges[0].Key, Op: d.Charges[0].Op, Took: took, Err: d.Err,
		LostSwaps: d.LostSwaps,
	}
	send := func(k EventKind) {
		e.Kind = k
		m.observer.Observe(ctx, e)
	}
	if d.Notes&HandedOver != 0 {
		send(HandedToSwap)
	}
	if d.Notes&StateLost != 0 {
		send(BucketLost)
	}
	if e.LostSwaps > 0 {
		send(Contended)
	}
	if d.Notes&BreakerOpens != 0 {
		send(BreakerOpened)
	}
	if d.Notes&BreakerCloses != 0 {
		send(BreakerClosed)
	}
	if d.Err != nil {
		send(failure(d.Err))
		return
	}
	if d.Failure != nil {
		e.Err = d.Failure
		send(StoreFailed)
	}
	if lacks {
		return
	}
	e.Err, e.Result = nil, &d.Results[0]
	if e.Result.Conflict {
		send(ConfigurationConflict)
	}
	send(DecisionMade)
}

// failure tells an operation that cannot be from a store that gives no answer.
func failure(err error) EventKind {
	var wrong *bucket.ArgumentError
	if errors.As(err, &wrong) || errors.Is(err, bucket.ErrOlderConfiguration) {
		return Rejected
	}
	return StoreFailed
}
