// Package rueidis keeps buckets in Redis through rueidis. The scripts, the stored
// bytes and the errors are those of package goredis: services on either client
// share buckets.
//
//	client, err := redis.NewClient(redis.ClientOption{InitAddress: []string{"localhost:6379"}})
//	m, err := proxy.NewManager(rueidis.New(client))
//
// Here redis is the client's package github.com/redis/rueidis under another name.
// Calls at the same time share pipelines where the client has one server, with
// Sentinel too; with several servers each has a trip of its own. They end with their context; one that is given up after it was sent
// goes on in the background until the answer, or until the client finds the
// connection dead: Dialer.KeepAlive and ConnWriteTimeout, 11 s by default.
//
// Leave ClientOption.ConnLifetime at 0. When rueidis ends a connection for its
// age and has waited a second for answers, or the connection breaks meanwhile, it
// sends again what has none, carried out or not. That charges a call twice if its
// caller still waits; by default a manager's calls have long ended by then.
package rueidis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	client "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/internal/trips"
)

// Client is what is needed of a rueidis client. Those of one server, of Sentinel
// and of a cluster have it, and what wraps them.
type Client = client.CommandClient

// Option changes what [New] makes.
type Option = redis.Option

// WithCompareAndSwap is [redis.WithCompareAndSwap]: this process decides, in one
// round trip for a refusal and two for a grant.
func WithCompareAndSwap() Option { return redis.WithCompareAndSwap() }

// WithClientClock is [redis.WithClientClock]: the time is this process's, within
// a skew that all clients of a key keep.
func WithClientClock(now func() time.Time, skew time.Duration) Option {
	return redis.WithClientClock(now, skew)
}

// WithoutCoalescing is [redis.WithoutCoalescing]: operations on one key do not
// share trips.
func WithoutCoalescing() Option { return redis.WithoutCoalescing() }

// New returns the backend that keeps buckets through a client, which stays the
// caller's. It does no I/O. A nil client is reported by proxy.NewManager.
func New(c Client, opts ...Option) *redis.Backend {
	if c == nil || reflect.ValueOf(c).Kind() == reflect.Pointer && reflect.ValueOf(c).IsNil() {
		return redis.New(nil, opts...)
	}
	return redis.New(newAdapter(c), opts...)
}

// adapter runs scripts as plain commands, those that meet as one pipeline. Whatever
// its retry settings, rueidis sends a command again after a failure only if it is
// marked as retryable, as reading ones are and these never; so does DoMulti, in a
// cluster too. What a server redirects (MOVED, ASK) it has refused, so that it did
// nothing.
type adapter struct {
	client Client
	trips  *trips.Sharing[*passenger]
	asks   atomic.Bool // an answered call has shown that the client asks its errand
}

func newAdapter(c Client) *adapter {
	a := &adapter{client: c}
	most := trips.NotShared
	if one, ok := c.(interface{ Mode() client.ClientMode }); ok && one.Mode() != client.ClientModeCluster {
		most = trips.ToOneServer
	}
	a.trips = trips.New(most, a.send)
	return a
}

// passenger is what one caller sends.
type passenger struct {
	cmds    []client.Completed
	results []client.RedisResult
	errand  *errand
	left    atomic.Int32 // of waiting, sent and givenUp

	own    errand // of who goes alone, and most have one call
	cmd    [1]client.Completed
	result [1]client.RedisResult
}

// Run runs scripts; see [redis.Client]. Trips are made by goroutines of their own and
// left alone when the context ends: rueidis watches a context in some of its waits
// only, neither while another call dials nor where its queue is full.
func (a *adapter) Run(ctx context.Context, calls []redis.Call, source bool) {
	me := &passenger{}
	me.cmds = me.cmd[:0]
	for i := range calls {
		me.cmds = append(me.cmds, a.command(&calls[i], source))
	}
	t := a.trips.Enter(ctx, me)
	if t == nil {
		t = a.trips.Alone(ctx, me)
	}
	if t.Wait(ctx) {
		for i := range calls {
			calls[i].Reply, calls[i].Err = a.answer(me, i)
		}
		return
	}
	err := ctx.Err()
	if a.leave(me) {
		err = fmt.Errorf("%w: %w", redis.ErrNotSent, err)
	}
	for i := range calls {
		calls[i].Err = err
	}
}

