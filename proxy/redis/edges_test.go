package redis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Scripts reckon in doubles, which are exact up to 2^53. Whatever they decide
// themselves around that edge is what Go's 128 bits decide.
func TestScriptsAgreeAtTheEdgesOfADouble(t *testing.T) {
	trials := 9000
	if testing.Short() {
		trials = 1000
	}
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		if mode != nil {
			trials /= 6 // two trips each
		}
		const batch = 50
		for _, skew := range []time.Duration{time.Microsecond, time.Second, 365 * 24 * time.Hour} {
			seed := uint64(skew)
			r := edgy{rand.New(rand.NewPCG(53, seed))}
			a := newAgainst(t, mode, skew)
			for range trials / 3 / batch {
				a.now = r.instant()
				var all []trial
				for i := range batch {
					all = append(all, r.trial(fmt.Sprint(i), a))
				}
				a.check(t, all)
			}
			t.Logf("skew %v: %d decided in scripts, %d by swap", skew, a.counts.inScript, a.counts.handedOver)
			if mode == nil && a.counts.inScript < a.counts.handedOver/2 {
				t.Error("too few decided in scripts for the test to show anything")
			}
		}
	})
}

// Roundings that only some numbers show. 2^53-1 is 69,431 times the first capacity,
// and what is added to it to round up by three is one too many for a double. The
// second bucket has been in debt for longer than a double counts microseconds, or
// has credit, which is remembered for longer.
func TestScriptsRoundAtTheEdgeOfADouble(t *testing.T) {
	const all, now = 129_728_784_761, 6_000_000_000_000_000
	limit := config(t, all, bandwidth.Greedy(3, 69_431*time.Microsecond))
	slow := config(t, 10, bandwidth.Greedy(1, (1<<49)*time.Microsecond))
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		a := newAgainst(t, mode, time.Microsecond)
		a.now = now
		for _, tt := range []struct {
			name  string
			entry bucket.Entry
			req   bucket.Request
		}{
			{"new", bucket.Entry{}, bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: all}}},
			{
				"stored rules",
				bucket.Entry{Config: limit, State: bucket.State{Last: now, Levels: [8]bucket.Level{{Tokens: all}}}},
				bucket.Request{StoredRules: true, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: all}},
			},
			{
				"debt",
				bucket.Entry{Config: slow, State: bucket.State{Last: 1 - now, Levels: [8]bucket.Level{{Tokens: -20}}}},
				bucket.Request{Config: slow, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
			},
			{
				"credit",
				bucket.Entry{Config: slow, State: bucket.State{Last: now - 1, Levels: [8]bucket.Level{{Tokens: 15}}}},
				bucket.Request{Config: slow, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
			},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var trials []trial
				for beyond := int64(-1); beyond <= 1; beyond++ {
					tr := trial{charge: proxy.Charge{Key: fmt.Sprint(beyond), Request: tt.req, Rule: longLife}}
					if !tt.entry.Config.IsZero() {
						tr.stored = encoded(tt.entry)
					}
					a.wholeMillis(&tr, beyond)
					trials = append(trials, tr)
				}
				a.check(t, trials)
			})
		}
	})
}

// A refusal that corrects an instant writes credit too, which is remembered.
func TestACorrectedInstantKeepsCredit(t *testing.T) {
	const now = 1_700_000_000_000_000
	limit := config(t, 10, bandwidth.Greedy(10, time.Hour))
	credit := bucket.State{Last: now + 5_000_000, Levels: [8]bucket.Level{{Tokens: 15}}}
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		a := newAgainst(t, mode, time.Second)
		a.now = now
		a.check(t, []trial{{
			stored: encoded(bucket.Entry{Config: limit, State: credit}),
			charge: proxy.Charge{Key: "k", Rule: longLife, Request: bucket.Request{
				Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 16},
			}},
		}})
	})
}

// edgy draws numbers around powers of two.
type edgy struct{ *rand.Rand }

func (r edgy) chance(p float64) bool { return r.Float64() < p }

