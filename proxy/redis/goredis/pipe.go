package goredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/limited"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/internal/trips"
)

// pipe runs calls through a client, those that meet as one pipeline.
type pipe struct {
	client    Client
	keepsTime bool // the client ends commands at their deadline
	trips     *trips.Sharing[*passenger]
	ends      limited.Grid // of the trips of those who are alone
}

// passenger is what one caller sends.
type passenger struct {
	gate gate
	cmds []client.Cmder
	cmd  [1]client.Cmder // most have one
}

func newPipe(c Client) *pipe {
	p := &pipe{client: c}
	most := trips.NotShared
	switch c := c.(type) {
	case *client.Client:
		most, p.keepsTime = trips.ToOneServer, c.Options().ContextTimeoutEnabled
	case *client.ClusterClient:
		p.keepsTime = c.Options().ContextTimeoutEnabled
	case *client.Ring:
		p.keepsTime = c.Options().ContextTimeoutEnabled
	}
	p.trips = trips.New(most, p.send)
	return p
}

// Run runs scripts; see [redis.Client]. A trip that nobody shares is made here if the
// client can be trusted with its end, since being woken by another goroutine costs
// more than all else that a call does. Others are made by a goroutine of their own,
// on commands that nobody else sees, and left alone when the context ends.
func (p *pipe) Run(ctx context.Context, calls []redis.Call, source bool) {
	me := &passenger{}
	me.cmds = me.cmd[:0]
	for i := range calls {
		me.cmds = append(me.cmds, command(ctx, &calls[i], source, &me.gate))
	}
	t := p.trips.Enter(ctx, me)
	if t == nil && p.keepsTime && endsSoon(ctx) {
		func() {
			defer p.trips.Land() // even if a hook of the client panics
			p.exec(p.ends.Round(ctx), me.cmds)
		}()
		me.answer(ctx, calls)
		return
	}
	if t == nil {
		t = p.trips.Alone(ctx, me)
	}
	if t.Wait(ctx) {
		me.answer(ctx, calls)
	} else {
		me.leave(ctx, calls)
	}
}

// endsSoon tells whether a deadline is so near that a caller who cancels may as well
// wait for it.
func endsSoon(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= proxy.DefaultTimeout
}

// send makes a trip for those who are still there. What somebody sends who leaves
// after that, and before it is written, does nothing, see [guarded].
func (p *pipe) send(ctx context.Context, aboard []*passenger) {
	var cmds []client.Cmder
	for _, one := range aboard {
		if !one.gate.isShut() {
			cmds = append(cmds, one.cmds...)
		}
	}
	p.exec(ctx, cmds)
}

// exec sends commands, which keep their answers and errors.
func (p *pipe) exec(ctx context.Context, cmds []client.Cmder) {
	switch len(cmds) {
	case 0:
	case 1:
		_ = p.client.Process(ctx, cmds[0])
	default:
		all := p.client.Pipeline()
		_ = all.BatchProcess(ctx, cmds...)
		_, _ = all.Exec(ctx)
	}
}

// answer tells what became of the calls of a trip that is over.
func (me *passenger) answer(ctx context.Context, calls []redis.Call) {
	sent := !me.gate.shut()
	for i := range calls {
		calls[i].Reply, calls[i].Err = answer(me.cmds[i].(once), sent)
		if calls[i].Err != nil {
			calls[i].Err = inTime(ctx, calls[i].Err)
		}
	}
}

// leave gives up calls whose trip goes on.
func (me *passenger) leave(ctx context.Context, calls []redis.Call) {
	err := ctx.Err()
	if me.gate.shut() {
		err = fmt.Errorf("%w: %w", redis.ErrNotSent, err)
	}
	for i := range calls {
		calls[i].Err = err
	}
}

// inTime tells of a context that has ended in place of a socket that was given
// its deadline, and may have kept it just before.
func inTime(ctx context.Context, err error) error {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	end := ctx.Err()
	if deadline, ok := ctx.Deadline(); end == nil && ok && !time.Now().Before(deadline) {
		end = context.DeadlineExceeded
	}
	if end == nil {
		return err
	}
	return fmt.Errorf("%w: %w", end, err)
}
