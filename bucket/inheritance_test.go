package bucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// replace stores a bucket with the given levels under one configuration and
// lets the next operation, at the same instant, declare another.
func replace(from bucket.Configuration, levels []bucket.Level, to bucket.Configuration, op bucket.Operation) bucket.Outcome {
	stored := bucket.Entry{Config: from, State: bucket.State{Last: 1000}}
	copy(stored.State.Levels[:], levels)
	return bucket.Step(stored, bucket.Request{Config: to, Op: op}, bucket.Moment{Now: 1000, Tick: bucket.Microsecond})
}

var (
	inspect = bucket.Operation{Kind: bucket.OpInspect}
	never   = bucket.Operation{Kind: bucket.OpConsume, Tokens: math.MaxInt64} // refused, but no read
)

func TestStrategies(t *testing.T) {
	const s = time.Second
	one := func(b bandwidth.Bandwidth) bucket.Configuration { return bucket.MustConfiguration(b) }
	hundred := one(greedy(100, 1, s))
	for name, tc := range map[string]struct {
		from                               bucket.Configuration
		level                              bucket.Level
		to                                 bucket.Configuration
		asIs, proportional, additive, anew bucket.Level
	}{
		"drained, capacity 10 to 100": {
			one(greedy(10, 1, s)),
			bucket.Level{},
			hundred,
			bucket.Level{},
			bucket.Level{},
			bucket.Level{Tokens: 90},
			bucket.Level{Tokens: 100},
		},
		"half a token kept": {
			one(greedy(10, 1, s)),
			bucket.Level{Tokens: 3, Rem: 500_000},
			one(greedy(20, 1, 2*s)),
			bucket.Level{Tokens: 3, Rem: 1_000_000},
			bucket.Level{Tokens: 7},
			bucket.Level{Tokens: 13, Rem: 1_000_000},
			bucket.Level{Tokens: 20},
		},
		"cut to a smaller capacity": {
			hundred,
			bucket.Level{Tokens: 90, Rem: 1},
			one(greedy(10, 1, s)),
			bucket.Level{Tokens: 10},
			bucket.Level{Tokens: 9},
			bucket.Level{Tokens: 10},
			bucket.Level{Tokens: 10},
		},
		"a debt stays": {
			hundred,
			bucket.Level{Tokens: -50},
			one(greedy(10, 1, s)),
			bucket.Level{Tokens: -50},
			bucket.Level{Tokens: -5},
			bucket.Level{Tokens: -50},
			bucket.Level{Tokens: 10},
		},
		"proportional rounds down once": {
			one(greedy(3, 1, s)),
			bucket.Level{Tokens: 1},
			one(greedy(10, 1, 7*time.Microsecond)),
			bucket.Level{Tokens: 1},
			bucket.Level{Tokens: 3, Rem: 2},
			bucket.Level{Tokens: 8},
			bucket.Level{Tokens: 10},
		},
		"a phase is no fraction": {
			one(interval(10, 2, s)),
			bucket.Level{Tokens: 4, Rem: 900_000},
			hundred,
			bucket.Level{Tokens: 4},
			bucket.Level{Tokens: 40},
			bucket.Level{Tokens: 94},
			bucket.Level{Tokens: 100},
		},
		"a phase fits a shorter period": {
			one(interval(10, 2, s)),
			bucket.Level{Tokens: 4, Rem: 900_000},
			one(interval(10, 2, s/2)),
			bucket.Level{Tokens: 4, Rem: 499_999},
			bucket.Level{Tokens: 4, Rem: 499_999},
			bucket.Level{Tokens: 4, Rem: 499_999},
			bucket.Level{Tokens: 10},
		},
		"aligned has no phase": {
			one(interval(10, 2, s)),
			bucket.Level{Tokens: 4, Rem: 900_000},
			one(aligned(10, 2, s)),
			bucket.Level{Tokens: 4},
			bucket.Level{Tokens: 4},
			bucket.Level{Tokens: 4},
			bucket.Level{Tokens: 10},
		},
		"huge": {
			one(greedy(1, 1, s)),
			bucket.Level{Tokens: math.MinInt64},
			one(greedy(math.MaxInt64-1, 1, s)),
			bucket.Level{Tokens: math.MinInt64},
			bucket.Level{Tokens: math.MinInt64},
			bucket.Level{Tokens: -3},
			bucket.Level{Tokens: math.MaxInt64 - 1},
		},
	} {
		for strategy, want := range map[bucket.Inheritance]bucket.Level{
			bucket.AsIs: tc.asIs, bucket.Proportional: tc.proportional, bucket.Additive: tc.additive, bucket.Reset: tc.anew,
		} {
			o := replace(tc.from, []bucket.Level{tc.level}, bucket.Must(tc.to.WithVersion(1, strategy)), never)
			if got := o.Next.State.Levels[0]; got != want || o.Change != bucket.Write || !o.Result.Replaced {
				t.Errorf("%s, strategy %d: got %+v, want %+v", name, strategy, got, want)
			}
		}
	}
}

