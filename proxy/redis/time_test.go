package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/proxy/redis"
)

// toldTime runs scripts whose TIME answers what the test says.
type toldTime struct {
	rdb             *client.Client
	seconds, micros string
}

func (c *toldTime) Run(ctx context.Context, calls []redis.Call, _ bool) {
	const prelude = `
local server, told = redis, {ARGV[#ARGV - 1], ARGV[#ARGV]}
table.remove(ARGV)
table.remove(ARGV)
local redis = {call = function(name, ...)
	if name == 'TIME' then return told end
	return server.call(name, ...)
end}
`
	for i := range calls {
		head, body, _ := strings.Cut(calls[i].Script.Source, "\n") // the first line is the engine's
		args := []any{"EVAL", head + "\n" + prelude + body, 1, calls[i].Key}
		for _, a := range calls[i].Args {
			args = append(args, a)
		}
		v, err := c.rdb.Do(ctx, append(args, c.seconds, c.micros)...).Result()
		if err == nil {
			calls[i].Reply, err = redis.ParseReply(v)
		}
		calls[i].Err = err
	}
}

// TIME is two strings, the second without leading zeros.
func TestC34TimeIsReadAsTwoNumbers(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		rdb, prefix := shared(t)
		c := &toldTime{rdb: rdb}
		b := manage(t, redis.New(c, mode), prefix).Bucket("k", config(t, 10_000_000, bandwidth.Greedy(1, time.Microsecond)))
		left := int64(0)
		for i, step := range []struct {
			seconds, micros string
			last, gained    int64
		}{
			{"3000000000", "0", 3_000_000_000_000_000, 0},
			{"3000000000", "999", 3_000_000_000_000_999, 999},
			{"3000000000", "1000", 3_000_000_000_001_000, 1},
			{"3000000001", "5", 3_000_000_001_000_005, 999_005},
			{"3000000009", "999999", 3_000_000_009_999_999, 8_999_994},
		} {
			c.seconds, c.micros = step.seconds, step.micros
			p, err := b.ConsumeUpTo(t.Context(), 10_000_000)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && p.Tokens != step.gained {
				t.Errorf("at %s.%s: gained %d, want %d", step.seconds, step.micros, p.Tokens, step.gained)
			}
			left = p.RemainingTokens
			if got := stored(t, rdb, prefix+"k").State.Last; got != step.last {
				t.Errorf("at %s.%s: the instant stored is %d, want %d", step.seconds, step.micros, got, step.last)
			}
		}
		if left != 0 {
			t.Errorf("%d left", left)
		}

		// The short script reads it the same way.
		take(t, b, 1, false)
		c.seconds, c.micros = "3000000010", "2"
		take(t, b, 4, false)
		take(t, b, 3, true)
	})
}
