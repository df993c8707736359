package trace

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/model"
)

// Step is one operation of a trace.
type Step struct {
	Key  int // 0 up to Subject.Keys
	Req  bucket.Request
	Rule expiration.Rule
	Now  int64
}

// script is all that decides a trace, so that it can be played again.
type script struct {
	start     Start
	invisible bool // see model.Bucket
	pool      []declared
	loaded    *bucket.Entry
	steps     []Step
}

// author thinks up the steps of one trace, each with the last answer in view:
// the instants and costs that matter are those that an answer names.
type author struct {
	r       *rand.Rand
	subject Subject
	script
	config int // of the pool, that the caller declares at present
	rule   expiration.Rule
	now    int64
	latest int64 // the greatest instant so far
	key    int   // the present one

	answer  model.Answer   // the last of the present key
	answers []model.Answer // of each key
}

func newAuthor(r *rand.Rand, s Subject) *author {
	a := &author{r: r, subject: s, rule: randomRule(r, s), answers: make([]model.Answer, max(s.Keys, 1))}
	a.invisible = !s.Local && chance(r, 0.25)
	configurations := 1
	if !s.Local && !a.invisible {
		configurations = 1 + r.IntN(6)
	}
	a.pool = pool(r, configurations)
	a.start = Start{Config: a.pool[0].Configuration, Now: a.within(startInstant(r, s.Tick))}
	if len(s.Leads) > 0 {
		a.start.Lead = pick(r, s.Leads)
	}
	a.now, a.latest = a.start.Now, a.start.Now
	return a
}

// startInstant is some day of these years, or an instant where numbers are odd.
func startInstant(r *rand.Rand, tick bucket.Tick) int64 {
	switch r.IntN(40) {
	case 0:
		return 0
	case 1:
		return -logUniform(r, math.MaxInt64)
	case 2:
		return logUniform(r, math.MaxInt64)
	case 3:
		return math.MaxInt64 - logUniform(r, math.MaxInt64)
	case 4:
		return math.MinInt64 + logUniform(r, math.MaxInt64)
	default:
		return present(r, tick)
	}
}

func present(r *rand.Rand, tick bucket.Tick) int64 {
	const this = 1_750_000_000 * int64(time.Second)
	return (this + r.Int64N(int64(year))) / int64(tick.Duration())
}

func randomRule(r *rand.Rand, s Subject) expiration.Rule {
	rule := expiration.Rule{Keep: s.Keep}
	if chance(r, 0.4) {
		rule.Keep = max(rule.Keep, time.Duration(logUniform(r, int64(year))))
	}
	if chance(r, 0.6) {
		rule.Retention = time.Duration(logUniform(r, int64(30*24*time.Hour)))
	}
	return rule
}

// next is one more step after the last answer.
func (a *author) next() Step {
	if chance(a.r, 0.02) {
		a.rule = randomRule(a.r, a.subject)
	}
	var step Step
	if len(a.steps) > 0 && a.answer.Wait > 0 && !a.answer.Never && chance(a.r, 0.5) {
		// Come back when the answer said: then, or one tick too early.
		step = a.steps[len(a.steps)-1]
		a.move(a.ticks(a.answer.Wait) - a.r.Int64N(2))
	} else {
		a.turn()
		a.tick()
		step.Key, step.Req = a.key, a.request()
	}
	step.Rule, step.Now = a.rule, a.now
	a.steps = append(a.steps, step)
	return step
}

// turn goes to another key, if there are several.
func (a *author) turn() {
	if len(a.answers) > 1 {
		a.key = a.r.IntN(len(a.answers))
		a.answer = a.answers[a.key]
	}
}

// hear takes note of the answer of the present key.
func (a *author) hear(answer model.Answer) {
	a.answer, a.answers[a.key] = answer, answer
}

func (a *author) request() bucket.Request {
	if chance(a.r, 0.2) {
		if a.config++; a.config == len(a.pool) || chance(a.r, 0.4) {
			a.config = a.r.IntN(len(a.pool))
		}
	}
	req := bucket.Request{Config: a.pool[a.config].Configuration, Op: a.operation()}
	if a.subject.Local {
		return req
	}
	if len(a.pool) > 1 {
		req.StoredRules = chance(a.r, 0.1)
	}
	kind := req.Op.Kind
	if !a.invisible && (req.StoredRules || kind == bucket.OpInspect || kind == bucket.OpRemove) && chance(a.r, 0.2) {
		req.Config = bucket.Configuration{}
	}
	return req
}

func (a *author) operation() bucket.Operation {
	switch p := a.r.Float64(); {
	case p < 0.06:
		return bucket.Operation{Kind: bucket.OpReserve, Tokens: a.cost(), LongestWait: a.longestWait()}
	case p < 0.10:
		return bucket.Operation{Kind: bucket.OpForce, Tokens: a.cost()}
	case p < 0.13:
		return bucket.Operation{Kind: bucket.OpForceAdd, Tokens: a.cost()}
	case p < 0.16 && !a.subject.Local:
		return bucket.Operation{Kind: bucket.OpRefund, Tokens: a.cost()}
	case p < 0.18 && !a.subject.Local && !a.invisible:
		return bucket.Operation{Kind: bucket.OpReplace, Strategy: bucket.Inheritance(a.r.IntN(4))}
	case p < 0.52:
		return bucket.Operation{Kind: bucket.OpConsume, Tokens: a.cost()}
	case p < 0.66:
		return bucket.Operation{Kind: bucket.OpConsumeUpTo, Tokens: a.cost()}
	case p < 0.76:
		return bucket.Operation{Kind: bucket.OpEstimate, Tokens: a.cost()}
	case p < 0.84:
		return bucket.Operation{Kind: bucket.OpInspect}
	case p < 0.94:
		return bucket.Operation{Kind: bucket.OpAdd, Tokens: a.cost()}
	case p < 0.98 || a.subject.Local:
		return bucket.Operation{Kind: bucket.OpReset}
	default:
		return bucket.Operation{Kind: bucket.OpRemove}
	}
}

