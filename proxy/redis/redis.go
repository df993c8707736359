package redis

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// DefaultSkew is by how much the clocks of clients may differ where
// [WithClientClock] is given 0.
const DefaultSkew = time.Second

// Backend is buckets in Redis. Adapters make it.
type Backend struct {
	client Client
	codec  codec.MessagePack
	swaps  bool // this process decides, see WithCompareAndSwap
	apart  bool // see WithoutCoalescing
	decide proxy.Backend
	clock  clock
	plans  plans
	err    error // a bad argument, told by Validate
}

var (
	_ proxy.Backend   = (*Backend)(nil)
	_ proxy.Validator = (*Backend)(nil)
)

// Option changes what an adapter's New makes.
type Option func(*Backend)

// WithCompareAndSwap lets this process decide and Redis only keep the bytes:
// one round trip for what changes nothing, two for what does, one more for each
// time that somebody else was faster.
func WithCompareAndSwap() Option {
	return func(b *Backend) { b.swaps = true }
}

// WithoutCoalescing gives each operation a trip of its own. Otherwise those of
// this backend on one key share a trip while one is under way, see
// [proxy.Coalesce].
func WithoutCoalescing() Option {
	return func(b *Backend) { b.apart = true }
}

// WithClientClock takes the time from this process and not from Redis: for
// servers that forbid TIME, and for tests. The clocks of all clients of a key
// must agree within skew (0: [DefaultSkew]): keys live longer by it, and a stored
// instant further ahead is believed only that far.
func WithClientClock(now func() time.Time, skew time.Duration) Option {
	return func(b *Backend) {
		if skew == 0 {
			skew = DefaultSkew
		}
		switch {
		case now == nil:
			b.err = errors.Join(b.err, &bucket.ArgumentError{Field: "clock", Value: "nil", Allowed: "a function"})
		case skew < time.Microsecond || skew > expiration.Longest:
			b.err = errors.Join(b.err, &bucket.ArgumentError{Field: "clock skew", Value: skew, Allowed: "1µs to " + expiration.Longest.String()})
		default:
			b.clock = clock{now, int64((skew + time.Microsecond - 1) / time.Microsecond)}
		}
	}
}

// New returns the backend that an adapter's client makes possible. It does no
// I/O. What is wrong with its arguments is told by Validate, so by
// proxy.NewManager.
func New(c Client, opts ...Option) *Backend {
	b := &Backend{client: c}
	if c == nil {
		b.err = &bucket.ArgumentError{Field: "client", Value: "nil", Allowed: "a Redis client"}
	}
	for _, opt := range opts {
		if opt != nil {
			opt(b)
		}
	}
	b.decide = scripts{b}
	if b.swaps {
		b.decide = proxy.CompareAndSwap(store{b}, b.codec)
	}
	if !b.apart {
		b.decide = proxy.Coalesce(b.decide)
	}
	return b
}

// Validate reports what was wrong with the arguments of New.
func (b *Backend) Validate() error { return b.err }

// Close does nothing: the client is the caller's.
func (b *Backend) Close() error { return nil }

// Do decides; see [proxy.Backend]. Decisions by script share one trip.
func (b *Backend) Do(ctx context.Context, ds []proxy.Decision) { b.decide.Do(ctx, ds) }

// scripts is the same backend where scripts decide.
type scripts struct{ *Backend }

func (b scripts) Do(ctx context.Context, ds []proxy.Decision) {
	calls := make([]Call, 0, len(ds))
	asked := make([][]proxy.Decision, 0, len(ds)) // the decisions of each call
	for group := range proxy.Groups(ds) {
		for len(group) > 0 {
			n := b.together(group)
			if call, ok := b.call(group[:n]); ok {
				calls, asked = append(calls, call), append(asked, group[:n])
			} else {
				b.handOver(ctx, group[:n], nil)
			}
			group = group[n:]
		}
	}
	b.run(ctx, calls)
	for j := range calls {
		b.conclude(ctx, asked[j], &calls[j])
	}
}

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
	case p.isShort(c):
		keep, retention := b.lives(c, c.Config.Version() > 0 || !c.Config.StartsFull())
		if len(ds) > 1 {
			return b.clock.call(p.takes, c.Key, append([]string{p.bytes, p.birth, keep, retention}, runs(ds)...)...)
		}
		return b.clock.call(p.take, c.Key, p.bytes, p.birth, keep, retention, tokens(c.Op))
	default:
		return b.apply(c, p)
	}
}

// runs tells takes as the script gets them: how many follow one another with the
// same cost, and the cost.
func runs(ds []proxy.Decision) (args []string) {
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
	keep, retention := b.lives(c, c.Config.Version() > 0 || !c.Config.StartsFull())
	_, otherwise := b.lives(c, true)
	rules := decimal(least(c.Config))
	if c.StoredRules || c.Config.IsZero() {
		rules = "0"
	}
	return b.clock.call(b.clock.script("apply.lua"), c.Key,
		applyNames[c.Op.Kind], p.bytes, p.birth, tokens(c.Op), keep, retention, otherwise, rules,
		decimal(int64(min(c.Op.LongestWait/time.Microsecond, exactDouble-1))))
}

