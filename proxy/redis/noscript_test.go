package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

func forgetScripts(t testing.TB, rdb *client.Client) {
	t.Helper()
	if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestC15ForgottenScriptsAreSentAgain(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		prefix := redistest.Prefix(t)
		m := on.manager(t, rdb, prefix, mode)
		limit := perHour(t, 10)
		b := m.Bucket("k", limit)
		take(t, b, 1, true)
		forgetScripts(t, rdb)
		if p := take(t, b, 1, true); p.RemainingTokens != 8 {
			t.Errorf("%d tokens left, want 8", p.RemainingTokens)
		}
		for _, op := range ops {
			forgetScripts(t, rdb)
			if err := op.do(t.Context(), m, b); err != nil {
				t.Errorf("%s: %v", op.name, err)
			}
		}

		// One pipeline of three keys.
		forgetScripts(t, rdb)
		backend := on(t, rdb, mode)
		var charges []proxy.Charge
		for i := range 3 {
			charges = append(charges, proxy.Charge{
				Key:     fmt.Sprintf("%s%d", prefix, i),
				Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: int64(i + 1)}},
			})
		}
		for i, d := range decide(t, backend, charges...) {
			if d.Err != nil || !d.Results[0].Consumed || d.Results[0].RemainingTokens != int64(9-i) {
				t.Errorf("key %d: consumed %t, %d left, %v; want %d left",
					i, d.Results[0].Consumed, d.Results[0].RemainingTokens, d.Err, 9-i)
			}
			wantAvailable(t, m.Bucket(fmt.Sprint(i), limit), int64(9-i))
		}
	})
}

func TestC15RestartsAreSurvived(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		rdb := connect(t, server.URL())
		const capacity, restarts = 1 << 40, 4
		b := on.manager(t, rdb, "", mode, proxy.WithTimeout(time.Second)).Bucket("k", perHour(t, capacity))

		stop, ended := make(chan struct{}), make(chan struct{})
		var served, unknown, failed int64
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
				}
				ok, err := b.TryConsume(t.Context(), 1)
				switch {
				case ok:
					served++
				case err == nil:
					t.Error("a take was refused")
				case strings.Contains(err.Error(), "NOSCRIPT"):
					t.Errorf("the caller sees %v", err)
				case errors.Is(err, proxy.ErrOutcomeUnknown):
					unknown++
				default:
					wantKind(t, err, proxy.ErrUnavailable)
					failed++
				}
			}
		}()
		for range restarts {
			time.Sleep(100 * time.Millisecond)
			server.Restart()
		}
		time.Sleep(100 * time.Millisecond)
		close(stop)
		<-ended

		left, err := b.Available(t.Context())
		if err != nil {
			t.Fatalf("after the last restart: %v", err)
		}
		gone := capacity - left
		t.Logf("%d served, %d unknown, %d not carried out, %d tokens gone", served, unknown, failed, gone)
		if gone < served || gone > served+unknown {
			t.Errorf("%d tokens are gone, want between %d served and %d more that are unknown", gone, served, unknown)
		}
		if served == 0 {
			t.Error("nothing was served")
		}
	})
}

// wantKind is for goroutines other than the test's.
func wantKind(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
}