func TestBandwidthsArePairedByID(t *testing.T) {
	id := bandwidth.WithID
	from := bucket.MustConfiguration(
		greedy(100, 1, time.Hour, id("a")), greedy(100, 1, time.Hour), greedy(100, 1, time.Hour, id("b")), greedy(100, 1, time.Hour))
	levels := []bucket.Level{{Tokens: 10}, {Tokens: 20}, {Tokens: 30}, {Tokens: 40}}
	to := bucket.MustConfiguration(
		greedy(100, 1, time.Hour), greedy(100, 1, time.Hour, id("b")), greedy(100, 1, time.Hour, id("new")),
		greedy(100, 1, time.Hour, id("a")), greedy(100, 1, time.Hour), greedy(100, 1, time.Hour),
		greedy(100, 1, time.Hour, id("few"), bandwidth.WithInitialTokens(3)))
	o := replace(from, levels, bucket.Must(to.WithVersion(1, bucket.AsIs)), never)
	for i, want := range []int64{20, 30, 10, 10, 40, 10, 3} {
		if got := o.Next.State.Levels[i].Tokens; got != want {
			t.Errorf("bandwidth %d has %d, want %d", i, got, want)
		}
	}
}

func TestUnversionedChangeHandsOutNothing(t *testing.T) {
	id := bandwidth.WithID
	from := bucket.MustConfiguration(greedy(100, 1, time.Hour, id("day")), greedy(10, 1, time.Hour, id("burst")))
	to := bucket.MustConfiguration(greedy(100, 1, time.Hour, id("day")))
	o := replace(from, []bucket.Level{{Tokens: 90}, {Tokens: 0, Rem: 5}}, to, inspect)
	if o.Result.RemainingTokens != 0 || o.Change != bucket.Keep {
		t.Errorf("%d available after dropping the drained bandwidth, change %d", o.Result.RemainingTokens, o.Change)
	}
	newer := bucket.Must(to.WithVersion(1, bucket.AsIs))
	if o := replace(from, []bucket.Level{{Tokens: 90}, {}}, newer, inspect); o.Result.RemainingTokens != 90 {
		t.Errorf("%d available with a version, want 90", o.Result.RemainingTokens)
	}
}

func TestWhichConfigurationRules(t *testing.T) {
	small := bucket.MustConfiguration(greedy(10, 1, time.Hour))
	large := bucket.MustConfiguration(greedy(100, 1, time.Hour))
	version := func(c bucket.Configuration, v int64) bucket.Configuration {
		return bucket.Must(c.WithVersion(v, bucket.Reset))
	}
	for name, tc := range map[string]struct {
		stored, declared   bucket.Configuration
		storedRules        bool
		replaced, conflict bool
	}{
		"both without":        {small, large, false, true, false},
		"same limits":         {small, small, false, false, false},
		"version over none":   {small, version(large, 1), false, true, false},
		"version over itself": {small, version(small, 1), false, true, false},
		"newer over older":    {version(small, 1), version(large, 2), false, true, false},
		"older":               {version(small, 2), version(large, 1), false, false, false},
		"none under version":  {version(small, 2), large, false, false, false},
		"equal, other limits": {version(small, 2), version(large, 2), false, false, true},
		"equal, same limits":  {version(small, 2), version(small, 2), false, false, false},
		"stored rules":        {small, version(large, 7), true, false, false},
		"none declared":       {small, bucket.Configuration{}, true, false, false},
	} {
		stored := bucket.Entry{Config: tc.stored, State: bucket.State{Levels: [8]bucket.Level{{Tokens: 5}}}}
		req := bucket.Request{Config: tc.declared, StoredRules: tc.storedRules, Op: inspect}
		r := bucket.Step(stored, req, bucket.Moment{Tick: bucket.Microsecond}).Result
		rules := tc.stored
		if tc.replaced {
			rules = tc.declared
		}
		if r.Replaced != tc.replaced || r.Conflict != tc.conflict || !r.Configuration.Equal(rules) {
			t.Errorf("%s: replaced %v, conflict %v, in force %v", name, r.Replaced, r.Conflict, r.Configuration.Bandwidths())
		}
	}
}