// tokens is the count of an operation as scripts get it. One beyond a double is
// more than any bucket there holds or lacks, and so is the greatest that is not;
// only what is forced would tell the difference.
func tokens(op bucket.Operation) string { return decimal(min(op.Tokens, exactDouble-1)) }

// lives is what a key lives longer than its time-to-full, and longer still if it
// is to be remembered, in microseconds.
func (b *Backend) lives(c *proxy.Charge, remember bool) (keep, retention string) {
	retention = "0"
	if remember {
		retention = decimal(c.Rule.RetentionMicros())
	}
	return decimal(c.Rule.KeepMicros() + b.clock.lead), retention
}

// run carries out calls, once more with the text of scripts that the server
// does not know (yet, after a restart, or any more).
func (b *Backend) run(ctx context.Context, calls []Call) {
	if len(calls) == 0 {
		return
	}
	b.client.Run(ctx, calls, false)
	var unknown []Call
	var asked []int
	for i := range calls {
		if isServerError(calls[i].Err, "NOSCRIPT") {
			calls[i].Err = nil
			unknown, asked = append(unknown, calls[i]), append(asked, i)
		}
	}
	if len(unknown) == 0 {
		return
	}
	b.client.Run(ctx, unknown, true)
	for j, i := range asked {
		calls[i] = unknown[j]
	}
}

// isServerError tells whether the server answered with an error of a kind.
// Proxies may put words before it.
func isServerError(err error, kind string) bool {
	return strings.Contains(own(err), kind)
}

// own is the part of an error reply that is the server's: what it quotes, such
// as a key, may say anything.
func own(err error) string {
	var reply *ServerError
	if err == nil || !errors.As(err, &reply) {
		return ""
	}
	text, _, _ := strings.Cut(reply.Text, "'")
	text, _, _ = strings.Cut(text, "`")
	return text
}

// conclude turns a script's reply into results: Go repeats what the script
// decided and so can explain it.
func (b *Backend) conclude(ctx context.Context, ds []proxy.Decision, call *Call) {
	charge := &ds[0].Charges[0]
	switch {
	case isScriptFault(call.Err):
		b.handOver(ctx, ds, nil)
		return
	case call.Err != nil:
		proxy.Fail(ds, proxy.ErrOutcomeUnknown, storeError(call, charge.Op.ReadOnly()))
		return
	}
	stored := b.clock.stored(call)
	switch {
	case call.Reply.Undone:
		b.handOver(ctx, ds, &stored)
	case charge.Op.ReadOnly():
		proxy.Resolve(ctx, store{b}, b.codec, ds, stored)
	default:
		proxy.Replay(b.codec, ds, stored)
		if ds[0].Notes&proxy.StateLost != 0 {
			b.replaceLost(ctx, ds)
		}
	}
}

// replaceLost starts a bucket anew that a script has worked on although its
// configuration is damaged in a way that only Go can tell, such as a rate that is
// not in lowest terms. The bucket is lost, so whatever has been made of it since
// goes too.
func (b *Backend) replaceLost(ctx context.Context, ds []proxy.Decision) {
	charge := &ds[0].Charges[0]
	call, _ := b.clock.call(b.clock.script("remove.lua"), charge.Key, ownBytes)
	calls := []Call{call}
	if b.run(ctx, calls); calls[0].Err != nil {
		proxy.Fail(ds, proxy.ErrOutcomeUnknown, storeError(&calls[0], false))
		return
	}
	if charge.Op.Kind != bucket.OpRemove {
		b.handOver(ctx, ds, nil)
	}
}

// isScriptFault tells that a script stumbled over what it found, such as bytes
// that are no bucket, before it wrote anything.
func isScriptFault(err error) bool {
	return strings.HasPrefix(own(err), "ERR ") && isServerError(err, "script")
}

// handOver leaves decisions on one key to compare-and-swap, from what a script
// saw or else from what is there now.
func (b *Backend) handOver(ctx context.Context, ds []proxy.Decision, seen *proxy.Stored) {
	for i := range ds {
		ds[i].Notes |= proxy.HandedOver
	}
	charge := &ds[0].Charges[0]
	if seen == nil {
		stored, err := store{b}.Load(ctx, charge.Key)
		if err != nil {
			proxy.Fail(ds, proxy.ErrUnavailable, err)
			return
		}
		seen = &stored
	}
	proxy.Resolve(ctx, store{b}, b.codec, ds, *seen)
	if ds[0].Err == nil && overruled(charge, &ds[0].Results[0]) {
		b.plans.of(charge.Config, b.clock.now != nil).overruled.Store(true)
	}
}

// overruled tells that another configuration than the declared one answered.
func overruled(c *proxy.Charge, r *bucket.Result) bool {
	return !c.Config.IsZero() && !r.Configuration.IsZero() && !r.Configuration.Equal(c.Config)
}
