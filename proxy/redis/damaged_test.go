package redis_test

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
)

func supply(c bucket.Configuration) func(context.Context) (bucket.Configuration, error) {
	return func(context.Context) (bucket.Configuration, error) { return c, nil }
}

// damaged are values that begin as ours do and are no bucket. The configuration
// is 10 tokens, one in half a second: den is 500,000.
func damaged(c bucket.Configuration) map[string]string {
	prefix := codec.Prefix(c)
	whole := string(codec.MessagePack{}.Append(nil, bucket.Entry{
		Config: c, State: bucket.State{Last: 1_700_000_000_000_000, Levels: [8]bucket.Level{{Tokens: 4, Rem: 7}}},
	}))
	last := whole[len(prefix) : len(whole)-2] // nine bytes; one each for tokens and remainder follow
	float := func(f float64) string {
		return "\xcb" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
	}
	return map[string]string{
		"empty":                        "",
		"magic alone":                  "\xc1",
		"format alone":                 "\xc1\x01",
		"no state":                     prefix,
		"cut in the instant":           whole[:len(prefix)+4],
		"without tokens":               prefix + last,
		"without remainder":            whole[:len(whole)-1],
		"remainder of a whole token":   prefix + last + "\x04\xce\x00\x07\xa1\x20",
		"negative remainder":           prefix + last + "\x04\xff",
		"tokens as a fraction":         prefix + last + float(4.5) + "\x07",
		"tokens not a number":          prefix + last + float(math.NaN()) + "\x07",
		"tokens endless":               prefix + last + float(math.Inf(1)) + "\x07",
		"tokens as text":               prefix + last + "\xa14\x07",
		"instant as text":              prefix + "\xa19" + "\x04\x07",
		"tokens nil":                   prefix + last + "\xc0\x07",
		"tokens true":                  prefix + last + "\xc3\x07",
		"a value too many":             whole + "\x01",
		"nil at the end":               whole + "\xc0",
		"nil and more at the end":      whole + "\xc0\x05",
		"garbage at the end":           whole + "\xc1\xc1",
		"a whole bucket twice":         whole + whole,
		"a map in place of the rest":   prefix + "\x81\x01\x02",
		"much garbage":                 prefix + strings.Repeat("\x01", 100_000),
		"no bandwidths":                "\xc1\x01\x00" + last,
		"more bandwidths than allowed": "\xc1\x01\x7f" + last + "\x04\x07",
		"a capacity of zero":           "\xc1\x01\x01\x00\x01\x02" + last + "\x00\x00",
		"another configuration, cut":   "\xc1\x01\x01\x05\x01",
		"rate not in lowest terms":     "\xc1\x01\x01\x05\x02\x04" + last + "\x04\x01",
	}
}

func TestC35DamagedStateIsReplaced(t *testing.T) {
	limit := config(t, 10, bandwidth.Greedy(2, time.Second))
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		for name, value := range damaged(limit) {
			t.Run(name, func(t *testing.T) {
				key := prefix + name
				heard := new(ear)
				m := on.manager(t, rdb, prefix, mode, proxy.WithObserver(heard))
				b := m.Bucket(name, limit)
				put := func() {
					t.Helper()
					if err := rdb.Set(t.Context(), key, value, time.Minute).Err(); err != nil {
						t.Fatal(err)
					}
					heard.forget()
				}
				lost := func(what string) {
					t.Helper()
					if n := heard.count(proxy.BucketLost); n != 1 {
						t.Errorf("%s: the observer heard of %d lost buckets, want 1", what, n)
					}
				}

				put()
				if p := take(t, b, 1, true); p.RemainingTokens != 9 {
					t.Errorf("take: %d left, want 9", p.RemainingTokens)
				}
				lost("take")
				if got := stored(t, rdb, key).State.Levels[0].Tokens; got != 9 {
					t.Errorf("take: %d stored, want 9", got)
				}

				put()
				if p, err := b.ConsumeUpTo(t.Context(), 3); err != nil || p.Tokens != 3 || p.RemainingTokens != 7 {
					t.Errorf("upto: took %d, %d left, %v; want 3 and 7", p.Tokens, p.RemainingTokens, err)
				}
				lost("upto")
				if got := stored(t, rdb, key).State.Levels[0].Tokens; got != 7 {
					t.Errorf("upto: %d stored, want 7", got)
				}

				put()
				take(t, b, 11, false)
				lost("refused take")
				wantAbsent(t, rdb, key)

				put()
				if n, err := b.Add(t.Context(), 1); err != nil || n != 10 {
					t.Errorf("add: %d, %v; want 10", n, err)
				}
				lost("add")
				wantAbsent(t, rdb, key)

				put()
				if err := b.Reset(t.Context()); err != nil {
					t.Errorf("reset: %v", err)
				}
				lost("reset")
				wantAbsent(t, rdb, key)

				put()
				if _, err := m.Remove(t.Context(), name); err != nil {
					t.Errorf("remove: %v", err)
				}
				lost("remove")
				wantAbsent(t, rdb, key)

				put()
				if s, err := b.Inspect(t.Context()); err != nil || s.Stored || s.RemainingTokens != 10 {
					t.Errorf("inspect: stored %t, %d left, %v; want a new bucket", s.Stored, s.RemainingTokens, err)
				}
				if now := rdb.Get(t.Context(), key).Val(); now != value {
					t.Error("inspect changed what is there")
				}

				put()
				if p := take(t, m.BucketFunc(name, supply(limit)), 1, true); p.RemainingTokens != 9 {
					t.Errorf("take from a supplied bucket: %d left, want 9", p.RemainingTokens)
				}
			})
		}
	})
}

