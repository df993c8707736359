package trace

import (
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/model"
)

// Target is one key of an implementation, absent at first.
type Target interface {
	// Do carries out a valid request at an instant on the injected clock, given
	// in ticks. An error fails the trace.
	Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error)
	// Forget makes the key absent: its time to live has passed on the injected
	// clock. A target that sees to that by itself does nothing.
	Forget(now int64) error
}

// Checker is a Target that can look at its stored key.
type Checker interface {
	// Check is called after each operation that agreed with the model, with
	// what that should have done to the key: leave it alone, delete it, or write
	// it with a life counted from now.
	Check(e model.Effect, now int64) error
}

// Loader is a Target that can be given a state, so that traces start from debt
// and from credit above capacity too.
type Loader interface {
	Load(e bucket.Entry, forgottenAt int64) error
}

// Subject is an implementation under test.
type Subject struct {
	Name string
	// Tick is the unit of its instants.
	Tick bucket.Tick
	// Local says that a bucket is made together with its target, under the one
	// configuration that it will ever have, and lasts for ever.
	Local bool
	// Forward says that its clock never goes back.
	Forward bool
	// Leads are the greatest skews to try, in ticks, one for each trace; none
	// is the same as 0.
	Leads []int64
	// Earliest and Latest bound the clock, in ticks; both 0 for all of int64.
	Earliest, Latest int64
	// Keys are how many keys of one store a trace plays with in turns, on one
	// clock; 0 is the same as 1.
	Keys int
	// Keep is the least that is added to the life of a key, for stores that
	// would otherwise forget it by their own clock before the injected one is
	// there.
	Keep time.Duration
	// New makes a fresh key.
	New func(Start) (Target, error)
}

// Start is how a trace begins.
type Start struct {
	Config bucket.Configuration // the first one; a local bucket's only one
	Lead   int64
	Now    int64
}
