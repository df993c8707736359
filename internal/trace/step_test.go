package trace_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/model"
	"github.com/sluice-go/sluice/internal/trace"
)

// The arithmetic itself, on a store of one key that does what Step says.
func TestStep(t *testing.T) {
	c := run(t, stepSubject("bucket.Step", func(e bucket.Entry) bucket.Entry { return e }))
	if c.Operations < 20_000 {
		return
	}
	for name, n := range map[string]int{
		"takes at exactly the wait": c.AtWait, "takes one tick before": c.BeforeWait, "impossible ones": c.Never,
		"expired keys": c.Expired, "full keys deleted": c.Deleted, "capacity crossings": c.Crossings, "debt": c.Debt,
		"credit": c.Credit, "numbers beyond 2^53": c.Large, "saturated waits": c.SaturatedWaits, "steps back": c.Back,
		"instants beyond the lead": c.TooFar, "changes met by a refusal": c.ReplacedByRefusal,
		"changes met by a read": c.ReplacedByRead, "conflicts": c.Conflicts,
	} {
		if n == 0 {
			t.Errorf("the traces met no %s", name)
		}
	}
}

// The same on a store that keeps a configuration as its canonical bytes, which
// tell neither initial tokens nor strategy.
func TestStepOnCanonicalBytes(t *testing.T) {
	run(t, stepSubject("bucket.Step on canonical bytes", func(e bucket.Entry) bucket.Entry {
		c, rest, err := bucket.ParseCanonical([]byte(e.Config.Canonical()))
		if err != nil || len(rest) > 0 {
			t.Errorf("ParseCanonical of its own bytes: %q left, %v", rest, err)
		}
		return bucket.Entry{Config: c, State: e.State}
	}))
}

func stepSubject(name string, stored func(bucket.Entry) bucket.Entry) trace.Subject {
	return trace.Subject{
		Name:  name,
		Tick:  bucket.Microsecond,
		Leads: []int64{0, 0, 1, 1000, 1_000_000, 3_600_000_000, math.MaxInt64},
		New: func(s trace.Start) (trace.Target, error) {
			return &stepTarget{stored: stored, lead: s.Lead}, nil
		},
	}
}

// stepTarget is a store of one key.
type stepTarget struct {
	stored func(bucket.Entry) bucket.Entry
	lead   int64
	entry  bucket.Entry // zero: absent
	effect model.Effect // of the last operation
}

func (s *stepTarget) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	o := bucket.Step(s.entry, req, bucket.Moment{Now: now, Tick: bucket.Microsecond, Lead: s.lead})
	s.effect = model.Effect{Change: o.Change}
	switch o.Change {
	case bucket.Delete:
		s.entry = bucket.Entry{}
	case bucket.Write:
		life := rule.Life(o.ToFull, o.Remember).Longer(s.lead)
		s.effect.Life, s.effect.ForgottenAt = int64(life), life.Until(now)
		s.entry = s.stored(o.Next)
		if !s.entry.State.Valid(s.entry.Config) {
			return o.Result, fmt.Errorf("wrote a state that is not valid: %+v", s.entry.State)
		}
	}
	return o.Result, o.Err
}

func (s *stepTarget) Forget(int64) error {
	s.entry = bucket.Entry{}
	return nil
}

func (s *stepTarget) Load(e bucket.Entry, _ int64) error {
	if !e.State.Valid(e.Config) {
		return fmt.Errorf("the state is not valid: %+v", e.State)
	}
	s.entry = e
	return nil
}

func (s *stepTarget) Check(e model.Effect, _ int64) error {
	if s.effect != e {
		return fmt.Errorf("%+v, want %+v", s.effect, e)
	}
	return nil
}
