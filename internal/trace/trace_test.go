package trace_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/internal/trace"
)

var (
	ops  = flag.Int("trace.ops", 20_000, "operations of random traces for each target")
	seed = flag.Uint64("trace.seed", 1, "seed of the random traces; 0 for another one each time, which is printed")
)

// run holds one subject against the model, for as long as the flags say.
func run(t *testing.T, s trace.Subject) trace.Coverage {
	t.Helper()
	t.Parallel()
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	return trace.Run(t, s, *ops, from)
}
