package bucket

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/internal/wire"
)

// Canonical is the configuration as stored beside each bucket: equal
// configurations have equal bytes, so that a comparison tells whether a bucket
// was written under another one. It is a sequence of MessagePack values in
// microsecond ticks:
//
//	count               number of bandwidths; negative if a version follows
//	[version]
//	[id] capacity rate den [phase]    for each bandwidth
//
// A positive rate is greedy: rate tokens in den ticks, in lowest terms. A
// negative one is an interval of -rate tokens; den is its period, negative if
// the interval is aligned, and then its phase follows. An id is a string, so
// its presence needs no mark; it comes first, so that no configuration's bytes
// begin another's. Initial tokens are not stored.
func (c Configuration) Canonical() string {
	if c.c == nil {
		return ""
	}
	return c.c.canonical
}

func appendCanonical(b []byte, bandwidths []bandwidth.Bandwidth, version int64) []byte {
	if version == 0 {
		b = wire.AppendInt(b, int64(len(bandwidths)))
	} else {
		b = wire.AppendInt(b, -int64(len(bandwidths)))
		b = wire.AppendInt(b, version)
	}
	for _, w := range bandwidths {
		r := newRate(w, Microsecond)
		if id := w.ID(); id != "" {
			b = wire.AppendString(b, id)
		}
		b = wire.AppendInt(b, r.capacity)
		switch r.kind {
		case bandwidth.KindGreedy:
			b = wire.AppendInt(b, r.num)
			b = wire.AppendInt(b, r.den)
		case bandwidth.KindInterval:
			b = wire.AppendInt(b, -r.step)
			b = wire.AppendInt(b, r.den)
		case bandwidth.KindAligned:
			b = wire.AppendInt(b, -r.step)
			b = wire.AppendInt(b, -r.den)
			b = wire.AppendInt(b, r.phase)
		}
	}
	return b
}

// ErrMalformed is the cause when bytes are not a canonical configuration.
var ErrMalformed = errors.New("sluice: malformed configuration bytes")

// ParseCanonical reads a configuration from the front of b, as written by
// [Configuration.Canonical], and returns the rest. Anything else than the
// canonical bytes of a valid configuration is an [ErrMalformed]. A greedy rate
// comes back in lowest terms; initial tokens come back as the capacity.
func ParseCanonical(b []byte) (c Configuration, rest []byte, err error) {
	p := parser{rest: b}
	count, version := p.int(), int64(0)
	if count < 0 {
		count, version = -count, p.int()
		p.failed = p.failed || version < 1
	}
	if p.failed || count < 1 || count > MaxBandwidths {
		return Configuration{}, nil, ErrMalformed
	}
	bandwidths := make([]bandwidth.Bandwidth, count)
	for i := range bandwidths {
		if bandwidths[i], err = p.bandwidth(); err != nil {
			return Configuration{}, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	c, err = NewConfiguration(bandwidths...)
	if err == nil && version > 0 {
		c, err = c.WithVersion(version, AsIs)
	}
	if err != nil {
		return Configuration{}, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if read := b[:len(b)-len(p.rest)]; string(read) != c.Canonical() {
		return Configuration{}, nil, ErrMalformed
	}
	return c, p.rest, nil
}

// parser reads values one by one and remembers whether one was wrong.
type parser struct {
	rest   []byte
	failed bool
}

func (p *parser) int() int64 {
	v, rest, ok := wire.Int(p.rest)
	p.rest, p.failed = rest, p.failed || !ok
	return v
}

func (p *parser) bandwidth() (bandwidth.Bandwidth, error) {
	var opts []bandwidth.Option
	if wire.IsString(p.rest) {
		id, rest, ok := wire.String(p.rest)
		p.rest, p.failed = rest, p.failed || !ok
		opts = append(opts, bandwidth.WithID(id))
	}
	capacity, rate, den := p.int(), p.int(), p.int()
	var refill bandwidth.Refill
	switch {
	case p.failed || rate == math.MinInt64 || den == math.MinInt64:
		return bandwidth.Bandwidth{}, ErrMalformed
	case rate > 0:
		// Per microsecond to per nanosecond: exact, see bandwidth.Refill.Rate.
		tokens, ticks := reduce(rate, den)
		refill = bandwidth.Greedy(tokens, time.Duration(ticks))
	case den > 0:
		refill = bandwidth.Interval(-rate, micros(den))
	default:
		phase := p.int()
		refill = bandwidth.Aligned(-rate, micros(-den), time.UnixMicro(phase))
	}
	if p.failed {
		return bandwidth.Bandwidth{}, ErrMalformed
	}
	return bandwidth.New(capacity, refill, opts...)
}

// reduce turns tokens per microseconds into tokens per nanoseconds in lowest
// terms. What no Duration can hold was never written: it becomes 0.
func reduce(tokens, ticks int64) (int64, int64) {
	g := gcd(tokens, int64(time.Microsecond))
	hi, lo := bits.Mul64(uint64(ticks), uint64(int64(time.Microsecond)/g))
	if ticks < 1 || hi != 0 || lo > math.MaxInt64 {
		return tokens, 0
	}
	return tokens / g, int64(lo)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// micros is n microseconds, or 0 where a Duration cannot hold them.
func micros(n int64) time.Duration {
	hi, lo := bits.Mul64(uint64(n), uint64(time.Microsecond))
	if n < 0 || hi != 0 || lo > math.MaxInt64 {
		return 0
	}
	return time.Duration(lo)
}
