package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
)

// modelled is buckets as a plain map keeps them.
type modelled map[string]struct {
	entry bucket.Entry
	until int64
}

func (m modelled) do(key string, req bucket.Request, now int64) (bucket.Result, error) {
	stored := m[key]
	if now >= stored.until {
		delete(m, key)
		stored.entry = bucket.Entry{}
	}
	o := bucket.Step(stored.entry, req, bucket.Moment{Now: now, Tick: bucket.Microsecond})
	switch o.Change {
	case bucket.Write:
		stored.entry, stored.until = o.Next, expiration.Rule{}.Life(o.ToFull, o.Remember).Until(now)
		m[key] = stored
	case bucket.Delete:
		delete(m, key)
	}
	return o.Result, o.Err
}

func TestKeysComeAndGo(t *testing.T) {
	// Keys of all lengths under configurations of all sizes, that change, expire
	// and are removed, in numbers that wax and wane.
	configs := []bucket.Configuration{
		greedy(3, 1, time.Second),
		greedy(3, 1, time.Second, bandwidth.WithInitialTokens(1)),
		bucket.Must(greedy(3, 1, time.Second, bandwidth.WithID("a")).WithVersion(2, bucket.AsIs)),
		several(2), several(3), several(5), several(8),
	}
	operations := []bucket.Operation{
		{Kind: bucket.OpConsume, Tokens: 1},
		{Kind: bucket.OpConsume, Tokens: 2},
		{Kind: bucket.OpForce, Tokens: 5},
		{Kind: bucket.OpForceAdd, Tokens: 5},
		{Kind: bucket.OpReset},
		{Kind: bucket.OpInspect},
		{Kind: bucket.OpRemove},
		{Kind: bucket.OpReplace, Strategy: bucket.Proportional},
	}
	rounds := 100_000
	if raceDetector || testing.Short() {
		rounds = 30_000
	}
	const most = 20_000
	var now clock
	b := memory.New(memory.WithClock(now.Now))
	m := modelled{}
	random := rand.New(rand.NewPCG(1, 2))
	var decision [1]proxy.Decision
	charges, results := make([]proxy.Charge, 1), make([]bucket.Result, 1)
	for round := range rounds {
		at := time.Duration(round)*200*time.Microsecond + time.Duration(round/10_000)*(expiration.DefaultRetention+time.Minute)
		now.at(at)
		key := keyOf(random.IntN(1 + most*(round%(rounds/3))/(rounds/3)))
		op := operations[min(random.IntN(3*len(operations))/2, len(operations)-1)*random.IntN(2)]
		req := bucket.Request{Config: configs[random.IntN(len(configs))], Op: op}
		if op.Kind == bucket.OpConsume && random.IntN(2) == 0 {
			want, _ := m.do(key, req, start.Add(at).UnixMicro())
			if got, err := b.TryConsume(key, req.Config, op.Tokens, false, expiration.Rule{}); got != want.Consumed || err != nil {
				t.Fatalf("round %d, key %q, a take of %d: got %v, %v, want %v", round, key, op.Tokens, got, err, want.Consumed)
			}
			continue
		}
		charges[0] = proxy.Charge{Key: key, Request: req}
		decision[0] = proxy.Decision{Charges: charges, Results: results}
		b.Do(t.Context(), decision[:])
		got := text(results[0], decision[0].Err)
		if want := text(m.do(key, req, start.Add(at).UnixMicro())); got != want {
			t.Fatalf("round %d, key %q, %v: got %v, want %v", round, key, op.Kind, got, want)
		}
	}
	if held := b.Len(); held < len(m)/4 { // the map forgets nothing by itself
		t.Errorf("holds %d keys where a map holds %d", held, len(m))
	}
	for key := range m {
		charges[0] = proxy.Charge{Key: key, Request: bucket.Request{Op: bucket.Operation{Kind: bucket.OpRemove}}}
		decision[0] = proxy.Decision{Charges: charges, Results: results}
		b.Do(t.Context(), decision[:])
	}
	if n := b.Len(); n > 0 {
		t.Errorf("%d keys are left of %d when all have been removed", n, len(m))
	}
}

// text is everything that an answer tells.
func text(r bucket.Result, err error) string {
	p := r.Probe
	tokens := make([]int64, p.Configuration.Len())
	for i := range tokens {
		tokens[i] = p.TokensOf(i)
	}
	return fmt.Sprint(
		p.Consumed, p.Never, p.Tokens, p.RemainingTokens, p.Wait, p.NextToken, p.TimeToFull, p.Deciding, p.Configuration, p.Source,
		tokens, r.Existed, r.Replaced, r.Conflict, err,
	)
}

// several is n bandwidths that differ.
func several(n int) bucket.Configuration {
	var all []bandwidth.Bandwidth
	for i := range n {
		all = append(all, bandwidth.Must(bandwidth.New(int64(3+i), bandwidth.Interval(1, time.Duration(n+i)*time.Second))))
	}
	return bucket.MustConfiguration(all...)
}

// keyOf is a short, a usual or a long key.
func keyOf(i int) string {
	return strings.Repeat("-", (i%7)*(i%7)) + fmt.Sprint("k", i)
}

func TestKeysAreCopied(t *testing.T) {
	// Some frameworks hand out strings whose bytes they use again.
	m := manager(t, memory.New())
	c := greedy(1, 1, time.Hour)
	for _, n := range []int{5, 100} {
		key := strings.Repeat("a", n)
		buffer := []byte(key)
		take(t, m.Bucket(unsafe.String(&buffer[0], n), c), 1)
		buffer[0], buffer[n-1] = 'b', 'b'
		if left := available(t, m.Bucket(key, c)); left != 0 {
			t.Errorf("a drained bucket of a key of %d bytes has %d tokens", n, left)
		}
	}
}

func TestATakeAllocatesNothing(t *testing.T) {
	ctx, m := t.Context(), manager(t, memory.New())
	for name, c := range map[string]bucket.Configuration{"one": greedy(1<<40, 1, time.Hour), "four": several(4)} {
		for _, key := range []string{"ip:192.0.2.1", strings.Repeat("long", 20)} {
			take(t, m.Bucket(key+name, c), 1)
			key += name
			for what, run := range map[string]func(b proxy.Bucket){
				"TryConsume": func(b proxy.Bucket) {
					if _, err := b.TryConsume(ctx, 1); err != nil {
						t.Error(err)
					}
				},
				"Consume": func(b proxy.Bucket) {
					if _, err := b.Consume(ctx, 1); err != nil {
						t.Error(err)
					}
				},
			} {
				if n := testing.AllocsPerRun(1000, func() { run(m.Bucket(key, c)) }); n != 0 {
					t.Errorf("%s of %s bandwidths of a key of %d bytes allocates %v times", what, name, len(key), n)
				}
			}
		}
	}
}
