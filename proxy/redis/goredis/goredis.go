// Package goredis keeps buckets in Redis through go-redis v9.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	m, err := proxy.NewManager(goredis.New(client))
//
// Calls end with their context, whatever the client's socket timeouts: a call
// that is given up goes on in the background for at most one of them. A client
// that dials several times, as it does by default, may take longer than the
// manager's timeout to say why it cannot connect; the error then tells only of
// the timeout. Fewer redis.Options.DialerRetries mend that.
package goredis

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/proxy/redis"
)

// Client is what is needed of a go-redis client: *redis.Client, ClusterClient,
// Ring and every UniversalClient have it.
type Client interface {
	Process(ctx context.Context, cmd client.Cmder) error
	Pipeline() client.Pipeliner
}

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
	return redis.New(&adapter{c}, opts...)
}

type adapter struct{ client Client }

// Run runs scripts; see [redis.Client]. go-redis watches only its own socket
// timeouts, so the calls are sent by a goroutine of their own, on commands that
// nobody else sees, and left alone when the context ends.
func (a *adapter) Run(ctx context.Context, calls []redis.Call, source bool) {
	var g gate
	cmds := make([]client.Cmder, len(calls))
	for i := range calls {
		cmds[i] = command(ctx, &calls[i], source, &g)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.send(ctx, cmds)
	}()
	select {
	case <-done:
		sent := !g.shut()
		for i := range calls {
			calls[i].Reply, calls[i].Err = answer(cmds[i].(once), sent)
		}
	case <-ctx.Done():
		err := ctx.Err()
		if g.shut() {
			err = fmt.Errorf("%w: %w", redis.ErrNotSent, err)
		}
		for i := range calls {
			calls[i].Err = err
		}
	}
}

func (a *adapter) send(ctx context.Context, cmds []client.Cmder) {
	if len(cmds) == 1 {
		_ = a.client.Process(ctx, cmds[0]) // the command keeps the error
		return
	}
	p := a.client.Pipeline()
	for _, cmd := range cmds {
		_ = p.Process(ctx, cmd)
	}
	_, _ = p.Exec(ctx)
}

// once is a command that go-redis must not send again after it may have been
// carried out: a take is charged at most once.
type once struct{ *client.Cmd }

// NoRetry is asked by go-redis.
func (once) NoRetry() bool { return true }

func command(ctx context.Context, c *redis.Call, source bool, g *gate) once {
	args := make([]any, 0, 4+len(c.Args))
	if source {
		args = append(args, "eval", guarded{g, c.Script.Source}, 1, c.Key)
	} else {
		args = append(args, "evalsha", guarded{g, c.Script.SHA1}, 1, c.Key)
	}
	for _, arg := range c.Args {
		args = append(args, arg)
	}
	return once{client.NewCmd(ctx, args...)}
}

func answer(cmd once, sent bool) (redis.Reply, error) {
	v, err := cmd.Result()
	var reply client.Error
	switch {
	case err == nil:
		return redis.ParseReply(v)
	case errors.Is(err, client.Nil):
		return redis.Reply{}, redis.ErrMalformedReply // no script returns nothing
	case errors.As(err, &reply):
		return redis.Reply{}, &redis.ServerError{Text: err.Error()}
	case !sent:
		return redis.Reply{}, fmt.Errorf("%w: %w", redis.ErrNotSent, err)
	default:
		return redis.Reply{}, err
	}
}
