package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/juju/ratelimit"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice/bucket"
)

// localContender holds one limit without a key. What it does takes tens of nanoseconds, so it brings its own loop:
// many takes that many tokens, one by one, and returns how many were granted.
type localContender struct {
	name string
	role role
	open func(l limit) (many func(n int) int)
	// neverRefuses is set where every call is granted sooner or later.
	neverRefuses bool
}

const (
	clockAndSwap = "time.Since and one compare-and-swap"
	clockAndLoad = "time.Since and one load"
	localOne     = "Sluice, one bandwidth"
	localThree   = "Sluice, three bandwidths"
)

var localContenders = []localContender{
	{name: clockAndSwap, role: floor, open: openClockAndSwap, neverRefuses: true},
	{name: clockAndLoad, role: floor, open: openClockAndLoad},
	{name: localOne, role: ours, open: func(l limit) func(int) int { return openLocal(one(l)) }},
	{name: localThree, role: ours, open: func(l limit) func(int) int { return openLocal(three(l)) }},
	{name: "x/time/rate", role: rival, open: openTimeRate},
	{name: "juju/ratelimit", role: rival, open: openJuju},
	{name: "uber ratelimit", role: rival, open: openUber, neverRefuses: true},
}

// keyless are those that may refuse, as contenders that do not look at the key.
func keyless() (all []contender) {
	for _, c := range localContenders {
		if c.neverRefuses || c.role == floor {
			continue
		}
		all = append(all, contender{name: c.name, role: c.role, open: func(_ string, l limit) (taker, func(), error) {
			many := c.open(l)
			return func(context.Context, string) (bool, error) { return many(1) == 1, nil }, func() {}, nil
		}})
	}
	return all
}

func openClockAndSwap(limit) func(int) int {
	var word atomic.Int64
	base := time.Now()
	return func(n int) (granted int) {
		for range n {
			old := word.Load()
			if word.CompareAndSwap(old, old+int64(time.Since(base))) {
				granted++
			}
		}
		return n // a lost swap is a call as well
	}
}

func openClockAndLoad(limit) func(int) int {
	var word atomic.Int64
	base := time.Now()
	return func(n int) (granted int) {
		for range n {
			if word.Load() > int64(time.Since(base)) {
				granted++
			}
		}
		return granted
	}
}

func openLocal(c bucket.Configuration) func(int) int {
	b := bucket.New(c)
	return func(n int) (granted int) {
		for range n {
			if b.TryConsume(1) {
				granted++
			}
		}
		return granted
	}
}

func openTimeRate(l limit) func(int) int {
	r := timeRate(l)
	return func(n int) (granted int) {
		for range n {
			if r.Allow() {
				granted++
			}
		}
		return granted
	}
}

func timeRate(l limit) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(l.tokens)/l.period.Seconds()), int(l.capacity))
}

func openJuju(l limit) func(int) int {
	b := ratelimit.NewBucketWithQuantum(l.period, l.capacity, l.tokens)
	return func(n int) (granted int) {
		for range n {
			granted += int(b.TakeAvailable(1))
		}
		return granted
	}
}

// openUber makes a limiter that paces its callers and refuses nobody: at a rate that it never has to sleep for.
func openUber(limit) func(int) int {
	r := uber.New(int(time.Second))
	return func(n int) int {
		for range n {
			r.Take()
		}
		return n
	}
}
