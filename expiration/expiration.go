// Package expiration says how long a stored bucket outlives its need, as plain
// data that a script or a database statement can apply too.
//
// A bucket that is full again says no more than an absent key does, so a key
// lives its time-to-full and expiry is invisible. Where a state says more (a
// start that is not full, credit above capacity, a version), it lives the
// retention after it is full, and is then forgotten like the others.
package expiration

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

// DefaultRetention is how long a full state that says more than an absent key is
// kept, unless a [Rule] says otherwise.
const DefaultRetention = 24 * time.Hour

// Longest bounds the durations of a [Rule].
const Longest = 100 * 365 * 24 * time.Hour

// Rule is how long keys live. The zero Rule is time-to-full and
// [DefaultRetention].
type Rule struct {
	// Keep is added to the time-to-full of every key: 0 to [Longest].
	Keep time.Duration
	// Retention is added to the life of a state that says more than an absent key
	// would: 0, which is [DefaultRetention], to [Longest].
	Retention time.Duration
	// Jitter spreads the expiry of keys: a random part of it is added to each
	// life, never taken off. 0 to [Longest].
	Jitter time.Duration
}

// TimeToFull is the rule that keys live their time-to-full and keep longer.
func TimeToFull(keep time.Duration) Rule { return Rule{Keep: keep} }

// Validate reports durations out of range as [*bandwidth.ArgumentError].
func (r Rule) Validate() error {
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"keep", r.Keep}, {"retention", r.Retention}, {"jitter", r.Jitter}} {
		if f.d < 0 || f.d > Longest {
			return &bandwidth.ArgumentError{Field: f.name, Value: f.d, Allowed: "0 to " + Longest.String()}
		}
	}
	return nil
}

// Jittered is the rule for one write: its jitter drawn and added to the others.
func (r Rule) Jittered() Rule {
	if r.Jitter <= 0 {
		return r
	}
	return Rule{Keep: r.Keep + rand.N(r.Jitter+1), Retention: r.Retention}
}

// KeepMicros is Keep in microseconds, rounded up.
func (r Rule) KeepMicros() int64 { return micros(r.Keep) }

// RetentionMicros is the retention in force in microseconds, rounded up.
func (r Rule) RetentionMicros() int64 {
	if r.Retention == 0 {
		return micros(DefaultRetention)
	}
	return micros(r.Retention)
}

// Life is how long a key lives from its write, in microseconds.
type Life int64

// Life is that of a state which is full toFull microseconds after its write;
// remember tells that it says more than an absent key would. A life beyond
// int64 is its greatest value.
func (r Rule) Life(toFull int64, remember bool) Life {
	life := add(toFull, r.KeepMicros())
	if remember {
		life = add(life, r.RetentionMicros())
	}
	return Life(life)
}

// Longer is the life plus some microseconds, not negative, saturating.
func (l Life) Longer(micros int64) Life { return Life(add(int64(l), micros)) }

// Until is the instant from which a key written at now is absent, both in
// microseconds since the Unix epoch. It is the next whole millisecond at or
// after now plus the life, since that is how finely stores expire.
func (l Life) Until(now int64) int64 {
	at := add(now, int64(l))
	past := at % 1000
	switch {
	case past > 0:
		return add(at, 1000-past)
	case past < 0:
		return at - past
	}
	return at
}

// Millis is the life in milliseconds, rounded up, and at least 1.
func (l Life) Millis() int64 { return max(1, add(int64(l), 999)/1000) }

func micros(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

// add is a+b for b not negative, saturating.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
