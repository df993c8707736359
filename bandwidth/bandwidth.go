package bandwidth

import (
	"errors"
	"fmt"
)

// MaxIDLength is the greatest length of an id in bytes. Ids are stored beside
// each bucket that declares them, so short ones are cheaper.
const MaxIDLength = 64

// Bandwidth is one limit of a bucket: at most Capacity tokens, refilled as
// Refill says. It is an immutable value and comparable; make one with [New].
type Bandwidth struct {
	capacity int64
	refill   Refill
	id       string
	initial  initial
}

// initial is how a bucket starts: full unless said otherwise.
type initial struct {
	kind   initialKind
	tokens int64
}

type initialKind uint8

const (
	initialFull initialKind = iota
	initialFixed
	initialAdaptive
)

// Option changes what [New] makes.
type Option func(*Bandwidth) error

// New returns a bandwidth of the given capacity and refill. Both counts and
// the period are 1 to 2^63-1. A refill faster than one token a nanosecond, an
// interval that is not whole microseconds, and whatever else could not be kept
// exactly on every backend are refused. The error is or joins
// [*ArgumentError]s.
func New(capacity int64, refill Refill, opts ...Option) (Bandwidth, error) {
	b := Bandwidth{capacity: capacity, refill: refill}
	var faults []error
	if capacity < 1 {
		faults = append(faults, &ArgumentError{"capacity", capacity, "1 or more"})
	}
	faults = append(faults, refill.check()...)
	for _, opt := range opts {
		if opt == nil {
			faults = append(faults, &ArgumentError{"option", "nil", "an option of this package"})
			continue
		}
		if err := opt(&b); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return Bandwidth{}, errors.Join(faults...)
	}
	return b, nil
}

// Must returns b and panics if err is not nil. It is for package variables
// whose arguments are constants.
func Must(b Bandwidth, err error) Bandwidth {
	if err != nil {
		panic(err)
	}
	return b
}

// WithID names the bandwidth. The name is how it is told from others in
// results, and how a stored bucket finds its tokens again when a configuration
// changes. It has 1 to [MaxIDLength] letters, digits or any of "-_.:/", and is
// unique within a configuration.
func WithID(id string) Option {
	return func(b *Bandwidth) error {
		if !validID(id) {
			return &ArgumentError{"id", id, fmt.Sprintf(`1 to %d letters, digits or any of "-_.:/"`, MaxIDLength)}
		}
		b.id = id
		return nil
	}
}

func validID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '/':
		default:
			return false
		}
	}
	return len(id) > 0 && len(id) <= MaxIDLength
}

// WithInitialTokens sets how many tokens a new bucket starts with: 0 to the
// capacity. The default is the capacity.
func WithInitialTokens(n int64) Option {
	return func(b *Bandwidth) error {
		if n < 0 || b.capacity > 0 && n > b.capacity {
			return &ArgumentError{"initial tokens", n, fmt.Sprintf("0 to the capacity, %d", b.capacity)}
		}
		b.initial = initial{initialFixed, n}
		return nil
	}
}

// WithAdaptiveInitialTokens starts a new bucket of an aligned bandwidth with
// what the rest of the running period deserves: the capacity less one refill,
// plus the share of that refill that the time left to the boundary is of a
// period, rounded down. Capacity 400, 100 an hour on the hour, made at 16:20:
// 300 + 100·40/60 = 366.
func WithAdaptiveInitialTokens() Option {
	return func(b *Bandwidth) error {
		if b.refill.kind != KindAligned {
			return &ArgumentError{"initial tokens", "adaptive", "an aligned refill"}
		}
		b.initial = initial{kind: initialAdaptive}
		return nil
	}
}

// Capacity is the most tokens that refilling can lead to.
func (b Bandwidth) Capacity() int64 { return b.capacity }

// Refill is how tokens come back.
func (b Bandwidth) Refill() Refill { return b.refill }

// ID is the name given with [WithID], or empty.
func (b Bandwidth) ID() string { return b.id }

// InitialTokens is how many tokens a new bucket starts with. For an adaptive
// start that depends on the instant: tokens is then the capacity and adaptive
// is true.
func (b Bandwidth) InitialTokens() (tokens int64, adaptive bool) {
	switch b.initial.kind {
	case initialFixed:
		return b.initial.tokens, false
	case initialAdaptive:
		return b.capacity, true
	default:
		return b.capacity, false
	}
}
