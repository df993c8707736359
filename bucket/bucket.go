package bucket

import (
	"context"
	"time"
)

// Bucket is what every bucket can do, wherever its state lives. All methods
// are safe for concurrent use. Costs and counts are 0 or more, a negative one
// is an [*ArgumentError] and charges nothing; a refusal is a result, never an
// error.
//
// A bucket in memory makes no round trip and fails only for bad input or a
// context that is already done; what a remote one costs and how it fails is
// told in package proxy.
type Bucket interface {
	// TryConsume takes n tokens, all or none, and tells whether it did.
	TryConsume(ctx context.Context, n int64) (bool, error)
	// Consume takes n tokens, all or none, and tells what is left and how long
	// to wait. Cost 0 takes nothing: it tells whether a token is there.
	Consume(ctx context.Context, n int64) (Probe, error)
	// ConsumeUpTo takes as many of n tokens as there are; Probe.Tokens is how
	// many it took, none while in debt.
	ConsumeUpTo(ctx context.Context, n int64) (Probe, error)
	// Estimate tells what Consume would answer, takes nothing and leaves no
	// trace.
	Estimate(ctx context.Context, n int64) (Probe, error)
	// Available is how many tokens could be taken now; negative: debt. It
	// leaves no trace.
	Available(ctx context.Context) (int64, error)
	// Add puts n tokens into each bandwidth, stopping at its capacity, and
	// returns what is then available.
	Add(ctx context.Context, n int64) (int64, error)
	// Force takes n tokens whether they are there or not, into debt if need be,
	// and tells in Probe.Wait how long the take would have had to wait. It is
	// for work that has been done already. A debt that int64 cannot hold is an
	// [*ArgumentError].
	Force(ctx context.Context, n int64) (Probe, error)
	// ForceAdd adds n tokens to each bandwidth, above its capacity if need be,
	// and returns what is then available. Above capacity nothing is refilled,
	// and the credit is kept at least the retention of the store.
	ForceAdd(ctx context.Context, n int64) (int64, error)
	// Reserve takes n tokens now that may be used after a wait of at most
	// longest: the bucket goes into debt, and whoever comes later waits longer.
	// The error is [ErrNever] or [*TooLateError] if that cannot be; nothing is
	// then taken.
	Reserve(ctx context.Context, n int64, longest time.Duration) (*Reservation, error)
	// Wait takes n tokens and returns when they may be used: at once if they are
	// there, else after sleeping here, in order of arrival. It fails at once if
	// that cannot be before the context's deadline ([*TooLateError]) or ever
	// ([ErrNever]). If the context ends first it gives the tokens back, which may
	// take one more round trip, and returns the context's error. Only where it ends
	// while a store is being asked is it unknown whether there is anything to give
	// back, and so nothing is.
	Wait(ctx context.Context, n int64) error
	// Replace puts another configuration in force, at the old rate until now; the
	// tokens pass to it by the strategy. A stored configuration of a newer
	// version, or of the same one and other content, is not replaced: the error is
	// [ErrOlderConfiguration].
	Replace(ctx context.Context, c Configuration, strategy Inheritance) error
	// Reset fills every bandwidth to its capacity.
	Reset(ctx context.Context) error
	// Inspect tells everything about the bucket and leaves no trace.
	Inspect(ctx context.Context) (Snapshot, error)
}

// Snapshot is a bucket at one instant.
type Snapshot struct {
	// Probe tells tokens, waits and the configuration in force.
	Probe
	// Stored is true if a state exists; false if the key is absent and the
	// snapshot is of the bucket that its first use would create.
	Stored bool
}

// SnapshotOf makes the snapshot that a result of OpInspect tells.
func SnapshotOf(r Result) Snapshot { return Snapshot{Probe: r.Probe, Stored: r.Existed} }
