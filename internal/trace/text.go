package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

var strategies = [...]string{
	bucket.AsIs: "as is", bucket.Proportional: "proportional", bucket.Additive: "additive", bucket.Reset: "reset",
}

// String is the whole trace in short lines.
func (sc script) String() string {
	var b strings.Builder
	names := map[bucket.Configuration]string{{}: "-"}
	used := map[bucket.Configuration]bool{sc.start.Config: true}
	for _, step := range sc.steps {
		used[step.Req.Config] = true
	}
	for i, d := range sc.pool {
		names[d.Configuration] = string(rune('A' + i))
		if !used[d.Configuration] {
			continue
		}
		fmt.Fprintf(&b, "  %c = %s", 'A'+i, describe(d.Configuration))
		if d.Version() > 0 {
			fmt.Fprintf(&b, " %s", strategies[d.strategy])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "  starts at %d", sc.start.Now)
	if sc.start.Lead > 0 {
		fmt.Fprintf(&b, ", lead %d", sc.start.Lead)
	}
	if sc.invisible {
		b.WriteString(", expiry must be invisible")
	}
	if sc.loaded != nil {
		fmt.Fprintf(&b, ", loaded with last %d levels %v", sc.loaded.State.Last, sc.loaded.State.Levels[:sc.loaded.Config.Len()])
	}
	b.WriteByte('\n')
	was := sc.start.Now
	for i, step := range sc.steps {
		fmt.Fprintf(&b, "  %2d. at %d (%+d) %s %s %d", i+1, step.Now, step.Now-was, names[step.Req.Config], step.Req.Op.Kind, step.Req.Op.Tokens)
		if step.Key > 0 {
			fmt.Fprintf(&b, " on key %d", step.Key)
		}
		switch op := step.Req.Op; op.Kind {
		case bucket.OpReserve:
			fmt.Fprintf(&b, " within %dns", op.LongestWait)
		case bucket.OpReplace:
			fmt.Fprintf(&b, " %s", strategies[op.Strategy])
		}
		if step.Req.StoredRules {
			b.WriteString(" stored rules")
		}
		if step.Rule.Keep > 0 || step.Rule.Retention > 0 {
			fmt.Fprintf(&b, " (keep %v, retention %v)", step.Rule.Keep, step.Rule.Retention)
		}
		b.WriteByte('\n')
		was = step.Now
	}
	return b.String()
}

// describe is a configuration in one line.
func describe(c bucket.Configuration) string {
	if c.IsZero() {
		return "none"
	}
	var parts []string
	for _, w := range c.Bandwidths() {
		r := w.Refill()
		s := fmt.Sprintf("%d: ", w.Capacity())
		switch r.Kind() {
		case bandwidth.KindGreedy:
			s += "greedy "
		case bandwidth.KindInterval:
			s += "interval "
		case bandwidth.KindAligned:
			s += "aligned "
		}
		s += fmt.Sprintf("%d/%s", r.Tokens(), plain(r.Period()))
		if r.Kind() == bandwidth.KindAligned {
			s += " phase " + plain(r.Phase())
		}
		if n, adaptive := w.InitialTokens(); adaptive {
			s += " initially adaptive"
		} else if n != w.Capacity() {
			s += fmt.Sprintf(" initially %d", n)
		}
		if w.ID() != "" {
			s += fmt.Sprintf(" id %q", w.ID())
		}
		parts = append(parts, s)
	}
	s := "[" + strings.Join(parts, "; ") + "]"
	if c.Version() > 0 {
		s += fmt.Sprintf(" version %d", c.Version())
	}
	return s
}

// plain is a duration that Go source takes too.
func plain(d time.Duration) string {
	if d%time.Microsecond == 0 {
		return fmt.Sprintf("%dµs", d.Microseconds())
	}
	return fmt.Sprintf("%dns", d.Nanoseconds())
}
