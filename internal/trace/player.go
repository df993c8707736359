package trace

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/model"
)

// player carries out a trace on models and targets side by side.
type player struct {
	keys     []*key
	coverage *Coverage
	tick     int64 // nanoseconds
	last     Step
}

// key is one of those that a trace plays with.
type key struct {
	model   model.Bucket
	target  Target
	answer  model.Answer
	promise promise
	// cutShort tells that the stored key has the longest life there is, which may
	// be less than its need.
	cutShort bool
}

// promise is what a refusal told its caller: alone, the same request will be
// served at due, and not before.
type promise struct {
	made bool
	req  bucket.Request
	due  int64
}

func newPlayer(s Subject, sc script, c *Coverage) (*player, error) {
	p := &player{coverage: c, tick: int64(s.Tick.Duration()), last: Step{Now: math.MinInt64}}
	for range max(s.Keys, 1) {
		k, err := newKey(s, sc)
		if err != nil {
			return nil, err
		}
		p.keys = append(p.keys, k)
	}
	if sc.loaded == nil {
		return p, nil
	}
	return p, p.keys[0].load(*sc.loaded)
}

func newKey(s Subject, sc script) (*key, error) {
	target, err := s.New(sc.start)
	if err != nil {
		return nil, fmt.Errorf("new key: %w", err)
	}
	k := &key{target: target, model: model.Bucket{
		Tick: s.Tick, Lead: sc.start.Lead, Local: s.Local, Invisible: sc.invisible,
		Strategies: map[bucket.Configuration]bucket.Inheritance{},
	}}
	for _, d := range sc.pool {
		k.model.Strategies[d.Configuration] = d.strategy
	}
	if s.Local {
		k.model.Create(sc.start.Config, sc.start.Now)
	}
	return k, nil
}

func (k *key) load(e bucket.Entry) error {
	k.model.Load(e, math.MaxInt64)
	if err := k.target.(Loader).Load(e, math.MaxInt64); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// play carries out one step and tells what was wrong with the target's answer.
func (p *player) play(step Step) error {
	if err := p.expire(step.Now); err != nil {
		return err
	}
	k := p.keys[step.Key]
	want := k.model.Do(step.Req, step.Rule, step.Now)
	got, err := k.target.Do(step.Req, step.Rule, step.Now)
	if want.Err {
		p.coverage.Errors++
		if k.promise = (promise{}); err == nil {
			return fmt.Errorf("an answer in place of an error")
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("error: %w", err)
	}
	if err := compare(&got, &want); err != nil {
		return err
	}
	if err := p.hold(k, step, &got, &want); err != nil {
		return err
	}
	if c, ok := k.target.(Checker); ok {
		if err := c.Check(want.Effect, step.Now); err != nil {
			return fmt.Errorf("stored key: %w", err)
		}
	}
	if want.Change == bucket.Write {
		k.cutShort = want.Life == math.MaxInt64
	}
	p.coverage.count(&p.last, &step, &want)
	p.last, k.answer = step, want
	return nil
}

// expire makes the keys absent whose time to live has passed.
func (p *player) expire(now int64) error {
	for _, k := range p.keys {
		if !k.model.Expired(now) {
			continue
		}
		k.model.Forget()
		p.coverage.Expired++
		if k.cutShort {
			k.promise = promise{}
		}
		if err := k.target.Forget(now); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	return nil
}

// hold holds the target to its own last refusal, and notes the next one.
func (p *player) hold(k *key, step Step, got *bucket.Result, want *model.Answer) error {
	if was := k.promise; was.made && step.Req == was.req {
		switch {
		case step.Now == was.due && !got.Consumed:
			return fmt.Errorf("refused after exactly the wait that was told")
		case step.Now == was.due-1 && got.Consumed:
			return fmt.Errorf("served one tick before the wait that was told")
		case step.Now == was.due:
			p.coverage.AtWait++
		case step.Now == was.due-1:
			p.coverage.BeforeWait++
		}
	}
	// A read does not settle what it saw, so it promises nothing.
	k.promise = promise{}
	if !want.Refused || want.Never || step.Req.Op.ReadOnly() || step.Req.Op.Kind == bucket.OpReserve {
		return nil
	}
	if got.Wait <= 0 {
		return fmt.Errorf("refused with a wait of %v", got.Wait)
	}
	due := plus(step.Now, int64(got.Wait)/p.tick)
	k.promise = promise{made: got.Wait < math.MaxInt64 && due < math.MaxInt64, req: step.Req, due: due}
	return nil
}

// compare tells every field in which the target's answer is not the model's.
func compare(got *bucket.Result, want *model.Answer) error {
	var d differences
	check(&d, "Consumed", got.Consumed, want.Consumed)
	check(&d, "Never", got.Never, want.Never)
	check(&d, "Existed", got.Existed, want.Existed)
	check(&d, "Replaced", got.Replaced, want.Replaced)
	check(&d, "Conflict", got.Conflict, want.Conflict)
	check(&d, "Tokens", got.Tokens, want.Tokens)
	check(&d, "RemainingTokens", got.RemainingTokens, want.RemainingTokens)
	check(&d, "Wait", got.Wait, want.Wait)
	check(&d, "NextToken", got.NextToken, want.NextToken)
	check(&d, "TimeToFull", got.TimeToFull, want.TimeToFull)
	check(&d, "Deciding", got.Deciding, want.Deciding)
	if !got.Configuration.Equal(want.Configuration) {
		d = append(d, fmt.Sprintf("Configuration is %s, want %s", describe(got.Configuration), describe(want.Configuration)))
	}
	for i := range min(got.Configuration.Len(), want.Configuration.Len()) {
		if got.TokensOf(i) != want.Held[i] {
			check(&d, fmt.Sprintf("TokensOf(%d)", i), got.TokensOf(i), want.Held[i])
		}
	}
	if d == nil {
		return nil
	}
	return d
}

type differences []string

func (d differences) Error() string { return strings.Join(d, "; ") }

func check[T comparable](d *differences, field string, got, want T) {
	if got != want {
		*d = append(*d, fmt.Sprintf("%s is %s, want %s", field, exactly(got), exactly(want)))
	}
}

// exactly shows durations to the nanosecond, in digits.
func exactly(v any) string {
	if d, ok := v.(time.Duration); ok {
		return fmt.Sprintf("%dns", d)
	}
	return fmt.Sprint(v)
}
