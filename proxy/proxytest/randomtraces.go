package proxytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/trace"
	"github.com/sluice-go/sluice/proxy"
)

// SeedVariable is the environment variable with the seed of the random traces:
// a number, by default 1. 0 takes another seed each time. A failure tells the
// seed that shows it again.
const SeedVariable = "SLUICE_TEST_SEED"

// traceName is the test of random traces, in both functions of the suite.
const traceName = "random traces give the answers of the model"

// play plays random operations over random configurations on the subject and on
// a model in big integers, and compares every field of every answer.
func (s *scene) play(subject trace.Subject) {
	s.Helper()
	seed := uint64(1)
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			s.Fatalf("%s: %v", SeedVariable, err)
		}
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	s.Cleanup(func() {
		if s.Failed() {
			s.Logf("to see it again: %s=%d go test -run '%s'", SeedVariable, seed, s.Name())
		}
	})
	subject.Name, subject.Tick = "random traces", s.tick
	trace.Run(s, subject, s.either(20_000, 2_000), seed)
}

// randomBucketTests are for buckets without a store: one at a time, under one
// configuration.
var randomBucketTests = []bucketTest{
	{traceName, func(s *scene) {
		s.play(trace.Subject{Local: true, New: func(begin trace.Start) (trace.Target, error) {
			set := func(now int64) { s.clock.set(s.instant(now)) }
			set(begin.Now)
			return trace.Of(s.create(s.T, begin.Config), set), nil
		}})
	}},
}

// instant is an instant given in ticks.
func (s *scene) instant(ticks int64) time.Time {
	if s.tick == bucket.Nanosecond {
		return time.Unix(0, ticks)
	}
	return time.UnixMicro(ticks)
}

var randomTests = []storeTest{
	{traceName, func(s *store) {
		// Several keys on one clock, each asked through two backends in turns, as
		// by two processes. Configurations change, and whatever the clock passes
		// the life of is absent.
		both := [2]proxy.Backend{s.backend(), s.backend()}
		keys := 0
		subject := trace.Subject{Keys: 3, New: func(trace.Start) (trace.Target, error) {
			keys++
			return &storedKey{store: s, both: both, key: fmt.Sprint("trace ", keys)}, nil
		}}
		if !s.factory.InProcess {
			// The store's own clock goes on: lives are longer than any trace.
			subject.Leads = []int64{wideSkew.Microseconds()}
			subject.Earliest, subject.Latest = math.MinInt64, math.MaxInt64
		}
		s.play(subject)
	}},
}

// storedKey is a key of a store as a target of traces.
type storedKey struct {
	*store
	both [2]proxy.Backend
	turn int
	key  string
	last int64 // when it was asked last
}

func (k *storedKey) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	k.clock.set(k.instant(now))
	k.last = now
	k.turn++
	ds := []proxy.Decision{decision(proxy.Charge{Key: k.prefix + k.key, Request: req, Rule: rule})}
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	k.both[k.turn%2].Do(ctx, ds)
	return ds[0].Results[0], ds[0].Err
}

// Forget makes the key absent. A store in process goes by the test's clock and
// must have forgotten it. Another one may go by a clock of its own: it removes
// the key at an instant at which it was still there.
func (k *storedKey) Forget(now int64) error {
	kind := bucket.OpInspect
	if !k.factory.InProcess {
		kind, now = bucket.OpRemove, k.last
	}
	r, err := k.Do(bucket.Request{Op: bucket.Operation{Kind: kind}}, expiration.Rule{}, now)
	if err == nil && k.factory.InProcess && r.Existed {
		err = errors.New("the key is still there")
	}
	return err
}
