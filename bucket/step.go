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

// Outcome is what [Step] works out: the answer, and what to store.
type Outcome struct {
	Result Result
	// Err is why there is no answer; then nothing changes. It is an
	// [*ArgumentError] for a debt that int64 cannot hold, or
	// [ErrOlderConfiguration].
	Err    error
	Change Change
	Next   Entry // for Write
	// ToFull is how many ticks after the operation the next state is full.
	ToFull int64
	// Remember tells that the next entry says more than an absent key would,
	// even when it is full.
	Remember bool
}

// Step is the whole arithmetic of a bucket: one pure function of what is
// stored, what is asked and the instant. Every backend gives its answers,
// whether it calls it or decides by a script of its own.
//
// The request must be valid, see [Operation.Validate]. A request without a
// configuration that finds no entry yields a result with neither Existed nor a
// configuration.
func Step(stored Entry, req Request, at Moment) Outcome {
	var o Outcome
	o.Result.Existed = !stored.Config.IsZero()
	switch {
	case req.Op.Kind == OpRemove:
		if o.Result.Existed {
			o.Change = Delete
		}
		return o
	case req.Config.Stateless():
		o.Result.Probe = stateless(req.Config, req.Op)
		return o
	case req.Config.IsZero() && !o.Result.Existed:
		return o
	}

	config, state, entered := o.Result.enter(stored, req, at)
	if req.Op.Kind == OpReplace && !config.Equal(req.Config) {
		return Outcome{Err: ErrOlderConfiguration}
	}
	changed, err := o.Result.apply(config, &state, req.Op, at)
	if err != nil {
		return Outcome{Err: err}
	}
	if !changed && !entered || req.Op.ReadOnly() {
		return o
	}

	rates := config.rates(at.Tick)
	o.Next = Entry{config, state}
	o.ToFull = state.toFull(rates, at.Now)
	o.Remember = !config.StartsFull() || config.Version() > 0 || !config.Equal(req.Config) ||
		req.Op.Kind == OpReplace || state.overfull(rates)
	switch {
	case o.Remember || !state.full(rates) || at.Lead > 0:
		o.Change = Write // among clocks that differ, full by one is not full by all
	case o.Result.Existed:
		o.Change = Delete
	}
	return o
}

// enter finds the configuration in force and the state under it at this
// instant, and tells whether that alone is worth writing: a bucket born less
// than full, a changed configuration, or an instant too far ahead would otherwise
// be forgotten and meet the next call the same way, which then never finds a
// token more.
func (r *Result) enter(stored Entry, req Request, at Moment) (Configuration, State, bool) {
	if !r.Existed {
		return req.Config, born(req.Config.rates(at.Tick), at.Now), !req.Config.StartsFull()
	}
	state := stored.State
	corrected := state.believe(at)
	state.settle(stored.Config.rates(at.Tick), at.Now)
	explicit := req.Op.Kind == OpReplace
	if stored.Config.Equal(req.Config) && !explicit {
		return req.Config, state, corrected // which knows its initial tokens too
	}
	if !r.rules(stored.Config, req) {
		return stored.Config, state, corrected
	}
	r.Replaced = true
	strategy := req.Config.c.inheritance
	if explicit {
		strategy = req.Op.Strategy
	}
	next := inherit(&state, stored.Config, req.Config, at.Tick, strategy)
	if req.Config.Version() == 0 && !explicit {
		next.notMore(req.Config.rates(at.Tick), state.available(stored.Config.rates(at.Tick)))
	}
	return req.Config, next, true
}

// rules tells whether the declared configuration takes over from another one
// that is stored. What the caller declares is enforced, unless a version forbids
// it.
func (r *Result) rules(stored Configuration, req Request) bool {
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

// apply does the operation on the settled state and tells whether it changed
// it.
func (r *Result) apply(config Configuration, s *State, op Operation, at Moment) (changed bool, err error) {
	rates := config.rates(at.Tick)
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
			return false, err
		}
		changed = true
	}
	r.describe(config, s, at, cost, refused)
	if r.Tokens > 0 && r.RemainingTokens < 0 {
		r.Wait = at.Tick.span(s.repaid(rates, at.Now))
	}
	return changed, nil
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
