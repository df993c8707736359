package model

import (
	"math/big"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
)

// Bucket is one key of a store, or with Local the bucket of one process. Its
// zero value is an absent key whose store ticks in nanoseconds.
type Bucket struct {
	Tick bucket.Tick
	// Lead is the greatest skew in ticks: a stored instant further ahead than
	// that is read as the present plus Lead. 0 believes every instant.
	Lead int64
	// Local keeps the bucket for ever, full or not.
	Local bool
	// Invisible keeps the tokens of a key that was forgotten although nothing
	// was to be remembered about it. An implementation that does forget must
	// then give the same answers, but for Existed: so expiry is proved
	// invisible. The clock may go back by the lead at most.
	Invisible bool
	// Strategies are those of the versioned configurations.
	Strategies map[bucket.Configuration]bucket.Inheritance

	stored      *state
	gone        bool // the key is absent, and what was stored is kept, see Invisible
	remember    bool
	forgottenAt int64
}

// state is the bucket at one instant. It is never changed, only replaced.
type state struct {
	config bucket.Configuration
	limits []*limit
	last   *big.Int // nanoseconds
	levels []level
}

// Create makes the bucket at this instant, as a local one is made before its
// first use.
func (b *Bucket) Create(c bucket.Configuration, now int64) {
	b.stored = b.born(c, b.instant(now))
}

// Load puts a state in place that no operation can lead to yet, such as debt.
func (b *Bucket) Load(e bucket.Entry, forgottenAt int64) {
	s := &state{config: e.Config, limits: b.limits(e.Config), last: b.instant(e.State.Last)}
	for i, l := range s.limits {
		lv := newLevel(l, big.NewInt(e.State.Levels[i].Tokens))
		rem := big.NewInt(e.State.Levels[i].Rem)
		if l.greedy() {
			lv.grains = add(lv.grains, mul(rem, l.quantum))
		} else {
			lv.elapsed = mul(rem, b.tick())
		}
		s.levels = append(s.levels, lv)
	}
	b.stored, b.gone, b.remember, b.forgottenAt = s, false, true, forgottenAt
}

// Expired tells whether the key's time to live has passed.
func (b *Bucket) Expired(now int64) bool {
	return b.stored != nil && !b.gone && !b.Local && now >= b.forgottenAt
}

// Forget makes the key absent.
func (b *Bucket) Forget() {
	b.gone = true
	if !b.Invisible || b.remember {
		b.stored = nil
	}
}

// Do answers one operation at an instant, given in ticks.
func (b *Bucket) Do(req bucket.Request, rule expiration.Rule, now int64) Answer {
	a := Answer{Existed: b.stored != nil && !b.gone}
	if req.Op.Kind == bucket.OpRemove {
		if a.Existed {
			a.Change = bucket.Delete
		}
		b.stored = nil
		return a
	}
	if b.stored == nil && req.Config.IsZero() {
		return a
	}
	present := b.instant(now)
	s, unlike := b.enter(&a, req, present)
	if req.Op.Kind == bucket.OpReplace && !s.config.Equal(req.Config) {
		return Answer{Err: true}
	}
	s, changed := a.apply(b, s, req.Op, present)
	if a.Err {
		return Answer{Err: true}
	}
	a.describe(b, s, present)
	if !req.Op.ReadOnly() && (changed || unlike) {
		b.write(&a, s, req, rule, now)
	}
	return a
}

