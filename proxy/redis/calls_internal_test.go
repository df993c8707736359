package redis

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// A configuration may be found to be overruled between the grouping of takes and
// their call: what was put together is still decided together.
func TestTakesStayTogetherWhenOverruled(t *testing.T) {
	b := New(nil)
	limit := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Hour))))
	var ds []proxy.Decision
	for range 3 {
		ds = append(ds, proxy.Decision{
			Charges: []proxy.Charge{{Key: "k", Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}}}},
			Results: make([]bucket.Result, 1),
		})
	}
	n := b.together(ds)
	p := b.plans.of(limit, false)
	p.overruled.Store(true)
	if call, ok := b.call(ds[:n]); n != 3 || !ok || call.Script != p.takes {
		t.Errorf("%d takes are put together and not decided by their script", n)
	}
	if n := b.together(ds); n != 1 {
		t.Errorf("%d are put together once that is known", n)
	}
}