// upTo draws 0 to most, often near an end or a power of two.
func (r edgy) upTo(most int64) int64 {
	switch n := r.Int64N(4); {
	case most <= 3:
		return r.Int64N(most + 1)
	case r.chance(0.2):
		return n
	case r.chance(0.25):
		return most - n
	default:
		return min(most, max(0, int64(1)<<r.IntN(63)>>r.IntN(8)+r.Int64N(5)-2))
	}
}

func (r edgy) instant() int64 {
	const edge = 1<<53 - 1<<51 // where scripts stop
	switch {
	case r.chance(0.65):
		return 1_700_000_000_000_000 + r.Int64N(1<<50)
	case r.chance(0.3):
		return edge - 3 + r.Int64N(6)
	case r.chance(0.3):
		return -edge - 3 + r.Int64N(6)
	default:
		return []int64{0, 1, math.MaxInt64, math.MinInt64, 1 << 53, -1, 1<<52 + 1}[r.IntN(7)]
	}
}

func (r edgy) bandwidth(id string) bandwidth.Bandwidth {
	for {
		// Capacity times den, what a whole refill takes, is near 2^53 mostly.
		period := 1 + r.upTo(1<<51)
		length, tokens := time.Duration(period)*time.Microsecond, 1+r.upTo(min(1<<30, 1000*period-1))
		refill, num, den, step := bandwidth.Greedy(tokens, length), tokens, period, int64(1)
		switch r.IntN(4) {
		case 0:
			refill, num, step = bandwidth.Interval(tokens, length), 1, tokens
		case 1:
			refill, num, step = bandwidth.Aligned(tokens, length, time.UnixMicro(r.Int64N(1<<60))), 1, tokens
		default:
			num, den = refill.Rate(time.Microsecond)
		}
		capacity := max(1, (1<<53-r.upTo(3*(2*num+den)))/den*step-r.upTo(step))
		if r.chance(0.3) {
			capacity = 1 + r.upTo(capacity)
		}
		if r.chance(0.25) { // too much for scripts
			capacity = min(capacity, math.MaxInt64>>10) << r.IntN(11)
		}
		var options []bandwidth.Option
		if id != "" {
			options = append(options, bandwidth.WithID(id))
		}
		if r.chance(0.2) {
			options = append(options, bandwidth.WithInitialTokens(r.upTo(capacity)))
		}
		if b, err := bandwidth.New(capacity, refill, options...); err == nil {
			return b
		}
	}
}

func (r edgy) config() bucket.Configuration {
	ids := [...]string{"", "a", "", strings.Repeat("long/", 12) + "er", "5"}
	var all []bandwidth.Bandwidth
	for i := range []int{1, 1, 1, 2, 3, 4, 5}[r.IntN(7)] {
		all = append(all, r.bandwidth(ids[(i+r.IntN(2)*2)%len(ids)]))
	}
	c, err := bucket.NewConfiguration(all...)
	if err != nil {
		return r.config()
	}
	if r.chance(0.1) {
		c = bucket.Must(c.WithVersion(1+r.upTo(math.MaxInt64-1), bucket.Inheritance(r.IntN(4))))
	}
	return c
}

// Takes of a batch on one key are decided one after another, by one script call.
func TestScriptTakesInRuns(t *testing.T) {
	rounds := 120
	if testing.Short() {
		rounds = 15
	}
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		for _, skew := range []time.Duration{time.Microsecond, time.Hour} {
			r := edgy{rand.New(rand.NewPCG(54, uint64(skew)))}
			a := newAgainst(t, mode, skew)
			for range rounds {
				a.now = r.instant()
				var all []trial
				for i := range 30 {
					tr := r.trial(fmt.Sprint(i), a)
					tr.charge.StoredRules = false
					if tr.charge.Config.IsZero() || tr.charge.Config.Len() > 3 {
						continue
					}
					tr.charge.Op = bucket.Operation{Kind: bucket.OpConsume, Tokens: 1 + r.upTo(math.MaxInt64-1)}
					most := tr.charge.Config.Bandwidth(0).Capacity()
					for cost := int64(1); len(tr.costs) < 20; {
						if r.chance(0.4) {
							cost = 1 + r.upTo(1+most/int64(1+r.IntN(9)))
						}
						tr.costs = append(tr.costs, cost)
					}
					all = append(all, tr)
				}
				a.check(t, all)
			}
			t.Logf("skew %v: %d decided in scripts, %d by swap", skew, a.counts.inScript, a.counts.handedOver)
			if mode == nil && a.counts.inScript < a.counts.handedOver/10 {
				t.Error("too few decided in scripts for the test to show anything")
			}
		}
	})
}

