// Package bandwidth describes one limit: how many tokens may be held and how
// they come back.
//
// A [Bandwidth] has a capacity, a [Refill] and, optionally, an id and an
// initial number of tokens. It is a plain immutable value; buckets are built
// from one or more of them by package bucket.
//
//	bandwidth.New(120, bandwidth.Greedy(100, time.Minute))    // 120 at once, 100 a minute
//	bandwidth.New(10, bandwidth.Interval(10, time.Second))    // all ten back at once
//	bandwidth.New(400, bandwidth.Aligned(100, time.Hour, first)) // on the grid of first
//
// All counts are int64 and every constructor checks its arguments: what New
// returns without an error works on every backend and never fails later.
package bandwidth