// Numbers in another form than the shortest are what they say, for scripts and
// for Go alike.
func TestNumbersInOtherForms(t *testing.T) {
	limit := config(t, 10, bandwidth.Greedy(1, 24*time.Hour))
	float := func(f float64) string {
		return "\xcb" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
	}
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		rdb, prefix := shared(t)
		m := on.manager(t, rdb, prefix, mode)
		now := rdb.Time(t.Context()).Val().UnixMicro()
		last := "\xcf" + string(binary.BigEndian.AppendUint64(nil, uint64(now)))
		for _, tt := range []struct {
			name, state string
			left        int64 // of what was stored, after a take of one
			granted     bool
		}{
			{"as written", last + "\x04\x07", 3, true},
			{"tokens in two bytes", last + "\xcd\x00\x04\x07", 3, true},
			{"tokens in eight signed bytes", last + "\xd3" + strings.Repeat("\x00", 7) + "\x04\x07", 3, true},
			{"tokens as a float", last + float(4) + "\x07", 3, true},
			{"tokens as a short float", last + "\xca\x40\x80\x00\x00\x07", 3, true},
			{"remainder as a float", last + "\x04" + float(7), 3, true},
			{"instant as a float", float(float64(now)) + "\x04\x07", 3, true},
			{"an instant just after 1970, in three bytes", "\xcd\x00\x04\x04\x07", 9, true},
			{"an instant just after 1970, in nine bytes", "\xcf" + strings.Repeat("\x00", 7) + "\x04\x04\x07", 9, true},
			{"an instant before 1970", "\xcf" + strings.Repeat("\xff", 8) + "\x04\x07", 9, true},
			{"none left, as a float", last + float(0) + "\x07", 0, false},
			{"debt as its two's complement", last + "\xcf\xff\xff\xff\xff\xff\xff\xff\xfe\x07", -2, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				value := codec.Prefix(limit) + tt.state
				if err := rdb.Set(t.Context(), prefix+tt.name, value, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
				if p := take(t, m.Bucket(tt.name, limit), 1, tt.granted); p.RemainingTokens != tt.left {
					t.Errorf("%d left, want %d", p.RemainingTokens, tt.left)
				}
				if got := stored(t, rdb, prefix+tt.name).State.Levels[0].Tokens; got != tt.left {
					t.Errorf("%d stored, want %d", got, tt.left)
				}

				// By the general script too, which keeps what comes before the state.
				if err := rdb.Set(t.Context(), prefix+tt.name, value, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
				b := m.Bucket(tt.name, limit)
				before := tt.left
				if tt.granted {
					before++
				}
				if p, err := b.Force(t.Context(), 25); err != nil || p.RemainingTokens != before-25 {
					t.Errorf("forced: %d left, %v, want %d", p.RemainingTokens, err, before-25)
				}
				if n, err := b.Available(t.Context()); err != nil || n != before-25 {
					t.Errorf("after that: %d available, %v, want %d", n, err, before-25)
				}
			})
		}
	})
}
