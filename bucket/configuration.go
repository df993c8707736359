package bucket

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/bandwidth"
)

// MaxBandwidths is how many bandwidths a configuration may have.
const MaxBandwidths = 8

// Configuration is one or more bandwidths that must all agree, or one of the
// two extremes [Unlimited] and [DenyAll]. It is a small immutable handle, cheap
// to copy and safe to share: make it once, not on every call.
//
// The zero Configuration is no configuration: a bucket made from it refuses
// everything and its operations report [ErrInvalidArgument].
type Configuration struct {
	c *compiled
}

// compiled is everything that operations need, worked out once.
type compiled struct {
	form        form
	bandwidths  []bandwidth.Bandwidth
	rates       [2][]rate // by Tick
	version     int64
	inheritance Inheritance
	canonical   string // see Canonical
	startsFull  bool   // every bandwidth starts at its capacity
}

type form uint8

const (
	limited form = iota
	unlimited
	denyAll
)

// Unlimited and DenyAll touch no store, so one of each is enough.
var (
	unlimitedConfiguration = &compiled{form: unlimited, startsFull: true}
	denyAllConfiguration   = &compiled{form: denyAll, startsFull: true}
)

// Unlimited is the configuration that grants everything. It keeps no state and
// costs no round trip.
func Unlimited() Configuration { return Configuration{unlimitedConfiguration} }

// DenyAll is the configuration that grants nothing, ever. It keeps no state and
// costs no round trip.
func DenyAll() Configuration { return Configuration{denyAllConfiguration} }

// NewConfiguration returns the configuration of 1 to [MaxBandwidths] bandwidths
// whose ids, where given, are unique. Their order is kept: results name
// bandwidths by index. The error is or joins [*ArgumentError]s.
func NewConfiguration(bandwidths ...bandwidth.Bandwidth) (Configuration, error) {
	if n := len(bandwidths); n < 1 || n > MaxBandwidths {
		return Configuration{}, &ArgumentError{
			Field: "configuration", Value: fmt.Sprintf("%d bandwidths", n), Allowed: fmt.Sprintf("1 to %d bandwidths", MaxBandwidths),
		}
	}
	var faults []error
	ids := map[string]bool{}
	for i, b := range bandwidths {
		if b.Capacity() == 0 {
			faults = append(faults, &ArgumentError{Field: fmt.Sprintf("bandwidth %d", i), Value: "zero value", Allowed: "one made by bandwidth.New"})
		}
		if id := b.ID(); id != "" && ids[id] {
			faults = append(faults, &ArgumentError{Field: "id", Value: id, Allowed: "an id that no other bandwidth has"})
		}
		ids[b.ID()] = true
	}
	if len(faults) > 0 {
		return Configuration{}, errors.Join(faults...)
	}
	return compile(compiled{bandwidths: slices.Clone(bandwidths)}), nil
}

func compile(c compiled) Configuration {
	c.startsFull = true
	for _, tick := range []Tick{Nanosecond, Microsecond} {
		c.rates[tick] = make([]rate, len(c.bandwidths))
		for i, b := range c.bandwidths {
			c.rates[tick][i] = newRate(b, tick)
			c.startsFull = c.startsFull && !c.rates[tick][i].adaptive && c.rates[tick][i].initial == b.Capacity()
		}
	}
	c.canonical = string(appendCanonical(nil, c.bandwidths, c.version))
	return Configuration{&c}
}

// Must returns c and panics if err is not nil, for package variables.
func Must(c Configuration, err error) Configuration {
	if err != nil {
		panic(err)
	}
	return c
}

// MustConfiguration is [NewConfiguration] for package variables: it panics on
// an error.
func MustConfiguration(bandwidths ...bandwidth.Bandwidth) Configuration {
	return Must(NewConfiguration(bandwidths...))
}

// WithVersion returns the configuration with a version, 1 or more. A stored
// bucket follows the greatest version under which it was written: an older one or
// none never overrides it, and a newer one takes over the tokens by the given
// strategy, once. Without versions each caller's own configuration applies, and
// tokens are kept as they are. Unlimited and DenyAll have no stored form, so they
// take no version.
//
// A deploy that changes the capacity of live keys needs a version if the old
// limits are still declared meanwhile: a key written under the smaller capacity
// is forgotten once it is full by that, and is then a full one to whoever
// declares the greater.
func (c Configuration) WithVersion(version int64, strategy Inheritance) (Configuration, error) {
	if c.c == nil || c.c.form != limited {
		return Configuration{}, &ArgumentError{Field: "configuration", Value: "without bandwidths", Allowed: "one made by NewConfiguration"}
	}
	if version < 1 {
		return Configuration{}, &ArgumentError{Field: "version", Value: version, Allowed: "1 or more"}
	}
	if !strategy.valid() {
		return Configuration{}, &ArgumentError{Field: "inheritance", Value: uint8(strategy), Allowed: strategies}
	}
	return compile(compiled{bandwidths: c.c.bandwidths, version: version, inheritance: strategy}), nil
}

// IsZero tells the zero Configuration from a made one.
func (c Configuration) IsZero() bool { return c.c == nil }

// IsUnlimited tells whether c is [Unlimited].
func (c Configuration) IsUnlimited() bool { return c.c != nil && c.c.form == unlimited }

// IsDenyAll tells whether c is [DenyAll].
func (c Configuration) IsDenyAll() bool { return c.c != nil && c.c.form == denyAll }

// Stateless tells whether operations need no state and therefore no store:
// that is so for [Unlimited] and [DenyAll].
func (c Configuration) Stateless() bool { return c.c != nil && c.c.form != limited }

// Len is the number of bandwidths; zero for Unlimited and DenyAll.
func (c Configuration) Len() int {
	if c.c == nil {
		return 0
	}
	return len(c.c.bandwidths)
}

// Bandwidth is the i-th bandwidth, the zero one if there is none.
func (c Configuration) Bandwidth(i int) bandwidth.Bandwidth {
	if i < 0 || i >= c.Len() {
		return bandwidth.Bandwidth{}
	}
	return c.c.bandwidths[i]
}

// Bandwidths returns a copy of the bandwidths in order.
func (c Configuration) Bandwidths() []bandwidth.Bandwidth {
	if c.c == nil {
		return nil
	}
	return slices.Clone(c.c.bandwidths)
}

// Version is the number given with [Configuration.WithVersion], or 0.
func (c Configuration) Version() int64 {
	if c.c == nil {
		return 0
	}
	return c.c.version
}

// StartsFull tells whether a new bucket holds its whole capacity. If not, an
// expired bucket is not the same as a new one, and its state is kept longer.
func (c Configuration) StartsFull() bool { return c.c != nil && c.c.startsFull }

// Equal tells whether a stored bucket may go on unchanged under the other
// configuration: the same limits in the same order with the same ids and the
// same version. Equal rates may be written differently (100 a minute and 5 in
// 3 s), and initial tokens do not count, since they matter only at birth.
func (c Configuration) Equal(other Configuration) bool {
	if c.c == nil || other.c == nil || c.c == other.c {
		return c.c == other.c
	}
	return c.c.form == other.c.form && c.c.canonical == other.c.canonical
}

func (c Configuration) rates(t Tick) []rate { return c.c.rates[t] }