// leave gives up calls; true if they surely were not sent and never will be. Those
// who share the errand are kept back with them and go again.
func (a *adapter) leave(me *passenger) bool {
	if me.left.Swap(givenUp) == waiting {
		return true
	}
	trusted := a.asks.Load()
	return (trusted || me.errand == &me.own) && me.errand.giveUp() && trusted
}

// send makes a trip for those who are still there. It is made again as long as
// one of them, leaving, keeps it back before it is sent.
func (a *adapter) send(ctx context.Context, aboard []*passenger) {
	e := &aboard[0].own
	if len(aboard) > 1 {
		e = &errand{}
	}
	e.Context = ctx
	for _, one := range aboard {
		one.errand = e
		one.left.CompareAndSwap(waiting, sent)
	}
	for again := true; again; {
		aboard = slices.DeleteFunc(aboard, func(one *passenger) bool { return one.left.Load() == givenUp })
		if len(aboard) == 0 {
			return
		}
		a.do(e, aboard)
		again = a.asks.Load() && e.again()
	}
}

func (a *adapter) do(e *errand, aboard []*passenger) {
	if one := aboard[0]; len(aboard) == 1 && len(one.cmds) == 1 {
		one.result[0] = a.client.Do(e, one.cmds[0])
		one.results = one.result[:]
		return
	}
	var cmds []client.Completed
	for _, one := range aboard {
		cmds = append(cmds, one.cmds...)
	}
	results := a.client.DoMulti(e, cmds...)
	for _, one := range aboard {
		one.results, results = results[:len(one.cmds)], results[len(one.cmds):]
	}
}

func (a *adapter) command(c *redis.Call, source bool) client.Completed {
	if source {
		return a.client.B().Eval().Script(c.Script.Source).Numkeys(1).Key(c.Key).Arg(c.Args...).Build()
	}
	return a.client.B().Evalsha().Sha1(c.Script.SHA1).Numkeys(1).Key(c.Key).Arg(c.Args...).Build()
}

func (a *adapter) answer(me *passenger, i int) (redis.Reply, error) {
	r, e := &me.results[i], me.errand
	err := r.NonRedisError()
	if err == nil {
		if e.wasSent() && !a.asks.Load() {
			a.asks.Store(true)
		}
		m, _ := r.ToMessage()
		return parse(&m)
	}
	var dial *net.OpError
	switch refused, ok := client.IsRedisErr(err); {
	case ok && !e.wasSent(): // the connection was, at its greeting
		return redis.Reply{}, &redis.ServerError{Text: refused.Error()}
	case a.asks.Load() && !e.wasSent(), errors.As(err, &dial) && dial.Op == "dial":
		return redis.Reply{}, fmt.Errorf("%w: %w", redis.ErrNotSent, err)
	default:
		return redis.Reply{}, err
	}
}

// parse is [redis.ParseReply] without a detour through interfaces.
func parse(m *client.RedisMessage) (redis.Reply, error) {
	list, err := m.ToArray()
	if _, ok := client.IsRedisErr(err); ok {
		text, _ := m.ToString() // as sent: the error has lost its ERR
		return redis.Reply{}, &redis.ServerError{Text: text}
	}
	if len(list) < 2 || len(list) > 3 || !list[0].IsInt64() || !list[1].IsNil() && !list[1].IsString() {
		return redis.Reply{}, fmt.Errorf("%w: %d values", redis.ErrMalformedReply, len(list))
	}
	var r redis.Reply
	r.Now, _ = list[0].ToInt64()
	if len(list) == 3 {
		done, err := list[2].AsInt64()
		if err != nil {
			return redis.Reply{}, fmt.Errorf("%w: %w", redis.ErrMalformedReply, err)
		}
		r.Done = redis.Done(done)
	}
	if list[1].IsString() {
		if r.Bytes, _ = list[1].AsBytes(); r.Bytes == nil {
			r.Bytes = []byte{} // there, but empty
		}
	}
	return r, nil
}