// enter is the bucket at this instant under the configuration in force. It also
// tells whether an absent key would not mean, or the stored one not become, the
// same again, or its instant is too far ahead and would be so again: then it must
// be written even by a refusal.
func (b *Bucket) enter(a *Answer, req bucket.Request, present *big.Int) (s *state, unlike bool) {
	if b.stored == nil {
		return b.born(req.Config, present), !req.Config.StartsFull()
	}
	was, declared := b.stored.config, req.Config
	s = b.settled(present)
	a.Crossed, a.Ahead, a.Clamped = b.crossed(s), s.last.Cmp(present) > 0, b.clamps(present)
	explicit := req.Op.Kind == bucket.OpReplace
	switch {
	case explicit && declared.Equal(was):
	case declared.IsZero() || !explicit && req.StoredRules && !declared.Equal(was):
		return s, a.Clamped
	case declared.Equal(was):
		s.config = declared // the same but for how a new bucket starts
		return s, a.Clamped
	case declared.Version() < was.Version():
		return s, a.Clamped
	case declared.Version() == was.Version() && was.Version() > 0:
		a.Conflict = true
		return s, a.Clamped
	}
	a.Replaced = true
	switch {
	case explicit:
		a.Strategy = req.Op.Strategy
	case declared.Version() > 0:
		a.Strategy = b.Strategies[declared]
	}
	return b.converted(s, declared, a.Strategy, explicit), true
}

// settled is the stored bucket with all that it has earned until now. A present
// before the stored instant earns nothing and moves nothing back.
func (b *Bucket) settled(present *big.Int) *state {
	s := *b.stored
	if b.clamps(present) {
		s.last = add(present, b.lead())
	}
	if present.Cmp(s.last) <= 0 {
		return &s
	}
	s.levels = nil
	for _, lv := range b.stored.levels {
		s.levels = append(s.levels, lv.refilled(s.last, present))
	}
	s.last = present
	return &s
}

// clamps tells whether the stored instant is too far ahead to be believed.
func (b *Bucket) clamps(present *big.Int) bool {
	return b.Lead > 0 && b.stored.last.Cmp(add(present, b.lead())) > 0
}

// born is a new bucket.
func (b *Bucket) born(c bucket.Configuration, at *big.Int) *state {
	s := &state{config: c, limits: b.limits(c), last: at}
	for _, l := range s.limits {
		s.levels = append(s.levels, newLevel(l, l.initial(at)))
	}
	return s
}

// write stores the state, or forgets the key where that says the same.
func (b *Bucket) write(a *Answer, s *state, req bucket.Request, rule expiration.Rule, now int64) {
	full, credit := true, false
	for _, lv := range s.levels {
		full = full && lv.grains.Cmp(lv.full) == 0
		credit = credit || lv.grains.Cmp(lv.full) > 0
	}
	b.stored, b.gone = s, false
	b.remember = credit || s.config.Version() > 0 || !s.config.StartsFull() || !s.config.Equal(req.Config) ||
		req.Op.Kind == bucket.OpReplace
	if full && !b.remember && b.Lead == 0 {
		a.Change = bucket.Delete
		b.gone = !b.Local
		if !b.Local && !b.Invisible {
			b.stored = nil
		}
		return
	}
	a.Change = bucket.Write
	if b.Local {
		return
	}
	// Keys live microseconds and are forgotten on the millisecond.
	life := add(a.toFull, big.NewInt(micros(rule.Keep)))
	if b.remember {
		life = add(life, big.NewInt(retention(rule)))
	}
	a.Life = saturated(add(life, big.NewInt(b.Lead)))
	millisecond := big.NewInt(1000)
	b.forgottenAt = saturated(mul(ceil(add(big.NewInt(now), big.NewInt(a.Life)), millisecond), millisecond))
	a.ForgottenAt = b.forgottenAt
}

func (b *Bucket) crossed(now *state) bool {
	for i, lv := range b.stored.levels {
		if !lv.atCapacity() && now.levels[i].atCapacity() {
			return true
		}
	}
	return false
}

func (b *Bucket) tick() *big.Int               { return big.NewInt(int64(b.Tick.Duration())) }
func (b *Bucket) instant(ticks int64) *big.Int { return mul(big.NewInt(ticks), b.tick()) }
func (b *Bucket) lead() *big.Int               { return b.instant(b.Lead) }

func (b *Bucket) limits(c bucket.Configuration) []*limit {
	var limits []*limit
	for _, w := range c.Bandwidths() {
		limits = append(limits, newLimit(w, b.tick()))
	}
	return limits
}
