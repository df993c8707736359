// Package goredis keeps buckets in Redis through go-redis v9.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true, DialerRetries: 1})
//	m, err := proxy.NewManager(goredis.New(client))
//
// Calls at the same time share pipelines where the client has one server, as a
// *redis.Client does, also with Sentinel. With several servers each has a trip of
// its own, so that a server in trouble holds up nobody else's.
//
// Set redis.Options.ContextTimeoutEnabled: the client then keeps deadlines itself,
// and a call that goes alone needs no second goroutine, which is what costs most of
// its time. In return a context that is cancelled, and whose deadline is not more
// than 250 ms away, ends the call only then. Without that option calls end with
// their context too, whatever the client's socket timeouts. Either way what has been
// sent may be carried out afterwards.
//
// A client that dials several times, as it does by default, may take longer than the
// manager's timeout to say why it cannot connect; the error then tells only of the
// timeout. Fewer redis.Options.DialerRetries mend that.
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
	return redis.New(newPipe(c), opts...)
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
	if err == nil {
		return redis.ParseReply(v)
	}
	var reply client.Error
	switch {
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
