package bucket

import "fmt"

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
)

var kindNames = [...]string{
	OpConsume: "consume", OpConsumeUpTo: "consume up to", OpEstimate: "estimate", OpInspect: "inspect",
	OpAdd: "add", OpReset: "reset", OpRemove: "remove",
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
}

// ReadOnly tells whether the operation never writes, whatever it finds.
func (op Operation) ReadOnly() bool {
	return op.Kind == OpEstimate || op.Kind == OpInspect || op.Kind == OpConsume && op.Tokens == 0 ||
		op.Kind == OpConsumeUpTo && op.Tokens == 0 || op.Kind == OpAdd && op.Tokens == 0
}

// Validate reports a negative count or an unknown kind as [*ArgumentError].
func (op Operation) Validate() error {
	if op.Kind < OpConsume || op.Kind > OpRemove {
		return &ArgumentError{Field: "operation", Value: op.Kind, Allowed: "one of the kinds"}
	}
	if op.Tokens < 0 {
		return &ArgumentError{Field: "tokens", Value: op.Tokens, Allowed: "0 or more"}
	}
	return nil
}
