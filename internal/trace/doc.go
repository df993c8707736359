// Package trace holds implementations of a bucket against the model: random
// traces of operations on one key over random configurations, on an injected
// clock, with every field of every answer compared.
//
// A Subject says how to make a fresh key of the implementation under test; Run
// drives it:
//
//	coverage := trace.Run(t, trace.Subject{Name: "memory", Tick: bucket.Microsecond, New: fresh}, 500_000, seed)
//
// The seed alone decides the traces, never the answers of the target, so it
// reproduces a failure. What fails is reported as the shortest trace that still
// does. Coverage tells what a run has met, so that a passing one cannot have
// missed the point.
package trace
