package trace

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// declared is a configuration of a trace; the strategy is not told by the
// configuration itself.
type declared struct {
	bucket.Configuration
	strategy bucket.Inheritance
}

// spec is a bandwidth in the making.
type spec struct {
	kind             bandwidth.Kind
	capacity, tokens int64
	period           time.Duration
	first            time.Time
	id               string
	initial          int64 // see below, or a number of tokens
}

const (
	initiallyFull     = -1
	initiallyAdaptive = -2
)

const year = 365 * 24 * time.Hour

var (
	ids          = []string{"", "", "", "a", "burst", "day", "a:b/c.d_e-f", "minute"}
	roundTokens  = []int64{1, 2, 3, 5, 10, 20, 60, 100, 120, 500, 1000, 10_000, 1_000_000}
	roundPeriods = []time.Duration{
		time.Millisecond, time.Second, 10 * time.Second, time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, year, 10 * year,
	}
	awkwardCounts = []int64{1, 2, 1<<31 - 1, 1 << 32, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
)

// pool makes the configurations among which one trace changes.
func pool(r *rand.Rand, n int) []declared {
	specs := randomSpecs(r)
	versioned, rising := chance(r, 0.6), chance(r, 0.6)
	var made []declared
	for len(made) < n {
		d := declared{Configuration: configure(specs)}
		version := r.Int64N(4)
		if rising {
			version = int64(len(made) + r.IntN(2))
		}
		if versioned && version > 0 {
			d.strategy = bucket.Inheritance(r.IntN(4))
			d.Configuration = bucket.Must(d.WithVersion(version, d.strategy))
		}
		made = append(made, d)
		specs = vary(r, specs)
	}
	return made
}

func randomSpecs(r *rand.Rand) []spec {
	n := 1
	switch p := r.Float64(); {
	case p < 0.05:
		n = 5 + r.IntN(4)
	case p < 0.5:
		n = 2 + r.IntN(3)
	}
	style := r.IntN(10)
	named := chance(r, 0.4)
	var specs []spec
	for range n {
		s := randomSpec(r, style)
		if named {
			s.id = ids[r.IntN(len(ids))]
		}
		specs = append(specs, s)
	}
	return unique(specs)
}

// randomSpec makes a round limit as people write them, a tiny one in which
// every boundary is near, or a hostile one.
func randomSpec(r *rand.Rand, style int) spec {
	s := spec{kind: bandwidth.Kind(1 + r.IntN(3)), initial: initiallyFull}
	if chance(r, 0.1) {
		style = r.IntN(10)
	}
	switch {
	case style < 5:
		s.tokens, s.period = pick(r, roundTokens), pick(r, roundPeriods)
		s.capacity = s.tokens
		if chance(r, 0.5) {
			s.capacity = pick(r, roundTokens)
		}
	case style < 8:
		s.tokens, s.capacity = 1+r.Int64N(5), 1+r.Int64N(10)
		s.period = time.Duration(1+r.IntN(20)) * time.Microsecond
		if s.kind == bandwidth.KindGreedy && chance(r, 0.5) {
			s.period = time.Duration(s.tokens + r.Int64N(5000))
		}
	default:
		s.tokens, s.capacity = count(r), count(r)
		s.period = time.Duration(logUniform(r, int64(10*year)))
		if s.kind == bandwidth.KindGreedy && chance(r, 0.4) {
			// As many tokens in as long a period as can be, and nothing in common.
			s.tokens, s.period = math.MaxInt64/1000-r.Int64N(1000), 10*year-1-2*time.Duration(r.IntN(1000))
		} else if s.kind != bandwidth.KindGreedy {
			s.period = max(s.period.Truncate(time.Microsecond), time.Microsecond)
		}
	}
	s.tokens = min(s.tokens, int64(s.period))
	s.first = time.UnixMicro(r.Int64N(1<<51) - 1<<50)
	s.initial = randomInitial(r, s)
	return s
}

func randomInitial(r *rand.Rand, s spec) int64 {
	switch p := r.Float64(); {
	case p < 0.6:
		return initiallyFull
	case p < 0.8 && s.kind == bandwidth.KindAligned:
		return initiallyAdaptive
	case p < 0.9:
		return 0
	default:
		return r.Int64N(s.capacity)
	}
}

// count is a number of tokens of any size.
func count(r *rand.Rand) int64 {
	if chance(r, 0.3) {
		return pick(r, awkwardCounts)
	}
	return logUniform(r, math.MaxInt64)
}

// vary is how operators change a configuration: mostly a number or two.
func vary(r *rand.Rand, specs []spec) []spec {
	specs = slices.Clone(specs)
	at := r.IntN(len(specs))
	s := &specs[at]
	switch r.IntN(9) {
	case 0:
		s.capacity = 1 + r.Int64N(s.capacity)
	case 1:
		s.capacity += r.Int64N(min(s.capacity, math.MaxInt64-s.capacity) + 1)
	case 2:
		s.capacity = count(r)
		if chance(r, 0.3) {
			s.capacity = math.MaxInt64
		}
	case 3:
		s.tokens = min(1+r.Int64N(s.tokens+s.tokens/2+1), int64(s.period))
	case 4:
		kept := s.id
		*s = randomSpec(r, r.IntN(10))
		s.id = kept
	case 5:
		s.initial = randomInitial(r, *s)
	case 6:
		r.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	case 7:
		s.id = pick(r, ids)
	default:
		if len(specs) > 1 && chance(r, 0.5) {
			specs = slices.Delete(specs, at, at+1)
		} else if len(specs) < bucket.MaxBandwidths {
			fresh := randomSpec(r, r.IntN(10))
			fresh.id = pick(r, ids)
			specs = slices.Insert(specs, at, fresh)
		}
	}
	for i := range specs {
		specs[i].initial = min(specs[i].initial, specs[i].capacity)
		if specs[i].initial == initiallyAdaptive && specs[i].kind != bandwidth.KindAligned {
			specs[i].initial = initiallyFull
		}
	}
	return unique(specs)
}

// unique takes ids away that an earlier bandwidth has.
func unique(specs []spec) []spec {
	for i := range specs {
		if slices.ContainsFunc(specs[:i], func(s spec) bool { return s.id == specs[i].id }) {
			specs[i].id = ""
		}
	}
	return specs
}

func configure(specs []spec) bucket.Configuration {
	var limits []bandwidth.Bandwidth
	for _, s := range specs {
		limit, err := s.bandwidth()
		if err != nil {
			// Only a greedy rate of very many tokens in its lowest terms is
			// refused: one token a period is not.
			s.tokens = 1
			limit = bandwidth.Must(s.bandwidth())
		}
		limits = append(limits, limit)
	}
	return bucket.MustConfiguration(limits...)
}

func (s spec) bandwidth() (bandwidth.Bandwidth, error) {
	var refill bandwidth.Refill
	switch s.kind {
	case bandwidth.KindGreedy:
		refill = bandwidth.Greedy(s.tokens, s.period)
	case bandwidth.KindInterval:
		refill = bandwidth.Interval(s.tokens, s.period)
	default:
		refill = bandwidth.Aligned(s.tokens, s.period, s.first)
	}
	var opts []bandwidth.Option
	if s.id != "" {
		opts = append(opts, bandwidth.WithID(s.id))
	}
	switch s.initial {
	case initiallyFull:
	case initiallyAdaptive:
		opts = append(opts, bandwidth.WithAdaptiveInitialTokens())
	default:
		opts = append(opts, bandwidth.WithInitialTokens(s.initial))
	}
	return bandwidth.New(s.capacity, refill, opts...)
}

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// logUniform is 1 to most, every order of magnitude as likely as the next.
func logUniform(r *rand.Rand, most int64) int64 {
	shift := r.IntN(64)
	return 1 + int64(r.Uint64()>>shift)&math.MaxInt64%most
}
