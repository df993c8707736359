package redis

import (
	"context"
	"errors"
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
	finish := func() {
		b.run(ctx, calls)
		for j := range calls {
			b.conclude(ctx, asked[j], &calls[j])
		}
		calls, asked = calls[:0], asked[:0]
	}
	for group := range proxy.Groups(ds) {
		for len(group) > 0 {
			n := b.together(group)
			if call, ok := b.call(group[:n]); ok {
				calls, asked = append(calls, call), append(asked, group[:n])
			} else {
				finish() // what came before it comes before it
				b.handOver(ctx, group[:n], nil)
			}
			group = group[n:]
		}
	}
	finish()
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
	case call.Reply.Done == Undone:
		b.handOver(ctx, ds, &stored)
	case charge.Op.ReadOnly():
		proxy.Resolve(ctx, store{b}, b.codec, ds, stored)
	default:
		after := proxy.Replay(b.codec, ds, stored)
		if wrote := call.Reply.Done == Wrote; wrote != (after.Change != bucket.Keep) || wrote && ds[0].Notes&proxy.StateLost != 0 && charge.Op.Kind != bucket.OpRemove {
			// The script has worked on what only Go can tell to be damaged, such as a
			// rate that is not in lowest terms, or refused by numbers that it rounded.
			b.handOver(ctx, ds, nil)
		}
	}
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
