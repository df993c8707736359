package bucket

import (
	"math"
	"time"
)

// Probe is the answer to an operation, as things stand right after it. Tokens
// are rounded down and waits up. It is a value; up to four bandwidths need no
// allocation.
type Probe struct {
	// Consumed is true if the cost was taken, or for an estimate and for cost
	// 0, could be (cost 0 asks for one token). A refusal is no error. Consuming
	// up to a number is refused only if there is no token at all. For operations
	// that ask for no tokens it is false.
	Consumed bool
	// Never is true if the cost is above what the bucket can ever hold, so that
	// waiting cannot help.
	Never bool
	// Tokens is how many were taken.
	Tokens int64
	// RemainingTokens is what is available now, the least of all bandwidths;
	// negative: debt. Of Unlimited it is the greatest int64.
	RemainingTokens int64
	// Wait is how long until the refused cost could be taken if nobody else
	// took anything; 0 if it was not refused. If Never, it is the longest
	// Duration, so that it cannot be taken for "now".
	Wait time.Duration
	// NextToken is how long until at least one token can be taken; 0 if it can
	// be now. Of DenyAll it is the longest Duration, as is TimeToFull.
	NextToken time.Duration
	// TimeToFull is how long until every bandwidth is full.
	TimeToFull time.Duration
	// Deciding is the index of the bandwidth that decided: the longest wait of
	// a refusal (or the first that makes it Never), else the fewest tokens; the
	// first one of equals.
	Deciding int
	// Configuration is the one in force: a stored one may rule over the
	// caller's.
	Configuration Configuration
	// Source is who answered.
	Source Source

	tokens [4]int64
	more   *[MaxBandwidths - 4]int64
}

// TokensOf is what the i-th bandwidth of the configuration holds, 0 if there is
// none.
func (p Probe) TokensOf(i int) int64 {
	switch {
	case i < 0 || i >= p.Configuration.Len():
		return 0
	case i < len(p.tokens):
		return p.tokens[i]
	default:
		return p.more[i-len(p.tokens)]
	}
}

// Measured tells that a bucket was asked. Otherwise a failure policy answered, and
// what it tells of tokens and times besides Consumed, Tokens and Wait is not to be
// shown to anybody.
func (p Probe) Measured() bool { return p.Source != SourcePolicy }

// NanosToWait is Wait in nanoseconds.
func (p Probe) NanosToWait() int64 { return int64(p.Wait) }

// RetryAfter is the wait of a refusal in whole seconds, rounded up and at
// least 1, for an HTTP header. It is false where there is nothing to wait for:
// the cost was taken, or can never be. So whether to serve is told by Consumed,
// never by this.
func (p Probe) RetryAfter() (seconds int64, ok bool) {
	if p.Consumed || p.Never || p.Wait <= 0 {
		return 0, false
	}
	seconds = int64(p.Wait / time.Second)
	if p.Wait%time.Second > 0 {
		seconds++
	}
	return seconds, true
}

// describe fills in what the entry tells after an operation that asked for cost
// tokens and was refused or not, and returns in how many ticks the bucket is full.
func (p *Probe) describe(e *Entry, at Moment, cost int64, refused bool) (toFull int64) {
	rates, s := e.Config.rates(at.Tick), &e.State
	p.Configuration = e.Config
	p.RemainingTokens = math.MaxInt64
	if len(rates) > len(p.tokens) {
		p.more = new([MaxBandwidths - 4]int64)
	}
	var next int64
	longest := int64(-1)
	for i := range rates {
		r, l := &rates[i], &s.Levels[i]
		p.keep(i, l.Tokens)
		if l.Tokens < p.RemainingTokens {
			p.RemainingTokens = l.Tokens
			if !refused {
				p.Deciding = i
			}
		}
		next = max(next, r.wait(l, s.Last, at.Now, 1))
		toFull = max(toFull, r.wait(l, s.Last, at.Now, r.capacity))
		if !refused || p.Never {
			continue
		}
		if cost > max(r.capacity, l.Tokens) {
			p.Never, p.Deciding = true, i
			continue
		}
		if wait := r.wait(l, s.Last, at.Now, max(cost, 1)); wait > longest {
			longest, p.Deciding = wait, i
		}
	}
	p.NextToken, p.TimeToFull = at.Tick.span(next), at.Tick.span(toFull)
	switch {
	case p.Never:
		p.Wait = math.MaxInt64
	case refused:
		p.Wait = at.Tick.span(longest)
	}
	return toFull
}

func (p *Probe) keep(i int, tokens int64) {
	if i < len(p.tokens) {
		p.tokens[i] = tokens
	} else {
		p.more[i-len(p.tokens)] = tokens
	}
}