// cost is a number of tokens at or beside one that matters.
func (a *author) cost() int64 {
	config := a.pool[a.config].Configuration
	i := a.r.IntN(config.Len())
	capacity, held := config.Bandwidth(i).Capacity(), max(a.answer.Held[i], 0)
	available := max(a.answer.RemainingTokens, 0)
	switch a.r.IntN(18) {
	case 0:
		return 0
	case 1, 2, 3:
		return 1
	case 4, 5, 6:
		return available
	case 7:
		return plus(available, 1)
	case 8:
		return capacity
	case 9:
		return plus(capacity, 1)
	case 10, 11:
		return a.r.Int64N(capacity) + 1
	case 12, 13:
		return logUniform(a.r, plus(available, 1))
	case 14:
		return a.r.Int64N(plus(available, 1))
	case 15:
		return held
	case 16:
		return 1 + a.r.Int64N(max(held, 1))
	default:
		return pick(a.r, awkwardCounts)
	}
}

// longestWait is at or beside a wait that matters.
func (a *author) longestWait() time.Duration {
	switch a.r.IntN(6) {
	case 0:
		return 0
	case 1:
		return math.MaxInt64
	case 2:
		return a.answer.Wait
	case 3:
		return max(a.answer.Wait-1, 0)
	case 4:
		return a.answer.TimeToFull
	default:
		return time.Duration(logUniform(a.r, int64(year)))
	}
}

// tick moves the clock to an instant at or beside one that matters.
func (a *author) tick() {
	switch a.r.IntN(16) {
	case 0, 1, 2, 3:
	case 4, 5:
		a.move(1)
	case 6:
		a.move(a.ticks(a.answer.NextToken) - a.r.Int64N(2))
	case 7, 8:
		a.move(a.ticks(a.answer.TimeToFull) - a.r.Int64N(2))
	case 9, 10:
		a.move(a.r.Int64N(plus(a.ticks(a.answer.TimeToFull), 1)))
	case 11, 12:
		a.move(a.period() + a.r.Int64N(3) - 1)
	case 13:
		a.move(logUniform(a.r, int64(time.Hour)/int64(a.subject.Tick.Duration())))
	case 14:
		a.travel()
	default:
		a.back()
	}
}

// travel moves the clock by up to a thousand years, and from far away home again.
// That may take longer than int64, so where expiry is to be invisible nobody
// comes home: no life is that long.
func (a *author) travel() {
	home := present(a.r, a.subject.Tick)
	if away := plus(a.now, -home); !a.invisible && (away < -a.ticks(100*year) || away > a.ticks(100*year)) {
		a.move(plus(home, -a.now))
		return
	}
	a.move(logUniform(a.r, millennium(a.subject.Tick)))
}

// back moves the clock back: by less than the lead, beside it, or by any time.
// Where expiry is to be invisible, the lead is the most that clocks may differ.
func (a *author) back() {
	lead := a.start.Lead
	switch a.r.IntN(9) {
	case 0, 1:
		a.move(-a.r.Int64N(plus(lead, 1)))
	case 2, 3:
		a.move(-plus(lead, a.r.Int64N(3)))
	case 4, 5:
		a.move(-a.r.Int64N(plus(a.ticks(a.answer.TimeToFull), 2)))
	case 6:
		a.move(-logUniform(a.r, math.MaxInt64)) // twice, since the way from end
		a.move(-logUniform(a.r, math.MaxInt64)) // to end is longer than int64
	default:
		a.move(-logUniform(a.r, a.ticks(year)))
	}
}

// move changes the clock by so many ticks, as far as it goes.
func (a *author) move(ticks int64) {
	if a.subject.Forward {
		ticks = max(ticks, 0)
	}
	a.now = a.within(plus(a.now, ticks))
	if a.invisible {
		a.now = max(a.now, plus(a.latest, -a.start.Lead))
	}
	a.latest = max(a.latest, a.now)
}

func (a *author) within(now int64) int64 {
	if a.subject.Earliest < a.subject.Latest {
		now = min(max(now, a.subject.Earliest), a.subject.Latest)
	}
	if !a.subject.Local {
		// Lives beyond int64 end at its last instant: nothing could be written
		// then that is not forgotten at once.
		now = min(now, math.MaxInt64-1)
	}
	return now
}

// period is about one period of the configuration, in ticks.
func (a *author) period() int64 {
	config := a.pool[a.config].Configuration
	return a.ticks(config.Bandwidth(a.r.IntN(config.Len())).Refill().Period())
}

func (a *author) ticks(d time.Duration) int64 { return int64(d / a.subject.Tick.Duration()) }

// millennium is a thousand years in ticks, or as much of that as int64 holds.
func millennium(tick bucket.Tick) int64 {
	if tick == bucket.Nanosecond {
		return math.MaxInt64
	}
	return 1000 * int64(year/time.Microsecond)
}

// plus is a+b, saturating.
func plus(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}
