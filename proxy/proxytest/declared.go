package proxytest

import "time"

// A configuration that a caller declares is met by whatever it does first.
var declaredTests = []storeTest{
	{"a declared configuration met by each operation", func(s *store) {
		// The change is carried out by whatever may write, granted or refused, and
		// told, but not carried out, by what may not.
		was, next := of(greedy(10, 10, 100*time.Second)), of(greedy(5, 5, 10*time.Second))
		m := s.manager()
		for name, c := range map[string]struct {
			do     func(*checked)
			writes bool
			left   int64
		}{
			"a grant":               {func(b *checked) { b.takes(1) }, true, 2},
			"a refusal":             {func(b *checked) { b.refuses(4, 2*time.Second) }, true, 3},
			"one for ever":          {func(b *checked) { b.never(6) }, true, 3},
			"taking what there is":  {func(b *checked) { _, err := b.ConsumeUpTo(s.ctx, 9); b.ok("ConsumeUpTo", err) }, true, 0},
			"a reservation":         {func(b *checked) { b.reserves(4, -1, 2*time.Second) }, true, -1},
			"one refused":           {func(b *checked) { _, err := b.Reserve(s.ctx, 4, 0); b.ok("Reserve", unlessRefused(err)) }, true, 3},
			"one never possible":    {func(b *checked) { b.ok("Wait", unlessRefused(b.Wait(s.ctx, 6))) }, true, 3},
			"a forced take":         {func(b *checked) { b.forces(5, -2, 4*time.Second) }, true, -2},
			"an addition":           {func(b *checked) { b.adds(1, 4) }, true, 4},
			"a forced addition":     {func(b *checked) { b.forceAdds(9, 12) }, true, 12},
			"an estimate":           {func(b *checked) { estimates(b, 4, 2*time.Second) }, false, 3},
			"an estimate, never":    {func(b *checked) { _, err := b.Estimate(s.ctx, 6); b.ok("Estimate", err) }, false, 3},
			"a look":                {func(b *checked) { b.has(3) }, false, 3},
			"an inspection":         {func(b *checked) { b.holds(3) }, false, 3},
			"cost 0":                {func(b *checked) { b.takes(0) }, false, 3},
			"an addition of 0":      {func(b *checked) { b.adds(0, 3) }, false, 3},
			"a reservation of none": {func(b *checked) { b.reserves(0, 3, 0) }, false, 3},
		} {
			s.on(m, name, was).takes(7)
			b := s.on(m, name, next)
			c.do(b)
			stored := was
			if c.writes {
				stored = next
			}
			if got := s.stored(m, name, true); !got.Equal(stored) {
				s.Errorf("%s: stored is %v", name, got.Bandwidths())
			}
			b.has(c.left)
		}
	}},
	{"a reservation given back under another configuration", func(s *store) {
		c := changed(s, of(greedy(10, 1, time.Hour)), of(greedy(4, 1, time.Hour)))
		r := c.was.reserves(8, 2, 0)
		c.is.takes(1)
		c.is.has(1)
		c.was.cancels(r, 9) // 8 more, by the one that declares 10
		c.is.has(4)
		late := c.is.reserves(4, 0, 0)
		c.is.cancels(late, 4)
	}},
}

// estimates tells what would be refused, with its wait.
func estimates(b *checked, n int64, wait time.Duration) {
	b.s.Helper()
	p, err := b.Estimate(b.s.ctx, n)
	b.ok("Estimate", err)
	if p.Consumed || p.Never || p.Wait != wait {
		b.fail("Estimate", told(p), wait)
	}
}
