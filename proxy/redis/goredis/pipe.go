package goredis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// mostTrips is how many trips to one server are under way at a time. Few make
// pipelines long where processors are what is short; many keep those who come from
// waiting where the network is slow.
const mostTrips = 8

// pipe runs calls through a client. Up to so many trips go at once; those who come
// meanwhile gather, whatever their keys, and the next trip takes them all along as
// one pipeline. Nobody waits for company.
type pipe struct {
	client    Client
	most      int  // trips at once
	keepsTime bool // the client ends commands at their deadline
	mu        sync.Mutex
	flying    int
	next      *batch // who gathers; nil: nobody
}

func newPipe(c Client) *pipe {
	p := &pipe{client: c, most: math.MaxInt} // with several servers one in trouble would hold up the others
	switch c := c.(type) {
	case *client.Client:
		p.most, p.keepsTime = mostTrips, c.Options().ContextTimeoutEnabled
	case *client.ClusterClient:
		p.keepsTime = c.Options().ContextTimeoutEnabled
	case *client.Ring:
		p.keepsTime = c.Options().ContextTimeoutEnabled
	}
	return p
}

// batch is the calls of several callers that go together.
type batch struct {
	passengers []*passenger
	origin     context.Context // the first caller's, for its values
	latest     time.Time       // the latest deadline
	unbounded  bool            // somebody has none
	done       chan struct{}
}

// passenger is what one caller sends.
type passenger struct {
	gate gate
	cmds []client.Cmder
}

// Run runs scripts; see [redis.Client]. A trip that nobody shares is made here if the
// client can be trusted with its end, since being woken by another goroutine costs
// more than all else that a call does. Others are made by a goroutine of their own,
// on commands that nobody else sees, and left alone when the context ends.
func (p *pipe) Run(ctx context.Context, calls []redis.Call, source bool) {
	me := &passenger{cmds: make([]client.Cmder, len(calls))}
	for i := range calls {
		me.cmds[i] = command(ctx, &calls[i], source, &me.gate)
	}
	b := p.enter(ctx, me)
	if b == nil && p.keepsTime && endsSoon(ctx) {
		send(ctx, p.client, me.cmds)
		p.land()
		me.answer(ctx, calls)
		return
	}
	if b == nil {
		b = newBatch(ctx)
		b.add(ctx, me)
		go p.fly(b)
	}
	select {
	case <-b.done:
		me.answer(ctx, calls)
	case <-ctx.Done():
		me.leave(ctx, calls)
	}
}

// endsSoon tells whether a deadline is so near that a caller who cancels may as well
// wait for it.
func endsSoon(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= proxy.DefaultTimeout
}

// enter begins a trip, or joins those who gather for the next.
func (p *pipe) enter(ctx context.Context, me *passenger) *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flying < p.most {
		p.flying++
		return nil
	}
	if p.next == nil {
		p.next = newBatch(ctx)
	}
	p.next.add(ctx, me)
	return p.next
}

func newBatch(ctx context.Context) *batch {
	return &batch{origin: context.WithoutCancel(ctx), done: make(chan struct{})}
}

func (b *batch) add(ctx context.Context, one *passenger) {
	b.passengers = append(b.passengers, one)
	if deadline, ok := ctx.Deadline(); !ok {
		b.unbounded = true
	} else if deadline.After(b.latest) {
		b.latest = deadline
	}
}

// land ends a trip and sends those who have gathered on theirs, on a goroutine
// of their own, since whose trip this was is on the way back to its caller.
func (p *pipe) land() {
	p.mu.Lock()
	b := p.next
	p.next = nil
	if b == nil {
		p.flying--
	}
	p.mu.Unlock()
	if b != nil {
		go p.fly(b)
	}
}

// fly carries out a shared trip. The next begins before the many here are told.
func (p *pipe) fly(b *batch) {
	defer close(b.done)
	defer p.land()
	ctx, cancel := b.context()
	defer cancel()
	if cmds := b.board(); len(cmds) > 0 {
		send(ctx, p.client, cmds)
	}
}

// board lists the commands of those who are still there. What somebody sends who
// leaves after that, and before it is written, does nothing, see [guarded].
func (b *batch) board() (cmds []client.Cmder) {
	for _, one := range b.passengers {
		if !one.gate.isShut() {
			cmds = append(cmds, one.cmds...)
		}
	}
	return cmds
}

func (b *batch) context() (context.Context, context.CancelFunc) {
	if b.unbounded {
		return context.WithCancel(b.origin)
	}
	return context.WithDeadline(b.origin, b.latest)
}

// answer tells what became of the calls of a trip that is over.
func (me *passenger) answer(ctx context.Context, calls []redis.Call) {
	sent := !me.gate.shut()
	for i := range calls {
		calls[i].Reply, calls[i].Err = answer(me.cmds[i].(once), sent)
		calls[i].Err = inTime(ctx, calls[i].Err)
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
