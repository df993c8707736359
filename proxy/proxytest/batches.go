package proxytest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// charge is one that a manager would make.
func (s *store) charge(key string, c bucket.Configuration, kind bucket.Kind, tokens int64) proxy.Charge {
	return proxy.Charge{Key: s.prefix + key, Request: bucket.Request{Config: c, Op: bucket.Operation{Kind: kind, Tokens: tokens}}}
}

func decision(charges ...proxy.Charge) proxy.Decision {
	return proxy.Decision{Charges: charges, Results: make([]bucket.Result, len(charges))}
}

// Several decisions at once, as those who wrap a backend may ask for.
var batchTests = []storeTest{
	{"decisions of a batch do not depend on each other", func(s *store) {
		b, m := s.backend(), s.manager()
		c := of(greedy(10, 10, 10*time.Second))
		s.on(m, "drained", c).takes(10)
		s.on(m, "gone", c).takes(1)
		ds := []proxy.Decision{
			decision(s.charge("new", c, bucket.OpConsume, 3)),
			decision(s.charge("drained", c, bucket.OpConsume, 1)),
			decision(s.charge("other", c, bucket.OpConsumeUpTo, 99)),
			decision(s.charge("set", c, bucket.OpConsume, 1), s.charge("set too", c, bucket.OpConsume, 1)),
			decision(s.charge("drained", bucket.Configuration{}, bucket.OpInspect, 0)),
			decision(s.charge("gone", bucket.Configuration{}, bucket.OpRemove, 0)),
			decision(s.charge("absent", bucket.Configuration{}, bucket.OpInspect, 0)),
		}
		b.Do(s.ctx, ds)
		for i, d := range ds {
			if i == 3 {
				// A set is taken all or nothing or not at all.
				if !errors.Is(d.Err, errors.ErrUnsupported) {
					s.Errorf("a set: %v, want errors.ErrUnsupported", d.Err)
				}
				continue
			}
			if d.Err != nil {
				s.Errorf("decision %d: %v", i, d.Err)
			}
		}
		result := func(i int) *bucket.Result { return &ds[i].Results[0] }
		if r := result(0); !r.Consumed || r.RemainingTokens != 7 || r.Existed {
			s.Errorf("a take: %s, existed %v", told(r.Probe), r.Existed)
		}
		if r := result(1); r.Consumed || r.Wait != time.Second || !r.Existed {
			s.Errorf("a refusal: %s, existed %v", told(r.Probe), r.Existed)
		}
		if r := result(2); r.Tokens != 10 || r.RemainingTokens != 0 {
			s.Errorf("a take of what is there: %s", told(r.Probe))
		}
		if r := result(4); !r.Existed || !r.Configuration.Equal(c) || r.NextToken != time.Second {
			s.Errorf("a look: %s, existed %v", told(r.Probe), r.Existed)
		}
		if !result(5).Existed {
			s.Error("what was removed had not existed")
		}
		if r := result(6); r.Existed || !r.Configuration.IsZero() {
			s.Errorf("a look at nothing: existed %v, configuration %v", r.Existed, r.Configuration.Bandwidths())
		}
		s.on(m, "new", c).has(7)
		for _, key := range []string{"set", "set too", "gone", "absent"} {
			s.stored(m, key, false)
		}
	}},
	{"a batch of one key grants what is there", func(s *store) {
		b, m := s.backend(), s.manager()
		c := of(greedy(10, 10, 10*time.Second))
		var ds []proxy.Decision
		for range 30 {
			ds = append(ds, decision(s.charge("key", c, bucket.OpConsume, 1)))
		}
		b.Do(s.ctx, ds)
		taken := int64(0)
		for i := range ds {
			if ds[i].Err != nil {
				s.Errorf("decision %d: %v", i, ds[i].Err)
			}
			taken += ds[i].Results[0].Tokens
		}
		if taken != 10 {
			s.Errorf("took %d of 10", taken)
		}
		s.on(m, "key", c).has(0)
	}},
	{"a backend keeps nothing of a batch", func(s *store) {
		b, m := s.backend(), s.manager()
		ds := []proxy.Decision{decision(proxy.Charge{})}
		for i := range 3 {
			key := fmt.Sprintf("key %d", i)
			c := of(greedy(10+int64(i), 10, 10*time.Second))
			ds[0].Charges[0] = s.charge(key, c, bucket.OpConsume, 1)
			ds[0].Results[0], ds[0].Err = bucket.Result{}, nil
			b.Do(s.ctx, ds)
			if ds[0].Err != nil || !ds[0].Results[0].Consumed {
				s.Errorf("%s: %s, %v", key, told(ds[0].Results[0].Probe), ds[0].Err)
			}
		}
		for i := range 3 {
			s.on(m, fmt.Sprintf("key %d", i), of(greedy(10+int64(i), 10, 10*time.Second))).has(9 + int64(i))
		}
	}},
	{"an empty batch", func(s *store) {
		s.backend().Do(s.ctx, nil)
	}},
}
