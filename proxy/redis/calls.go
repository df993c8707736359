package redis

import (
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
)

// together is how many of the first decisions on a key one script call decides:
// any number of takes that the short script is for, and otherwise one.
func (b *Backend) together(group []proxy.Decision) int {
	config := group[0].Charges[0].Config
	if len(group) == 1 || config.IsZero() {
		return 1
	}
	p := b.plans.of(config, b.clock.now != nil)
	n := 0
	for n < len(group) && group[n].Charges[0].Config == config && p.isShort(&group[n].Charges[0]) {
		n++
	}
	return max(n, 1)
}

// call is the script call that decides what belongs together; false where
// numbers are too large for scripts.
func (b *Backend) call(ds []proxy.Decision) (call Call, ok bool) {
	c := &ds[0].Charges[0]
	switch {
	case c.Op.Kind == bucket.OpRemove:
		call, _ = b.clock.call(b.clock.script("remove.lua"), c.Key, ownBytes)
		return call, true
	case c.Op.ReadOnly():
		call, _ = b.clock.call(b.clock.script("read.lua"), c.Key)
		return call, true
	case c.Op.Kind == bucket.OpReplace:
		return Call{}, false // rare, and conversions are Go's
	case c.Op.Tokens >= exactDouble && (c.Op.Kind == bucket.OpForce || c.Op.Kind == bucket.OpForceAdd):
		return Call{}, false
	case c.Config.IsZero():
		return b.apply(c, &plan{})
	}
	p := b.plans.of(c.Config, b.clock.now != nil)
	switch {
	case !p.exact:
		return Call{}, false
	case len(ds) > 1 || p.isShort(c): // what is together stays so
		return b.take(ds, p)
	default:
		return b.apply(c, p)
	}
}

// take is a call of the short script.
func (b *Backend) take(ds []proxy.Decision, p *plan) (Call, bool) {
	args := make([]string, 0, 8)
	args = append(args, p.bytes)
	if p.given {
		args = append(args, p.birth)
	}
	longer := b.longer(longest(ds), p)
	key := ds[0].Charges[0].Key
	if len(ds) > 1 {
		return b.clock.call(p.takes, key, appendRuns(append(args, longer), ds)...)
	}
	switch cost := tokens(ds[0].Charges[0].Op); {
	case longer != "0" || b.clock.now != nil:
		args = append(args, cost, longer)
	case cost != "1":
		args = append(args, cost)
	}
	return b.clock.call(p.take, key, args...)
}

// appendRuns tells takes as the script gets them: how many follow one another
// with the same cost, and the cost.
func appendRuns(args []string, ds []proxy.Decision) []string {
	for from, i := 0, 1; i <= len(ds); i++ {
		if i == len(ds) || ds[i].Charges[0].Op.Tokens != ds[from].Charges[0].Op.Tokens {
			args = append(args, decimal(int64(i-from)), tokens(ds[from].Charges[0].Op))
			from = i
		}
	}
	return args
}

var applyNames = map[bucket.Kind]string{
	bucket.OpConsume: "take", bucket.OpConsumeUpTo: "upto", bucket.OpAdd: "add", bucket.OpReset: "reset",
	bucket.OpForce: "force", bucket.OpForceAdd: "force-add", bucket.OpReserve: "reserve", bucket.OpRefund: "add",
}

// apply is a call of the general script.
func (b *Backend) apply(c *proxy.Charge, p *plan) (Call, bool) {
	rules := decimal(least(c.Config))
	if c.StoredRules || c.Config.IsZero() {
		rules = "0"
	}
	return b.clock.call(b.clock.script("apply.lua"), c.Key,
		applyNames[c.Op.Kind], p.bytes, p.birth, tokens(c.Op), b.keep(c.Rule), p.retention(c.Rule), decimal(c.Rule.RetentionMicros()), rules,
		decimal(int64(min(c.Op.LongestWait/time.Microsecond, exactDouble-1))))
}

// tokens is the count of an operation as scripts get it. One beyond a double is
// more than any bucket there holds or lacks, and so is the greatest that is not;
// only what is forced would tell the difference.
func tokens(op bucket.Operation) string { return decimal(min(op.Tokens, exactDouble-1)) }

// keep is what a key lives longer than its time-to-full, in microseconds.
func (b *Backend) keep(r expiration.Rule) string { return decimal(r.KeepMicros() + b.clock.lead) }

// longer is the same for the short script, which is told it as a whole.
func (b *Backend) longer(r expiration.Rule, p *plan) string {
	micros := r.KeepMicros() + b.clock.lead
	if !p.bare {
		micros += r.RetentionMicros()
	}
	return decimal(micros)
}

// longest is the rule that keeps a key for as long as each of several would.
func longest(ds []proxy.Decision) expiration.Rule {
	rule := ds[0].Charges[0].Rule
	for i := range ds[1:] {
		other := &ds[i+1].Charges[0].Rule
		rule.Keep = max(rule.Keep, other.Keep)
		if other.RetentionMicros() > rule.RetentionMicros() {
			rule.Retention = other.Retention
		}
	}
	return rule
}
