package redis

import (
	"context"
	"errors"
	"fmt"
)

// Client runs scripts on Redis. An adapter implements it for one client
// library.
type Client interface {
	// Run runs the calls in one trip where the client can, and fills in the
	// Reply or Err of each. It sends a script's SHA-1, or with source its text.
	// It returns within the context's deadline, with the context's error for
	// calls without an answer; what goes on after that works on copies. It never
	// sends a call twice that may have been carried out.
	Run(ctx context.Context, calls []Call, source bool)
}

// Call is one run of a script on one key.
type Call struct {
	Script *Script
	Key    string
	Args   []string
	Now    *int64 // the client's instant where its clock rules, else nil
	Reply  Reply
	// Err is a [*ServerError], an error that wraps [ErrNotSent], or another
	// one, after which the call may or may not have been carried out.
	Err error
}

// ErrNotSent is what an adapter wraps the cause in when a call surely never
// reached the server.
var ErrNotSent = errors.New("sluice: not sent")

// ServerError is an error reply. The script changed nothing: writing is the
// last thing that each one does.
type ServerError struct{ Text string }

func (e *ServerError) Error() string { return e.Text }

// Reply is what every script returns.
type Reply struct {
	Now   int64  // the instant of the decision, in microseconds
	Bytes []byte // what the key held; nil: absent
	Done  Done   // a third value
}

// Done is what a script did.
type Done int64

// What scripts do.
const (
	Nothing Done = iota // but look, or refuse
	Undone              // it leaves the decision to its caller
	Wrote
)

// ParseReply reads a script's answer as clients give it: a list of an integer,
// a string or nil, and perhaps one more integer.
func ParseReply(v any) (Reply, error) {
	list, ok := v.([]any)
	if !ok || len(list) < 2 || len(list) > 3 {
		return Reply{}, malformed(v)
	}
	now, ok := list[0].(int64)
	if !ok {
		return Reply{}, malformed(v)
	}
	r := Reply{Now: now}
	if len(list) == 3 {
		done, ok := list[2].(int64)
		if !ok {
			return Reply{}, malformed(v)
		}
		r.Done = Done(done)
	}
	switch b := list[1].(type) {
	case nil:
	case string:
		r.Bytes = []byte(b)
	default:
		return Reply{}, malformed(v)
	}
	return r, nil
}

// ErrMalformedReply is the cause when a server, or a proxy before it, answers a
// script with something that no script returns.
var ErrMalformedReply = errors.New("sluice: malformed reply")

func malformed(v any) error { return fmt.Errorf("%w: %T", ErrMalformedReply, v) }
