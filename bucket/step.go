package bucket

import "math"

// Request is what is asked of one stored bucket.
type Request struct {
	// Config is the configuration that the caller declares. It may be zero for
	// OpRemove and OpInspect, and with StoredRules, for a bucket that exists.
	Config Configuration
	// StoredRules lets a stored configuration rule whatever its version.
	StoredRules bool
	Op          Operation
}

// Result is what one operation found and did.
type Result struct {
	Probe
	// Existed tells whether a state was stored before the operation.
	Existed bool
	// Replaced tells that the stored configuration gave way to the declared
	// one. For a read it would have.
	Replaced bool
	// Conflict tells that a stored configuration of the same version but other
	// content stays in force.
	Conflict bool
}

// Change is what an operation asks of the store.
type Change uint8

// The changes.
const (
	// Keep leaves the store as it is.
	Keep Change = iota
	// Write stores the next entry.
	Write
	// Delete forgets the key: the next entry is what an absent key means.
	Delete
)

// Effect is what an operation asks of the store.
type Effect struct {
	Change Change
	// ToFull is how many ticks after the operation the next state is full.
	ToFull int64
	// Remember tells that the next entry says more than an absent key would,
	// even when it is full.
	Remember bool
}

// Outcome is what [Step] works out: the answer, and what to store.
type Outcome struct {
	Result Result
	// Err is why there is no answer; then nothing changes. It is an
	// [*ArgumentError] for a debt that int64 cannot hold, or
	// [ErrOlderConfiguration].
	Err error
	Effect
	Next Entry // for Write
}

// Step is the whole arithmetic of a bucket: one pure function of what is
// stored, what is asked and the instant. Every backend gives its answers,
// whether it calls it or decides by a script of its own.
//
// The request must be valid, see [Operation.Validate]. A request without a
// configuration that finds no entry yields a result with neither Existed nor a
// configuration.
func Step(stored Entry, req Request, at Moment) (o Outcome) {
	o.Effect, o.Err = stored.Step(&o.Result, &req, at)
	if o.Change == Write {
		o.Next = stored
	}
	return o
}

// Step is the function [Step] in place, for backends that decide millions of
// times a second: it fills in the result and turns the entry into the next one.
// After Write the entry is what to store. After Delete it is what to keep where
// nothing is ever forgotten. After Keep or an error it is of no use, and what was
// stored stays as it was: so e is a copy of that.
func (e *Entry) Step(r *Result, req *Request, at Moment) (Effect, error) {
	*r = Result{Existed: !e.Config.IsZero()}
	switch {
	case req.Op.Kind == OpRemove:
		*e = Entry{}
		if r.Existed {
			return Effect{Change: Delete}, nil
		}
		return Effect{}, nil
	case req.Config.Stateless():
		r.Probe = stateless(req.Config, req.Op)
		return Effect{}, nil
	case req.Config.IsZero() && !r.Existed:
		return Effect{}, nil
	}

	entered := e.enter(r, req, at)
	if req.Op.Kind == OpReplace && !e.Config.Equal(req.Config) {
		*r = Result{}
		return Effect{}, ErrOlderConfiguration
	}
	changed, toFull, err := e.apply(r, &req.Op, at)
	if err != nil {
		*r = Result{}
		return Effect{}, err
	}
	if !changed && !entered || req.Op.ReadOnly() {
		return Effect{}, nil
	}

	rates := e.Config.rates(at.Tick)
	f := Effect{ToFull: toFull}
	f.Remember = !e.Config.StartsFull() || e.Config.Version() > 0 || !e.Config.Equal(req.Config) ||
		req.Op.Kind == OpReplace || e.State.overfull(rates)
	switch {
	case f.Remember || !e.State.full(rates) || at.Lead > 0:
		f.Change = Write // among clocks that differ, full by one is not full by all
	case r.Existed:
		f.Change = Delete
	}
	return f, nil
}

