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

// args are the last arguments of every script: none for the server's clock. It
// is false where the instant is too large for a script to reckon with.
func (c *clock) args() (args []string, ok bool) {
	if c.now == nil {
		return nil, true
	}
	const most = exactDouble / 4
	now := c.now().UnixMicro()
	return []string{decimal(now), decimal(c.lead)}, now > -most && now < most && c.lead < most
}

func (c *clock) script(file string) *Script {
	return shape{file: file, clientClock: c.now != nil}.script()
}

// stored is what a script saw.
func (c *clock) stored(r *Reply) proxy.Stored {
	return proxy.Stored{Bytes: r.Bytes, At: bucket.Moment{Now: r.Now, Tick: bucket.Microsecond, Lead: c.lead}}
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