// trial is one whose time to live would mostly show a tick less or more.
func (r edgy) trial(key string, a *against) trial {
	tr := r.roughly(key, a)
	if r.chance(0.8) {
		a.wholeMillis(&tr, r.Int64N(3)-1)
	}
	return tr
}

func (r edgy) roughly(key string, a *against) trial {
	c := r.config()
	e := bucket.Entry{Config: c, State: bucket.State{Last: a.now}}
	for i, b := range c.Bandwidths() {
		l := &e.State.Levels[i]
		l.Tokens = r.upTo(b.Capacity())
		if r.chance(0.1) {
			l.Tokens = -r.upTo(min(b.Capacity(), math.MaxInt64/8) * 8)
		}
		if r.chance(0.05) {
			l.Tokens = b.Capacity() + r.upTo(math.MaxInt64-b.Capacity())
		}
		if b.Refill().Kind() == bandwidth.KindAligned || l.Tokens >= b.Capacity() {
			continue
		}
		den := int64(b.Refill().Period() / time.Microsecond)
		if b.Refill().Kind() == bandwidth.KindGreedy {
			_, den = b.Refill().Rate(time.Microsecond)
		}
		l.Rem = r.upTo(den - 1)
	}
	var tr trial
	tr.charge = proxy.Charge{
		Key: key,
		Rule: expiration.Rule{
			Keep: time.Hour, Retention: time.Duration(r.upTo(int64(expiration.Longest))),
		},
		Request: bucket.Request{Config: c, StoredRules: r.chance(0.3), Op: r.operation(e)},
	}
	if r.chance(0.15) {
		return tr // nothing is stored
	}
	if gap := r.gap(e); a.now > math.MinInt64+gap {
		e.State.Last = a.now - gap
	}
	if ahead := r.upTo(3 * a.lead); r.chance(0.15) && a.now < math.MaxInt64-ahead {
		e.State.Last = a.now + ahead
	}
	if r.chance(0.1) {
		e.State.Last = 1_700_000_000_000_000 // however far off now is
	}
	tr.stored = codec.MessagePack{}.Append(nil, e)
	switch {
	case r.chance(0.15):
		tr.charge.Config = r.config()
	case r.chance(0.1):
		tr.charge.Config, tr.charge.StoredRules = bucket.Configuration{}, true
	}
	return tr
}

// gap is how long ago the state was written: often just what some number of
// tokens takes, or one tick less or more.
func (r edgy) gap(e bucket.Entry) int64 {
	if r.chance(0.2) {
		return r.upTo(1 << 60)
	}
	at := bucket.Moment{Now: e.State.Last, Tick: bucket.Microsecond}
	op := bucket.Operation{Kind: bucket.OpEstimate, Tokens: r.upTo(e.Config.Bandwidth(0).Capacity())}
	p := bucket.Step(e, bucket.Request{Config: e.Config, Op: op}, at).Result
	wait := p.Wait
	if r.chance(0.5) {
		wait = p.TimeToFull
	}
	return min(1<<60, max(0, wait.Microseconds()+r.Int64N(3)-1))
}

func (r edgy) operation(e bucket.Entry) bucket.Operation {
	kinds := []bucket.Kind{
		bucket.OpConsume, bucket.OpConsume, bucket.OpConsume, bucket.OpConsumeUpTo, bucket.OpAdd, bucket.OpReset, bucket.OpRemove,
		bucket.OpEstimate, bucket.OpInspect,
	}
	op := bucket.Operation{Kind: kinds[r.IntN(len(kinds))], Tokens: r.upTo(math.MaxInt64)}
	if r.chance(0.7) {
		op.Tokens = max(0, e.State.Levels[0].Tokens+r.Int64N(5)-2)
	}
	if op.Kind == bucket.OpReset || op.Kind == bucket.OpRemove || op.Kind == bucket.OpInspect {
		op.Tokens = 0
	}
	return op
}
