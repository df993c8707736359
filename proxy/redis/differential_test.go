package redis_test

import (
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// trial is one charge on what is stored under its key.
type trial struct {
	stored []byte // nil: nothing
	charge proxy.Charge
}

// against holds a backend against the arithmetic: whatever is stored, the answer
// and what is left must be what Go works out.
type against struct {
	rdb     *client.Client
	backend proxy.Backend
	now     int64
	lead    int64
	counts  struct{ inScript, handedOver, lost, refused int }
}

func newAgainst(t testing.TB, mode redis.Option, skew time.Duration) (*against, string) {
	rdb, prefix := shared(t)
	a := &against{rdb: rdb, lead: skew.Microseconds()}
	a.backend = goredis.New(rdb, mode, redis.WithClientClock(func() time.Time { return time.UnixMicro(a.now) }, skew))
	return a, prefix
}

// check runs trials, each on a key of its own, and compares. It returns the
// first trial that differs.
func (a *against) check(t testing.TB, trials []trial) {
	t.Helper()
	a.put(t, trials)
	charges := make([]proxy.Charge, len(trials))
	for i := range trials {
		charges[i] = trials[i].charge
	}
	before := a.serverTime(t)
	ds := decide(t, a.backend, charges...)
	after := a.serverTime(t)
	left, expiry := a.look(t, trials)
	for i, d := range ds {
		tr := trials[i]
		at := bucket.Moment{Now: a.now, Tick: bucket.Microsecond, Lead: a.lead}
		o, lost, err := proxy.Decide(codec.MessagePack{}, &tr.charge, proxy.Stored{Bytes: tr.stored, At: at})
		a.count(d.Notes, lost, err)
		next := tr.stored
		switch {
		case err != nil:
			wantStoreError(t, d.Err, err, tr.charge.Key)
		case d.Err != nil:
			t.Fatalf("%+v on % x: %v", tr.charge, tr.stored, d.Err)
		case !same(d.Results[0], o.Result):
			t.Fatalf("%+v on % x at %d:\n got %+v\nwant %+v", tr.charge, tr.stored, a.now, d.Results[0], o.Result)
		case lost != (d.Notes&proxy.StateLost != 0):
			t.Fatalf("%+v on % x: state lost is %t, want %t", tr.charge, tr.stored, !lost, lost)
		case o.Change == bucket.Write:
			next = codec.MessagePack{}.Append(nil, o.Next)
		case o.Change == bucket.Delete:
			next = nil
		}
		if (left[i] == nil) != (next == nil) || string(left[i]) != string(next) {
			t.Fatalf("%+v on % x at %d:\n    left % x\nwant      % x", tr.charge, tr.stored, a.now, left[i], next)
		}
		if err == nil && o.Change == bucket.Write {
			life := tr.charge.Life.Life(o.ToFull, o.Remember).Longer(a.lead).Longer(999).Millis(0)
			if expiry[i] < before+life || expiry[i] > after+life+1 {
				t.Fatalf("%+v on % x at %d: expires at %d ms, want %d to %d and %d",
					tr.charge, tr.stored, a.now, expiry[i], before, after, life)
			}
		}
	}
}

func (a *against) count(notes proxy.Notes, lost bool, err error) {
	switch {
	case err != nil:
		a.counts.refused++
	case lost:
		a.counts.lost++
	case notes&proxy.HandedOver != 0:
		a.counts.handedOver++
	default:
		a.counts.inScript++
	}
}

func same(a, b bucket.Result) bool {
	if a.Configuration != b.Configuration && !a.Configuration.Equal(b.Configuration) {
		return false
	}
	for i := range a.Configuration.Len() {
		if a.TokensOf(i) != b.TokensOf(i) {
			return false
		}
	}
	plain := func(r bucket.Result) bucket.Result {
		p := r.Probe
		r.Probe = bucket.Probe{
			Consumed: p.Consumed, Never: p.Never, Tokens: p.Tokens, RemainingTokens: p.RemainingTokens,
			Wait: p.Wait, NextToken: p.NextToken, TimeToFull: p.TimeToFull, Deciding: p.Deciding,
		}
		return r
	}
	return plain(a) == plain(b)
}

func (a *against) put(t testing.TB, trials []trial) {
	t.Helper()
	p := a.rdb.Pipeline()
	for _, tr := range trials {
		if tr.stored == nil {
			p.Del(t.Context(), tr.charge.Key)
		} else {
			p.Set(t.Context(), tr.charge.Key, tr.stored, time.Hour)
		}
	}
	if _, err := p.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// look returns what is under the keys, and when they expire in milliseconds.
func (a *against) look(t testing.TB, trials []trial) (left [][]byte, expiry []int64) {
	t.Helper()
	p := a.rdb.Pipeline()
	var gets []*client.StringCmd
	var expires []*client.Cmd
	for _, tr := range trials {
		gets = append(gets, p.Get(t.Context(), tr.charge.Key))
		expires = append(expires, p.Do(t.Context(), "PEXPIRETIME", tr.charge.Key))
	}
	_, _ = p.Exec(t.Context()) // a key that is absent is an error there
	for i := range trials {
		b, err := gets[i].Bytes()
		if err != nil && err != client.Nil {
			t.Fatal(err)
		}
		at, err := expires[i].Int64()
		if err != nil {
			t.Fatal(err)
		}
		left, expiry = append(left, b), append(expiry, at)
	}
	return left, expiry
}

func (a *against) serverTime(t testing.TB) (ms int64) {
	t.Helper()
	now, err := a.rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now.UnixMilli()
}
