// Package bucket holds the token bucket itself: its [Configuration], the
// closed set of [Operation]s, the arithmetic of its [State], the [Probe] that
// answers an operation, and [Local], a bucket in this process's memory.
//
// A bucket is one or more bandwidths that must all agree: what is available is
// the least of them, a wait the longest, and taking is all or nothing.
//
//	cfg := bucket.MustConfiguration(
//		bandwidth.Must(bandwidth.New(120, bandwidth.Greedy(100, time.Minute))),
//		bandwidth.Must(bandwidth.New(10, bandwidth.Interval(10, time.Second), bandwidth.WithID("burst"))),
//	)
//	b := bucket.New(cfg)
//	if b.TryConsume(1) { … }
//
// Buckets shared between processes come from package proxy; they satisfy the
// same interface, [Bucket].
//
// # Exactness
//
// Tokens and instants are int64, products 128 bits; nothing is ever rounded
// except at the edge, where tokens are rounded down and waits up. A caller that
// waits exactly as long as it was told, alone, is served, and one tick earlier
// is not. Time never runs backwards inside a bucket. Every store gives the
// answers of the same function, [Step].
package bucket
