package trace

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/model"
)

// Coverage tells what a run has met.
type Coverage struct {
	Name               string
	Seed               uint64
	Errors             int // debts beyond int64, and replacements that a version forbids
	Traces, Operations int
	ByKind             [bucket.OpReplace + 1]int
	ByBandwidths       [bucket.MaxBandwidths + 1]int // of the configuration in force

	// Takes, whole or as far as there was something.
	Granted, Refused, Never int
	AtWait, BeforeWait      int // at exactly the wait that a refusal told, and one tick earlier

	// Keys. Expired ones were deleted because their time to live had passed.
	Born, Written, Deleted, Expired int

	// Levels.
	Crossings      int // a bandwidth had become full since it was stored
	Debt, Credit   int // less than no tokens, and more than the capacity
	Large          int // beyond 2^53
	SaturatedWaits int

	// The clock.
	Back          int // steps back
	Ahead, TooFar int // stored instants still to come: believed, and beyond the lead
	AtTheEnds     int // of int64, within 2^53
	// Configurations that gave way, by what met the change and by strategy.
	ReplacedByGrant, ReplacedByRefusal, ReplacedByRead, ReplacedByOther int
	ByStrategy                                                          [bucket.Reset + 1]int

	Conflicts  int // same version, other content
	Overruled  int // declared configurations that a stored one ruled over
	Undeclared int // requests without a configuration
}

func (c *Coverage) count(last, step *Step, a *model.Answer) {
	c.Operations++
	kind := step.Req.Op.Kind
	c.ByKind[kind]++
	c.ByBandwidths[a.Configuration.Len()]++
	tally := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	read := step.Req.Op.ReadOnly()
	tally(&c.Granted, a.Consumed && !read)
	tally(&c.Refused, a.Refused && !read && !a.Never)
	tally(&c.Never, a.Never && !read)
	tally(&c.Born, a.Change == bucket.Write && !a.Existed)
	tally(&c.Written, a.Change == bucket.Write)
	tally(&c.Deleted, a.Change == bucket.Delete)
	tally(&c.Crossings, a.Crossed)
	tally(&c.Back, step.Now < last.Now)
	tally(&c.Ahead, a.Ahead && !a.Clamped)
	tally(&c.TooFar, a.Clamped)
	if a.Replaced {
		c.ByStrategy[a.Strategy]++
		tally(&c.ReplacedByRead, read)
		tally(&c.ReplacedByGrant, a.Consumed && !read)
		tally(&c.ReplacedByRefusal, a.Refused && !read)
		tally(&c.ReplacedByOther, !a.Consumed && !a.Refused && !read)
	}
	tally(&c.Conflicts, a.Conflict)
	tally(&c.Overruled, !step.Req.Config.IsZero() && !a.Configuration.IsZero() && !a.Configuration.Equal(step.Req.Config))
	tally(&c.Undeclared, step.Req.Config.IsZero())
	tally(&c.SaturatedWaits, !a.Never && (a.Wait == 1<<63-1 || a.TimeToFull == 1<<63-1))
	tally(&c.AtTheEnds, step.Now > 1<<63-1<<53 || step.Now < -1<<63+1<<53)
	var debt, credit, large bool
	for i := range a.Configuration.Len() {
		capacity := a.Configuration.Bandwidth(i).Capacity()
		debt = debt || a.Held[i] < 0
		credit = credit || a.Held[i] > capacity
		large = large || a.Held[i] > 1<<53 || a.Held[i] < -1<<53
	}
	tally(&c.Debt, debt)
	tally(&c.Credit, credit)
	tally(&c.Large, large)
}

// String is the whole coverage in a few lines.
func (c Coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d operations in %d traces, seed %d\n ", c.Name, c.Operations, c.Traces, c.Seed)
	for kind := bucket.OpConsume; kind <= bucket.OpReplace; kind++ {
		fmt.Fprintf(&b, " %s %d", kind, c.ByKind[kind])
	}
	b.WriteString("\n  bandwidths:")
	for n, count := range c.ByBandwidths {
		if n > 0 && count > 0 {
			fmt.Fprintf(&b, " %d: %d", n, count)
		}
	}
	fmt.Fprintf(&b, `
  takes: granted %d, refused %d, never possible %d; at exactly the wait %d, one tick before %d
  keys: born %d, written %d, deleted because full %d, expired and deleted %d
  levels: capacity crossed %d, debt %d, credit %d, beyond 2^53 %d, saturated waits %d
  clock: steps back %d, stored instant ahead %d and beyond the lead %d, at the ends of int64 %d
  configurations: changes met by a grant %d, by a refusal %d, by a read %d, by others %d;
   `,
		c.Granted, c.Refused, c.Never, c.AtWait, c.BeforeWait,
		c.Born, c.Written, c.Deleted, c.Expired,
		c.Crossings, c.Debt, c.Credit, c.Large, c.SaturatedWaits,
		c.Back, c.Ahead, c.TooFar, c.AtTheEnds,
		c.ReplacedByGrant, c.ReplacedByRefusal, c.ReplacedByRead, c.ReplacedByOther)
	for strategy, count := range c.ByStrategy {
		fmt.Fprintf(&b, " %s %d,", strategies[strategy], count)
	}
	fmt.Fprintf(&b, " conflicts %d, declared but overruled %d, none declared %d", c.Conflicts, c.Overruled, c.Undeclared)
	return b.String()
}
