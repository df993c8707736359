package main

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// limit is what every contender is asked to hold on a key: so many tokens at once, of which some come back in a
// period.
type limit struct {
	capacity, tokens int64
	period           time.Duration
}

// The limits of the measurements. Nothing that matters comes back while one lasts, so it is known how many
// takes must be granted: of the first two all.
var (
	ample   = limit{1 << 40, 1_000_000, time.Second} // grants whatever is asked, however fast
	lasting = limit{1 << 24, 1, time.Minute}         // the same for those who count more narrowly
	spent   = limit{1, 1, 1000 * time.Hour}          // refuses everything after the first take
	small   = limit{1000, 1, 1000 * time.Hour}       // counted against what each contender admits
	usual   = limit{100, 100, time.Hour}             // what people declare, lasting enough for keys to be counted
	large   = limit{1_000_000, 100, time.Minute}     // the same with room for a measurement
)

// window is the period of contenders that count in windows: none ends while a measurement lasts.
const window = 1000 * time.Hour

// shape turns a limit into a configuration of Sluice.
type shape func(limit) bucket.Configuration

func one(l limit) bucket.Configuration {
	return bucket.MustConfiguration(greedy(l.capacity, l.tokens, l.period))
}

// three adds two bandwidths that refuse no more than the first.
func three(l limit) bucket.Configuration {
	return bucket.MustConfiguration(
		greedy(l.capacity, l.tokens, l.period),
		greedy(2*l.capacity, 2*l.tokens, l.period),
		greedy(3*l.capacity, 3*l.tokens, l.period),
	)
}

// usualThree is what people declare who want three, whatever the limit.
func usualThree(limit) bucket.Configuration {
	return bucket.MustConfiguration(greedy(10, 10, time.Second), greedy(500, 500, time.Minute), greedy(10_000, 10_000, time.Hour))
}

func greedy(capacity, tokens int64, period time.Duration) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(tokens, period)))
}

// role is what a contender is in the comparison.
type role int

const (
	floor role = iota // what nobody can do without
	rival
	ours
)

// taker takes one token of a key and tells whether it was granted.
type taker func(ctx context.Context, key string) (bool, error)

// contender is a way to hold limits by key, in this process or on the Redis at an address.
type contender struct {
	name string
	role role
	// open starts it; the function that it returns ends it.
	open func(addr string, l limit) (taker, func(), error)
	// inexact says why it admits more or less than the limit when many ask at once; empty if it does not.
	inexact string
}
