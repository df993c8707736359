package bucket

import (
	"math"
	"time"
)

// clock tells nanoseconds since the Unix epoch. It keeps [time.Since] itself and
// not a function around it, since one more call would be felt in a take.
type clock struct {
	since func(time.Time) time.Duration
	epoch time.Time // the Unix epoch as it was on that clock
}

// monotonic is the clock of this process: it goes on whatever happens to the wall
// clock.
func monotonic() clock {
	now := time.Now()
	return clock{since: time.Since, epoch: now.Add(-time.Duration(now.UnixNano()))}
}

// counting is a clock whose instants a function tells.
func counting(now func() int64) clock {
	return clock{since: func(time.Time) time.Duration { return time.Duration(now()) }}
}

func (c *clock) now() int64 { return int64(c.since(c.epoch)) }

// nanos is UnixNano, saturating.
func nanos(t time.Time) int64 {
	switch {
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	}
	return t.UnixNano()
}
