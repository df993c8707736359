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

// expires is when a life that began at now ends, as the scripts say it: in
// milliseconds, an instant of the server's clock, or a time to live where the
// instant is a client's. That counts from the start of a millisecond of which
// nobody knows here how much is over, so it counts as all of it.
func (c *clock) expires(life expiration.Life, now int64) int64 {
	if c.now == nil {
		return life.Until(now) / 1000
	}
	return life.Longer(999).Millis()
}
