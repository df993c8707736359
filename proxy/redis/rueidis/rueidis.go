// Package rueidis keeps buckets in Redis through rueidis. The scripts, the stored
// bytes and the errors are those of package goredis: services on either client
// share buckets.
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
//	m, err := proxy.NewManager(adapter.New(client))
//
// Calls that are made at the same time share a trip by the client's automatic
// pipelining. They end with their context; one that is given up after it was sent
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
	"sync"
	"sync/atomic"
	"time"

	client "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/proxy/redis"
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
	return redis.New(&adapter{client: c}, opts...)
}

// adapter runs scripts as plain commands. Whatever its retry settings, rueidis
// sends a command again after a failure only if it is marked as retryable, as
// reading ones are and these never; so does DoMulti, in a cluster too. What a
// server redirects (MOVED, ASK) it has refused, so that it did nothing.
type adapter struct {
	client Client
	asks   atomic.Bool // an answered call has shown that the client asks its errand
}

// trip is one trip to the server.
type trip struct {
	errand
	cmds    []client.Completed
	results []client.RedisResult
	done    chan struct{}

	cmd    [1]client.Completed // most trips have one
	result [1]client.RedisResult
}

// dones are channels of trips that have ended.
var dones = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// Run runs scripts; see [redis.Client]. The calls are sent by a goroutine of
// their own, left alone when the context ends: rueidis watches a context in some
// of its waits only, neither while another call dials nor where its queue is full.
func (a *adapter) Run(ctx context.Context, calls []redis.Call, source bool) {
	t := &trip{errand: errand{Context: ctx}, done: dones.Get().(chan struct{})}
	t.cmds = t.cmd[:0]
	for i := range calls {
		t.cmds = append(t.cmds, a.command(&calls[i], source))
	}
	go t.send(a.client)
	select {
	case <-t.done:
		dones.Put(t.done)
		for i := range calls {
			calls[i].Reply, calls[i].Err = a.answer(t, &t.results[i])
		}
	case <-ctx.Done():
		err := ctx.Err()
		if t.giveUp() && a.asks.Load() {
			err = fmt.Errorf("%w: %w", redis.ErrNotSent, err)
		}
		for i := range calls {
			calls[i].Err = err
		}
	}
}

func (t *trip) send(c Client) {
	if len(t.cmds) == 1 {
		t.result[0] = c.Do(t, t.cmds[0])
		t.results = t.result[:]
	} else {
		t.results = c.DoMulti(t, t.cmds...)
	}
	t.done <- struct{}{}
}

func (a *adapter) command(c *redis.Call, source bool) client.Completed {
	if source {
		return a.client.B().Eval().Script(c.Script.Source).Numkeys(1).Key(c.Key).Arg(c.Args...).Build()
	}
	return a.client.B().Evalsha().Sha1(c.Script.SHA1).Numkeys(1).Key(c.Key).Arg(c.Args...).Build()
}

func (a *adapter) answer(t *trip, r *client.RedisResult) (redis.Reply, error) {
	err := r.NonRedisError()
	if err == nil {
		if t.wasSent() && !a.asks.Load() {
			a.asks.Store(true)
		}
		m, _ := r.ToMessage()
		return parse(&m)
	}
	var dial *net.OpError
	switch refused, ok := client.IsRedisErr(err); {
	case ok && !t.wasSent(): // the connection was, at its greeting
		return redis.Reply{}, &redis.ServerError{Text: refused.Error()}
	case a.asks.Load() && !t.wasSent(), errors.As(err, &dial) && dial.Op == "dial":
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
