package bucket

import "context"

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
