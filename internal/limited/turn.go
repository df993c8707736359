package limited

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Turn is a turn of the processor for those who have just been told something: mostly
// they ask again, and go along on the next trip if that waits for them. Where others
// keep the processors busy a turn takes long, and then none is given for a while.
type Turn struct{ skip atomic.Int64 }

const (
	tooLong = 5 * time.Millisecond // half of what a goroutine may compute at a time
	skips   = 1000
)

// Give gives up the processor.
func (t *Turn) Give() {
	if t.skip.Load() > 0 {
		t.skip.Add(-1)
		return
	}
	begun := time.Now()
	runtime.Gosched()
	if time.Since(begun) > tooLong {
		t.skip.Store(skips)
	}
}
