package proxy

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
)

// Backend decides. It is where buckets live: a store, or a wrapper around
// another backend. It is safe for concurrent use.
type Backend interface {
	// Do fills in Results, or Err, of each decision. The decisions are
	// independent of each other and may fail apart. Do returns within the
	// context's deadline, and what goes on after that works on copies: nothing
	// of ds is used once Do has returned. It does not panic: on a shared trip
	// nobody could recover from that.
	Do(ctx context.Context, ds []Decision)
	// Close ends what the backend has started. It may be called twice. What the
	// caller handed in, such as a client, stays the caller's.
	Close() error
}

// A Backend may have these methods too; a wrapper forwards them.
type (
	// Validator tells what was wrong with the arguments that a backend was
	// made with; NewManager reports it.
	Validator interface{ Validate() error }
	// NonBlocking tells that the buckets are in this process: Do never blocks, so
	// that calls need no timeout, and nobody else sees the keys, so that they need
	// no prefix.
	NonBlocking interface{ NonBlocking() bool }
	// Recaller answers a decision at once, without any I/O, if it can, and tells
	// whether it did. Such a call needs no timeout either.
	Recaller interface{ Recall(d *Decision) bool }
	// Taker answers takes of n tokens, n at least 1, as Do would, for a caller who
	// only asks whether they were there: without the cost of a whole answer. It
	// never blocks. The manager uses it where nobody observes or listens, and where
	// the backend is also NonBlocking. A wrapper that has a say in takes does not
	// forward it, and one that has it by embedding a backend is not asked, for
	// TakesFor tells whether it is this very one whose takes these are.
	Taker interface {
		TakesFor(b Backend) bool
		TryConsume(key string, c bucket.Configuration, n int64, storedRules bool, r expiration.Rule) (bool, error)
	}
)

func validate(b Backend) error {
	if isNil(b) {
		return &bucket.ArgumentError{Field: "backend", Value: "nil", Allowed: "a backend"}
	}
	if v, ok := b.(Validator); ok {
		return v.Validate()
	}
	return nil
}

func nonBlocking(b Backend) bool {
	n, ok := b.(NonBlocking)
	return ok && n.NonBlocking()
}

func recall(b Backend, d *Decision) bool {
	r, ok := b.(Recaller)
	return ok && r.Recall(d)
}

// Decision is one thing to decide: a set of charges, taken all or nothing.
type Decision struct {
	Charges []Charge
	// Results has one place for each charge, filled in by the backend.
	Results []bucket.Result
	// Err is why there is no result: a [*StoreError], the context's error,
	// ErrClosed, or errors.ErrUnsupported for a set that the backend cannot
	// take.
	Err error
	// Notes tells what else happened.
	Notes Notes
	// LostSwaps is how often somebody else was faster: the contention met under
	// compare-and-swap. Of decisions that shared a swap only the first tells.
	LostSwaps int
	// Failure is why the store gave no answer, where a wrapper gave one in its
	// place.
	Failure error
	// AskSeen asks the backend for Seen, which it leaves nil otherwise.
	AskSeen bool
	// Seen is what a refusal that changes nothing, or a look, was worked out from,
	// see [Decision.Conclude]. It is not to be changed.
	Seen *Seen
}

// Seen is what a store held under a key at an instant; see [Decision.Seen].
type Seen struct {
	Entry bucket.Entry
	At    bucket.Moment
}

// Charge is one operation on one key.
type Charge struct {
	Key string // as stored: the manager has applied prefix and hash
	bucket.Request
	Rule expiration.Rule // how long the key lives
}

// Notes is a set of things that happened on the way to a decision.
type Notes uint8

// The notes.
const (
	// HandedOver: a script left the decision to compare-and-swap.
	HandedOver Notes = 1 << iota
	// StateLost: a damaged state was taken for a new bucket.
	StateLost
	// BreakerOpens and BreakerCloses: the decision made [FallBack] give up on its
	// backend, or return to it.
	BreakerOpens
	BreakerCloses
)

// Single returns the charge and the result of a decision that has just one.
// For a set it notes errors.ErrUnsupported and returns false.
func (d *Decision) Single() (*Charge, *bucket.Result, bool) {
	if len(d.Charges) != 1 {
		d.Err = errors.ErrUnsupported
		return nil, nil, false
	}
	return &d.Charges[0], &d.Results[0], true
}

// Conclude ends a decision whose result or error is filled in: if somebody asks for
// it, it keeps what a refusal or a look was worked out from, the stored entry and the
// instant. The change is what [bucket.Entry.Step] asks of the store.
func (d *Decision) Conclude(stored *bucket.Entry, at bucket.Moment, change bucket.Change) {
	d.Seen = nil
	if d.AskSeen && change == bucket.Keep && d.Err == nil &&
		(refused(d.Charges[0].Op, &d.Results[0]) || looks(d.Charges[0].Op)) {
		d.Seen = &Seen{*stored, at}
	}
}

// refused tells that tokens were asked for and not taken.
func refused(op bucket.Operation, r *bucket.Result) bool {
	return mayBeRefused(op) && !r.Consumed && !r.Configuration.IsZero()
}

// mayBeRefused tells the operations that take tokens only if they may.
func mayBeRefused(op bucket.Operation) bool {
	switch op.Kind {
	case bucket.OpConsume, bucket.OpConsumeUpTo, bucket.OpReserve:
		return op.Tokens > 0
	}
	return false
}

// looks tells the operations that change nothing.
func looks(op bucket.Operation) bool {
	switch op.Kind {
	case bucket.OpInspect, bucket.OpEstimate:
		return true
	case bucket.OpConsume, bucket.OpConsumeUpTo:
		return op.Tokens == 0
	}
	return false
}

// Codec is the stored form of buckets. Package codec has it.
type Codec interface {
	// Append appends the stored form of e to dst.
	Append(dst []byte, e bucket.Entry) []byte
	// Decode reads a stored form. If its configuration equals like, the entry
	// has like itself, which costs no allocation. The error is
	// [ErrForeignState], [ErrUnknownFormat] or [ErrDamagedState].
	Decode(b []byte, like bucket.Configuration) (bucket.Entry, error)
}
