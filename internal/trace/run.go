package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Run drives fresh keys of the subject through random traces of so many
// operations in all, and fails the test at the first answer that is not the
// model's, with the shortest trace that shows it.
func Run(tb testing.TB, s Subject, ops int, seed uint64) Coverage {
	tb.Helper()
	c := Coverage{Name: s.Name, Seed: seed}
	var source rand.PCG
	r := rand.New(&source)
	began := time.Now()
	shown := began
	for c.Operations < ops && !tb.Failed() {
		source.Seed(seed, uint64(c.Traces))
		if failure := run(r, s, &c, ops); failure != "" {
			tb.Fatalf("%s: trace %d of seed %d\n%s", s.Name, c.Traces, seed, failure)
		}
		c.Traces++
		if now := time.Now(); now.Sub(shown) > 3*time.Second {
			shown = now
			tb.Logf("%s: %d of %d operations, %.0f a second, seed %d",
				s.Name, c.Operations, ops, float64(c.Operations)/now.Sub(began).Seconds(), seed)
		}
	}
	tb.Logf("%v\n  in %v", c, time.Since(began).Round(time.Millisecond))
	return c
}

// run plays one new trace and returns a report if it failed.
func run(r *rand.Rand, s Subject, c *Coverage, ops int) string {
	a := newAuthor(r, s)
	p, err := newPlayer(s, a.script, c)
	if err != nil {
		return err.Error()
	}
	if _, ok := p.keys[0].target.(Loader); ok && !a.invisible && chance(r, 0.3) {
		a.load()
		if p, err = newPlayer(s, a.script, c); err != nil {
			return err.Error()
		}
	}
	steps := 1 + r.IntN(80)
	for len(a.steps) < steps && c.Operations < ops {
		step := a.next()
		if err := p.play(step); err != nil {
			return report(s, a.script, err)
		}
		a.hear(p.keys[step.Key].answer)
	}
	return ""
}

// report shrinks a failing script and prints it.
func report(s Subject, sc script, failure error) string {
	steps := len(sc.steps)
	sc, failure = shrink(s, sc, failure)
	return fmt.Sprintf("the last of these steps went wrong (shortened from %d):\n%s%v", steps, sc, failure)
}

// shrink leaves out steps one by one as long as the trace still fails.
func shrink(s Subject, sc script, failure error) (script, error) {
	for again := true; again; {
		again = false
		for i := len(sc.steps) - 2; i >= 0; i-- {
			shorter := sc
			shorter.steps = slices.Delete(slices.Clone(sc.steps), i, i+1)
			if n, err := replay(s, shorter); err != nil {
				shorter.steps = shorter.steps[:n]
				sc, failure, again = shorter, err, true
				i = min(i, len(sc.steps)-1)
			}
		}
	}
	return sc, failure
}

// replay plays a script and returns how many steps it took to fail.
func replay(s Subject, sc script) (int, error) {
	p, err := newPlayer(s, sc, &Coverage{})
	if err != nil {
		return 0, err
	}
	for i, step := range sc.steps {
		if err := p.play(step); err != nil {
			return i + 1, err
		}
	}
	return 0, nil
}
