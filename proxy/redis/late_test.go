package redis_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// late holds back the reply to a script call.
type late struct {
	mu    sync.Mutex
	until int // the calls until the one to be late; 0: none
	by    time.Duration
	calls int
	due   time.Duration // of the next reply
}

// delay makes the reply to the n-th call from now late.
func (l *late) delay(n int, by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.by, l.calls = n, by, 0
}

// sent is how many script calls went to the server since delay.
func (l *late) sent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func (l *late) meddler() meddler {
	return meddler{
		request: func(b []byte) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			n := bytes.Count(bytes.ToLower(b), []byte("\r\neval")) // also evalsha
			l.calls += n
			if l.until > 0 && n > 0 {
				if l.until -= n; l.until <= 0 {
					l.until, l.due = 0, l.by
				}
			}
			return true
		},
		reply: func([]byte) bool {
			l.mu.Lock()
			due := l.due
			l.due = 0
			l.mu.Unlock()
			time.Sleep(due)
			return true
		},
	}
}

// socketTimeout is the client's, far above what a sound reply takes on a busy
// machine.
const socketTimeout = 400 * time.Millisecond

// go-redis by itself would send a call again whose reply is late.
func TestLateReplyIsChargedOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		direct, prefix := shared(t)
		late := new(late)
		rdb := connect(t, through(t, redistest.URL(t), late.meddler()), func(o *client.Options) {
			o.ReadTimeout = socketTimeout
		})
		writes := 1 // the script call that writes
		if mode != nil {
			writes = 2
		}
		limit := perHour(t, 10)
		b := on(t, rdb, mode)
		charges := func(keys int) (cs []proxy.Charge) {
			for i := range keys {
				cs = append(cs, proxy.Charge{
					Key:     fmt.Sprintf("%s%d", prefix, i),
					Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
				})
			}
			return cs
		}
		for _, d := range decide(t, b, charges(3)...) {
			if d.Err != nil {
				t.Fatal(d.Err)
			}
		}
		plain := on.manager(t, direct, prefix, mode)
		gone := func(key int) int64 {
			p, err := plain.Bucket(fmt.Sprint(key), limit).Estimate(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			return 9 - p.RemainingTokens
		}

		t.Run("single", func(t *testing.T) {
			late.delay(writes, 2*socketTimeout)
			d := decide(t, b, charges(1)...)[0]
			wantStoreError(t, d.Err, proxy.ErrOutcomeUnknown, prefix+"0")
			time.Sleep(2 * socketTimeout) // for anything sent again
			if n := gone(0); n > 1 {
				t.Errorf("%d tokens are gone, want 1", n)
			}
			if n := late.sent(); n != writes {
				t.Errorf("%d calls were sent, want %d", n, writes)
			}
		})
		t.Run("batch", func(t *testing.T) {
			was := []int64{gone(0), gone(1), gone(2)}
			late.delay(writes, 2*socketTimeout)
			ds := decide(t, b, charges(3)...)
			time.Sleep(2 * socketTimeout)
			for i, d := range ds {
				n := gone(i) - was[i]
				switch {
				case mode == nil || i == 0: // one trip for all
					wantStoreError(t, d.Err, proxy.ErrOutcomeUnknown, prefix+fmt.Sprint(i))
					if n > 1 {
						t.Errorf("key %d: %d tokens are gone, want 1 at most", i, n)
					}
				case d.Err != nil || n != 1:
					t.Errorf("key %d: %d tokens are gone, %v; want one", i, n, d.Err)
				}
			}
		})
	})
}

// A load whose answer is late did nothing, so that the caller knows the outcome.
func TestLateLoadIsNotUnknown(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			lateLoadIsNotUnknown(t, l.on)
		})
	}
}

func lateLoadIsNotUnknown(t *testing.T, on library) {
	_, prefix := shared(t)
	late := new(late)
	rdb := connect(t, through(t, redistest.URL(t), late.meddler()), func(o *client.Options) {
		o.ReadTimeout = socketTimeout
	})
	b := on.manager(t, rdb, prefix, redis.WithCompareAndSwap()).Bucket("k", perHour(t, 10))
	take(t, b, 1, true)
	late.delay(1, 2*socketTimeout)
	_, err := b.Consume(t.Context(), 1)
	wantStoreError(t, err, proxy.ErrUnavailable, prefix+"k")
	wantAvailable(t, b, 9)
}
