package redis_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// trial is a charge on what is stored under its key, and takes that follow it in
// the same batch.
type trial struct {
	stored []byte // nil: nothing
	charge proxy.Charge
	costs  []int64
}

func (tr trial) charges() []proxy.Charge {
	all := []proxy.Charge{tr.charge}
	for _, cost := range tr.costs {
		c := tr.charge
		c.Op = bucket.Operation{Kind: bucket.OpConsume, Tokens: cost}
		all = append(all, c)
	}
	return all
}

// against holds a backend against the arithmetic: whatever is stored, the answer
// and what is left must be what Go works out.
type against struct {
	rdb     *client.Client
	mon     *monitor
	backend proxy.Backend
	now     int64
	lead    int64
	counts  struct{ inScript, handedOver, lost, refused int }
}

func newAgainst(t testing.TB, mode redis.Option, skew time.Duration) *against {
	server := redistest.Start(t)
	patient := func(o *client.Options) { o.ReadTimeout = time.Minute } // for large batches on a busy machine
	a := &against{rdb: connect(t, server.URL(), patient), mon: watch(t, server), lead: skew.Microseconds()}
	a.backend = goredis.New(a.rdb, mode, redis.WithClientClock(func() time.Time { return time.UnixMicro(a.now) }, skew))
	return a
}

// check runs trials, each on a key of its own, and compares. It returns the
// first trial that differs.
func (a *against) check(t testing.TB, trials []trial) {
	t.Helper()
	a.put(t, trials)
	a.mon.seen()
	var charges []proxy.Charge
	for _, tr := range trials {
		charges = append(charges, tr.charges()...)
	}
	ds := decide(t, a.backend, charges...)
	lives := map[string]string{} // in milliseconds, as the last write of each key has it
	for _, c := range a.mon.seen() {
		if c.inScript && c.name == "SET" {
			lives[c.args[0]] = c.args[3]
		}
	}
	left := a.look(t, trials)
	for i, tr := range trials {
		want, after := a.replay(tr)
		for j, d := range ds[:len(want)] {
			a.compare(t, tr, d, want[j])
		}
		ds = ds[len(want):]
		next := tr.stored
		switch after.Change {
		case bucket.Write:
			next = codec.MessagePack{}.Append(nil, after.Next)
		case bucket.Delete:
			next = nil
		}
		if (left[i] == nil) != (next == nil) || string(left[i]) != string(next) {
			t.Fatalf("%+v on % x at %d:\n    left % x\nwant      % x", tr.charge, tr.stored, a.now, left[i], next)
		}
		if after.Change == bucket.Write {
			life := after.Life.Longer(a.lead).Longer(999).Millis()
			if got := lives[tr.charge.Key]; got != fmt.Sprint(life) {
				t.Fatalf("%+v on % x at %d: lives %s ms, want %d", tr.charge, tr.stored, a.now, got, life)
			}
		}
	}
}

func (a *against) compare(t testing.TB, tr trial, d, want proxy.Decision) {
	t.Helper()
	lost := want.Notes&proxy.StateLost != 0
	a.count(d.Notes, lost, want.Err)
	var refused *proxy.StoreError
	switch {
	case errors.As(want.Err, &refused):
		wantStoreError(t, d.Err, refused.Kind, tr.charge.Key)
	case d.Err != nil:
		t.Fatalf("%+v on % x: %v", tr, tr.stored, d.Err)
	case !same(d.Results[0], want.Results[0]):
		t.Fatalf("%+v on % x at %d:\n got %+v\nwant %+v", tr, tr.stored, a.now, d.Results[0], want.Results[0])
	case lost != (d.Notes&proxy.StateLost != 0):
		t.Fatalf("%+v on % x: state lost is %t, want %t", tr, tr.stored, !lost, lost)
	}
}

// replay is what a trial should come to.
func (a *against) replay(tr trial) ([]proxy.Decision, proxy.After) {
	var ds []proxy.Decision
	for _, c := range tr.charges() {
		ds = append(ds, proxy.Decision{Charges: []proxy.Charge{c}, Results: make([]bucket.Result, 1)})
	}
	at := bucket.Moment{Now: a.now, Tick: bucket.Microsecond, Lead: a.lead}
	return ds, proxy.Replay(codec.MessagePack{}, ds, proxy.Stored{Bytes: tr.stored, At: at})
}

// wholeMillis lengthens the life of a trial's key so that it is a whole number of
// milliseconds, which are all that a server is told, and some microseconds beyond.
func (a *against) wholeMillis(tr *trial, beyond int64) {
	ds, after := a.replay(*tr)
	if ds[0].Err != nil || after.Life > 1<<60 {
		return
	}
	part := (int64(after.Life) + a.lead + 2*999 + beyond) % 1000
	tr.charge.Rule.Keep += time.Duration(1000-part) * time.Microsecond
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

// look returns what is under the keys.
func (a *against) look(t testing.TB, trials []trial) (left [][]byte) {
	t.Helper()
	p := a.rdb.Pipeline()
	var gets []*client.StringCmd
	for _, tr := range trials {
		gets = append(gets, p.Get(t.Context(), tr.charge.Key))
	}
	_, _ = p.Exec(t.Context()) // a key that is absent is an error there
	for i := range trials {
		b, err := gets[i].Bytes()
		if err != nil && err != client.Nil {
			t.Fatal(err)
		}
		left = append(left, b)
	}
	return left
}
