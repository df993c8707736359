package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func TestC67ServerErrorsAreTypedAndKeepTheirText(t *testing.T) {
	server := newImpostor(t)
	rdb := connect(t, server.url)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		m := on.manager(t, rdb, "p:", mode)
		b := m.Bucket("k", perHour(t, 10))
		for _, text := range []string{
			"MOVED 3999 127.0.0.1:6381",
			"ASK 3999 127.0.0.1:6381",
			"CLUSTERDOWN Hash slot not served",
			"TRYAGAIN Multiple keys request during rehashing of slot",
			"CROSSSLOT Keys in request don't hash to the same slot",
			"LOADING Redis is loading the dataset in memory",
			"OOM command not allowed when used memory > 'maxmemory'.",
			"NOPERM this user has no permissions to run the 'evalsha' command",
			"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
			"NOAUTH Authentication required.",
			"READONLY You can't write against a read only replica.",
			"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
			"NOREPLICAS Not enough good replicas to write.",
			"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
			"NOSCRIPT No matching script.",
			"ERR unknown command 'evalsha'",
			"ERR max number of clients reached",
			"ERR Error running script (call to f_0123): @user_script:1: out of luck",
			"ERR",
			"nonsense",
		} {
			server.answer("-" + text)
			for _, op := range ops {
				err := op.do(t.Context(), m, b)
				if err == nil {
					t.Fatalf("%s, %s: no error", text, op.name)
				}
				var store *proxy.StoreError
				switch {
				case !errors.As(err, &store) || !errors.Is(err, proxy.ErrUnavailable):
					t.Errorf("%s, %s: got %v, want a StoreError that the store is unavailable", text, op.name, err)
				case !strings.Contains(err.Error(), text):
					t.Errorf("%s, %s: the text is lost: %v", text, op.name, err)
				case store.Key != "p:k":
					t.Errorf("%s, %s: the key is %q", text, op.name, store.Key)
				}
			}
		}
	})
}

// What no script of ours answers says nothing of what the server did.
func TestMalformedRepliesAreErrors(t *testing.T) {
	server := newImpostor(t)
	rdb := connect(t, server.url)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		m := on.manager(t, rdb, "p:", mode)
		b := m.Bucket("k", perHour(t, 10))
		for _, reply := range []string{
			"$-1", "*-1", "+OK", ":1", ":-1", "$5\r\nhello", "*0", "*1\r\n:1", "*4\r\n:1\r\n$-1\r\n:1\r\n:1",
			"*2\r\n$1\r\n1\r\n$-1", "*2\r\n$-1\r\n$-1", "*2\r\n:1\r\n:1", "*2\r\n:1\r\n*0", "*2\r\n:1\r\n-ERR no", "*2\r\n*0\r\n$-1",
			"_", "#t", ",1.5", "%0", "*2\r\n:1\r\n,1.5",
		} {
			server.answer(reply)
			for _, op := range ops {
				err := op.do(t.Context(), m, b)
				kind := proxy.ErrOutcomeUnknown
				if op.reads || mode != nil {
					kind = proxy.ErrUnavailable
				}
				wantStoreError(t, err, kind, "p:k")
				if !errors.Is(err, redis.ErrMalformedReply) {
					t.Errorf("%q, %s: got %v, want that to be an ErrMalformedReply", reply, op.name, err)
				}
			}
		}
	})
}

// Broken lines of the protocol are no answers either.
func TestBrokenProtocolIsAnError(t *testing.T) {
	server := newImpostor(t)
	rdb := connect(t, server.url)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		m := on.manager(t, rdb, "p:", mode, proxy.WithTimeout(time.Second))
		for _, reply := range []string{"", "HTTP/1.1 400 Bad Request", "*2", "*2\r\n:one\r\n$-1", "\x00\x01\x02"} {
			server.answer(reply)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := m.Bucket("k", perHour(t, 10)).Consume(ctx, 1)
			cancel()
			kind := proxy.ErrOutcomeUnknown
			if mode != nil {
				kind = proxy.ErrUnavailable
			}
			wantStoreError(t, err, kind, "p:k")
		}
	})
}

// With rueidis such a length ends the process, on a goroutine of its own.
func TestAbsurdLengthIsAnError(t *testing.T) {
	server := newImpostor(t)
	server.answer("$99999999999999999999\r\n")
	_, err := onClient(t, connect(t, server.url), "p:", nil).Bucket("k", perHour(t, 10)).Consume(t.Context(), 1)
	wantStoreError(t, err, proxy.ErrOutcomeUnknown, "p:k")
}

// Replies that have the right form and a strange instant or state.
func TestStrangeInstantsDoNotPanic(t *testing.T) {
	server := newImpostor(t)
	rdb := connect(t, server.url)
	state := string(bytesOf(t, 10, 3))
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		m := on.manager(t, rdb, "p:", mode)
		for _, now := range []int64{0, -1, math.MinInt64, math.MaxInt64, 1 << 53} {
			for _, bytes := range []string{"$-1", fmt.Sprintf("$%d\r\n%s", len(state), state)} {
				server.answer(fmt.Sprintf("*2\r\n:%d\r\n%s", now, bytes))
				for _, op := range ops {
					if err := op.do(t.Context(), m, m.Bucket("k", perHour(t, 10))); err != nil {
						t.Errorf("at %d, %s: %v", now, op.name, err)
					}
				}
			}
		}
	})
}

// A server that always says that somebody else was faster.
func TestEndlessContentionEndsInTime(t *testing.T) {
	server := newImpostor(t)
	server.answer("*3\r\n:1700000000000000\r\n$-1\r\n:1")
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		m := on.manager(t, connect(t, server.url), "p:", mode, proxy.WithTimeout(100*time.Millisecond))
		begun := time.Now()
		_, err := m.Bucket("k", perHour(t, 10)).Consume(t.Context(), 1)
		// The last try may have been sent by then, or not.
		wantStoreErrorOneOf(t, err, "p:k", proxy.ErrContended, proxy.ErrOutcomeUnknown)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that to be a DeadlineExceeded", err)
		}
		if took := time.Since(begun); took > inTime {
			t.Errorf("ended after %v", took)
		}
	})
}

func wantStoreErrorOneOf(t testing.TB, err error, key string, kinds ...error) {
	t.Helper()
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			wantStoreError(t, err, kind, key)
			return
		}
	}
	t.Fatalf("got %v, want one of %v", err, kinds)
}

// bytesOf is the stored form of a bucket that refills by the hour.
func bytesOf(t testing.TB, capacity, tokens int64) []byte {
	t.Helper()
	return encoded(bucket.Entry{
		Config: config(t, capacity, bandwidth.Greedy(1, time.Hour)),
		State:  bucket.State{Last: 1_700_000_000_000_000, Levels: [8]bucket.Level{{Tokens: tokens}}},
	})
}
