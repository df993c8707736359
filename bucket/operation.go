package bucket

import (
	"fmt"
	"time"
)

// Kind is what an [Operation] does.
type Kind uint8

// The kinds of operation, a closed set. Each has one place in Step and one in
// the scripts of a store that decides by itself.
const (
	// OpConsume takes the tokens, all or none.
	OpConsume Kind = iota + 1
	// OpConsumeUpTo takes as many of the tokens as there are.
	OpConsumeUpTo
	// OpEstimate tells what Consume would do and changes nothing.
	OpEstimate
	// OpInspect tells what there is and changes nothing.
	OpInspect
	// OpAdd puts tokens back, stopping at capacity.
	OpAdd
	// OpReset fills the bucket to its capacity.
	OpReset
	// OpRemove forgets the bucket.
	OpRemove
	// OpForce takes the tokens, into debt if need be.
	OpForce
	// OpForceAdd adds tokens, above the capacity if need be.
	OpForceAdd
	// OpReserve takes the tokens, into debt if that is repaid by refill within
	// the longest wait.
	OpReserve
	// OpRefund puts back tokens of a reservation that were not used, stopping at
	// capacity.
	OpRefund
	// OpReplace puts the declared configuration in force by a strategy.
	OpReplace
)

var kindNames = [...]string{
	OpConsume: "consume", OpConsumeUpTo: "consume up to", OpEstimate: "estimate", OpInspect: "inspect",
	OpAdd: "add", OpReset: "reset", OpRemove: "remove", OpForce: "force", OpForceAdd: "force-add",
	OpReserve: "reserve", OpRefund: "refund", OpReplace: "replace",
}

// String is the name of the kind, for logs and labels.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k > 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Operation is one thing to do with a bucket: a small comparable value.
type Operation struct {
	Kind   Kind
	Tokens int64 // the cost, or how many to add; 0 for kinds without a count
	// LongestWait is how long OpReserve may have to wait for its tokens.
	LongestWait time.Duration
	// Strategy is how OpReplace takes over the tokens.
	Strategy Inheritance
}

// ReadOnly tells whether the operation never writes, whatever it finds. A count
// of 0 makes one of most.
func (op Operation) ReadOnly() bool {
	switch op.Kind {
	case OpEstimate, OpInspect:
		return true
	case OpReset, OpRemove, OpReplace:
		return false
	default:
		return op.Tokens == 0
	}
}

// Validate reports a negative count or wait, or an unknown kind or strategy, as
// [*ArgumentError].
func (op Operation) Validate() error {
	switch {
	case op.Kind < OpConsume || op.Kind > OpReplace:
		return &ArgumentError{Field: "operation", Value: op.Kind, Allowed: "one of the kinds"}
	case op.Tokens < 0:
		return &ArgumentError{Field: "tokens", Value: op.Tokens, Allowed: "0 or more"}
	case op.LongestWait < 0:
		return &ArgumentError{Field: "longest wait", Value: op.LongestWait, Allowed: "0 or more"}
	case !op.Strategy.valid():
		return &ArgumentError{Field: "inheritance", Value: uint8(op.Strategy), Allowed: strategies}
	}
	return nil
}