// enter brings the entry under the configuration in force and to this instant,
// and tells whether that alone is worth writing: a bucket born less than full, a
// changed configuration, or an instant too far ahead would otherwise be forgotten
// and meet the next call the same way, which then never finds a token more.
func (e *Entry) enter(r *Result, req *Request, at Moment) bool {
	if !r.Existed {
		e.Config, e.State = req.Config, born(req.Config.rates(at.Tick), at.Now)
		return !req.Config.StartsFull()
	}
	stored := e.Config
	corrected := e.State.believe(at)
	e.State.settle(stored.rates(at.Tick), at.Now)
	explicit := req.Op.Kind == OpReplace
	if stored.Equal(req.Config) && !explicit {
		e.Config = req.Config // which knows its initial tokens too
		return corrected
	}
	if !r.rules(stored, req) {
		return corrected
	}
	r.Replaced = true
	strategy := req.Config.c.inheritance
	if explicit {
		strategy = req.Op.Strategy
	}
	next := inherit(&e.State, stored, req.Config, at.Tick, strategy)
	if req.Config.Version() == 0 && !explicit {
		next.notMore(req.Config.rates(at.Tick), e.State.available(stored.rates(at.Tick)))
	}
	e.Config, e.State = req.Config, next
	return true
}

// rules tells whether the declared configuration takes over from another one
// that is stored. What the caller declares is enforced, unless a version forbids
// it.
func (r *Result) rules(stored Configuration, req *Request) bool {
	declared := req.Config
	switch {
	case req.Op.Kind == OpReplace && stored.Equal(declared):
		return true
	case declared.IsZero(), req.StoredRules && req.Op.Kind != OpReplace:
		return false
	}
	r.Conflict = stored.Version() > 0 && stored.Version() == declared.Version()
	return stored.Version() == 0 || declared.Version() > stored.Version()
}

// apply does the operation on the settled entry and tells whether it changed
// it, and in how many ticks it is full.
func (e *Entry) apply(r *Result, op *Operation, at Moment) (changed bool, toFull int64, err error) {
	s, rates := &e.State, e.Config.rates(at.Tick)
	cost, refused := op.Tokens, false
	switch op.Kind {
	case OpConsume, OpEstimate:
		r.Consumed = s.available(rates) >= max(op.Tokens, 1)
		refused = !r.Consumed
		if r.Consumed && op.Kind == OpConsume {
			r.Tokens = op.Tokens
		}
	case OpConsumeUpTo:
		available := max(s.available(rates), 0)
		r.Consumed = available > 0
		cost, refused = 1, !r.Consumed // any token would have done
		r.Tokens = min(available, op.Tokens)
	case OpReserve:
		wait, possible := s.waitFor(rates, max(op.Tokens, 1), at.Now)
		r.Consumed = possible && at.Tick.span(wait) <= op.LongestWait
		refused = !r.Consumed
		if r.Consumed {
			r.Tokens = op.Tokens
		}
	case OpForce:
		r.Consumed, r.Tokens = true, op.Tokens
	case OpAdd, OpRefund:
		changed = s.add(rates, op.Tokens)
	case OpForceAdd:
		changed = s.forceAdd(rates, op.Tokens)
	case OpReset:
		changed = s.fill(rates)
	case OpReplace:
		changed = true
	}
	if r.Tokens > 0 {
		if err := s.take(rates, r.Tokens); err != nil {
			return false, 0, err
		}
		changed = true
	}
	toFull = r.describe(e, at, cost, refused)
	if r.Tokens > 0 && r.RemainingTokens < 0 {
		r.Wait = at.Tick.span(s.repaid(rates, at.Now))
	}
	return changed, toFull, nil
}

// stateless answers for the two extremes.
func stateless(c Configuration, op Operation) Probe {
	p := Probe{Configuration: c}
	if c.IsUnlimited() {
		p.RemainingTokens = math.MaxInt64
	} else {
		p.NextToken, p.TimeToFull = math.MaxInt64, math.MaxInt64
	}
	switch op.Kind {
	case OpConsume, OpConsumeUpTo, OpEstimate, OpReserve, OpForce:
		p.Consumed = c.IsUnlimited()
		if p.Never = !p.Consumed; p.Never {
			p.Wait = math.MaxInt64
		} else if op.Kind != OpEstimate {
			p.Tokens = op.Tokens
		}
	}
	return p
}
