package goredis

import (
	"encoding"
	"sync/atomic"
)

// gate knows whether the calls of one trip have been written to a connection:
// go-redis encodes arguments only then. What has not passed when the caller
// gives up never does, so such a call surely did nothing.
type gate struct{ state atomic.Int32 }

const (
	open int32 = iota
	passed
	closed
)

// shut closes the gate unless something has passed; true means that nothing has
// and nothing will.
func (g *gate) shut() bool {
	return g.state.CompareAndSwap(open, closed) || g.state.Load() == closed
}

// isShut tells whether the caller has given up in time.
func (g *gate) isShut() bool { return g.state.Load() == closed }

// noScript is what a call that was given up in time runs: no script has this
// SHA-1, nor is it one, so the server refuses and does nothing. An error instead
// would break off the pipeline in which others go along.
const noScript = "0000000000000000000000000000000000000000"

// guarded is an argument that is encoded only while the gate is open, or has
// been passed: commands of a pipeline, and what a cluster redirects, go together.
type guarded struct {
	gate *gate
	text string
}

var _ encoding.BinaryMarshaler = guarded{}

// MarshalBinary is called by go-redis as it writes a command.
func (a guarded) MarshalBinary() ([]byte, error) {
	if !a.gate.state.CompareAndSwap(open, passed) && a.gate.state.Load() == closed {
		return []byte(noScript), nil
	}
	return []byte(a.text), nil
}

// String is for the client's own logs.
func (a guarded) String() string { return a.text }
