package redis

import (
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
)

// clock is the server's, or this process's with the skew that is allowed for.
type clock struct {
	now  func() time.Time // nil: the server's
	lead int64            // the skew in microseconds; 0 for the server's
}

// call is a call of a script, which gets the instant as its last arguments
// unless the server's clock rules. It is false where the instant is too large
// for a script to reckon with.
func (c *clock) call(s *Script, key string, args ...string) (call Call, ok bool) {
	call = Call{Script: s, Key: key, Args: args}
	if c.now == nil {
		return call, true
	}
	now := c.now().UnixMicro()
	call.Now = &now
	call.Args = append(args, decimal(now), decimal(c.lead))
	return call, now > -latestInstant && now < latestInstant
}

func (c *clock) script(file string) *Script {
	return shape{file: file, clientClock: c.now != nil}.script()
}

// stored is what a script saw. A client's instant is taken from the call: a
// script's numbers might round it.
func (c *clock) stored(call *Call) proxy.Stored {
	now := call.Reply.Now
	if call.Now != nil {
		now = *call.Now
	}
	return proxy.Stored{Bytes: call.Reply.Bytes, At: bucket.Moment{Now: now, Tick: bucket.Microsecond, Lead: c.lead}}
}

// millis is a time to live as Redis counts it: from the start of the current
// millisecond of the server's clock. How much of that is over is not known from
// a client's clock, so it counts as all of it.
func (c *clock) millis(life expiration.Life, now int64) int64 {
	if c.now == nil {
		return life.Millis(now)
	}
	return life.Longer(999).Millis(0)
}
