package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Both modes need the same commands of a server.
var needed = []string{"eval", "evalsha", "get", "set", "del", "time"}

// as connects as a user that may use some commands on some keys.
func as(t testing.TB, server *redistest.Server, keys string, commands ...string) *client.Client {
	t.Helper()
	admin := connect(t, server.URL())
	if err := admin.Do(t.Context(), user(keys, commands...)...).Err(); err != nil {
		t.Fatal(err)
	}
	return connect(t, server.URL(), func(o *client.Options) { o.Username, o.Password = "limiter", "any" })
}

// user is the command that makes one.
func user(keys string, rules ...string) []any {
	command := []any{"ACL", "SETUSER", "limiter", "reset", "on", "nopass", "~" + keys}
	for _, rule := range rules {
		command = append(command, rule)
	}
	return command
}

func allow(commands ...string) []string {
	rules := []string{"-@all"}
	for _, c := range commands {
		rules = append(rules, "+"+c)
	}
	return rules
}

func TestC75NeededCommandsAreFew(t *testing.T) {
	server := redistest.Start(t)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		prefix := redistest.Prefix(t)
		exercise(t, on.manager(t, as(t, server, prefix+"*", allow(needed...)...), prefix, mode))
	})
}

// What is missing is told, and no bucket is ever taken for drained or absent.
func TestC75MissingPermissionIsAnError(t *testing.T) {
	server := redistest.Start(t)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		for _, missing := range needed {
			t.Run(missing, func(t *testing.T) {
				forgetScripts(t, connect(t, server.URL()))
				prefix := redistest.Prefix(t)
				rdb := as(t, server, prefix+"*", append(allow(needed...), "-"+missing)...)
				m := on.manager(t, rdb, prefix, mode)
				var failed error
				for _, op := range ops {
					if err := op.do(t.Context(), m, m.Bucket("k", perHour(t, 10))); err != nil {
						failed = err
						wantStoreError(t, err, proxy.ErrUnavailable, prefix+"k")
					}
				}
				if failed == nil {
					t.Fatal("every operation works without it")
				}
				if text := strings.ToLower(failed.Error()); !strings.Contains(text, "permission") && !strings.Contains(text, "can't run") {
					t.Errorf("got %v, want the server's words", failed)
				}
			})
		}
		t.Run("key", func(t *testing.T) {
			m := on.manager(t, as(t, server, "other:*", allow(needed...)...), "mine:", mode)
			_, err := m.Bucket("k", perHour(t, 10)).Consume(t.Context(), 1)
			wantStoreError(t, err, proxy.ErrUnavailable, "mine:k")
		})
	})
}

func TestC33ClientClockNeverAsksForTime(t *testing.T) {
	server := redistest.Start(t)
	mon := watch(t, server)
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		prefix := redistest.Prefix(t)
		rdb := as(t, server, prefix+"*", append(allow(needed...), "-time")...)
		mon.seen()
		exercise(t, manage(t, on(t, rdb, mode, redis.WithClientClock(time.Now, time.Second)), prefix))
		ran := 0
		for _, c := range mon.seen() {
			if c.inScript {
				ran++
			}
			if c.name == "TIME" {
				t.Fatal("the server was asked for the time")
			}
		}
		if ran == 0 {
			t.Error("no script ran")
		}

		// With the server's clock the same user is told so.
		_, err := on.manager(t, rdb, prefix, mode).Bucket("k", perHour(t, 10)).Consume(context.Background(), 1)
		if !errors.Is(err, proxy.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

func TestC33ScriptsRunUnderBothProtocols(t *testing.T) {
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		for _, version := range []int{2, 3} {
			_, prefix := shared(t)
			rdb := connect(t, redistest.URL(t), func(o *client.Options) { o.Protocol = version })
			exercise(t, on.manager(t, rdb, prefix, mode))
		}
	})
}
