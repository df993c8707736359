package redis_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
	"github.com/sluice-go/sluice/proxy/redis"
)

// Scripts and Go must take the same bytes for a bucket, or else a call would be
// charged twice: by the script, and by what it leaves to Go.
func TestScriptsAgreeOnDamage(t *testing.T) {
	const skew = time.Second
	limit := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(200, bandwidth.Greedy(3, time.Second))))
	wide := bucket.MustConfiguration(
		bandwidth.Must(bandwidth.New(10, bandwidth.Interval(3, time.Second), bandwidth.WithID("s"))),
		bandwidth.Must(bandwidth.New(300, bandwidth.Aligned(70, time.Minute, time.UnixMicro(11)))),
	)
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		for _, c := range []bucket.Configuration{limit, wide} {
			a := newAgainst(t, mode, skew)
			a.now = 1_700_000_000_000_000
			whole := codec.MessagePack{}.Append(nil, bucket.Entry{Config: c, State: bucket.State{
				Last: a.now - 1_234_567, Levels: [8]bucket.Level{{Tokens: 5, Rem: 999}, {Tokens: 260}},
			}})
			values := corrupt(whole, len(codec.Prefix(c)))
			if mode != nil {
				values = values[:100] // that is Go alone, tested beside the codec
			}
			for _, request := range []bucket.Request{
				{Config: c, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 2}},
				{Config: c, Op: bucket.Operation{Kind: bucket.OpConsumeUpTo, Tokens: 2}},
				{Config: c, StoredRules: true, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 2}},
				{StoredRules: true, Op: bucket.Operation{Kind: bucket.OpAdd, Tokens: 2}},
				{Op: bucket.Operation{Kind: bucket.OpRemove}},
			} {
				var all []trial
				for i, b := range values {
					all = append(all, trial{stored: b, charge: proxy.Charge{Key: fmt.Sprint(i), Request: request, Rule: longLife}})
				}
				t.Run(fmt.Sprintf("%d bandwidths, %v, stored rules %t", c.Len(), request.Op.Kind, request.StoredRules), func(t *testing.T) {
					a.check(t, all)
				})
			}
			t.Logf("%d values: %d lost, %d refused, %d still a bucket", len(values), a.counts.lost, a.counts.refused,
				a.counts.inScript+a.counts.handedOver)
		}
	})
}

// corrupt returns b cut at each place, longer by one byte, and with one byte
// changed: to a fifth of the other values in the state, which begins at the
// given place, and to a tenth before.
func corrupt(b []byte, state int) (all [][]byte) {
	r := rand.New(rand.NewPCG(uint64(len(b)), 35))
	for i := range b {
		all = append(all, b[:i])
		for v := range 256 {
			if byte(v) == b[i] || r.IntN(10) > 0 && (i < state || r.IntN(10) > 0) {
				continue
			}
			changed := append([]byte(nil), b...)
			changed[i] = byte(v)
			all = append(all, changed)
		}
	}
	for v := 0; v < 256; v += 3 {
		all = append(all, append(b[:len(b):len(b)], byte(v)))
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
