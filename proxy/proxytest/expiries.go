package proxytest

import (
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
)

// Keys that are forgotten, on the backend's own clock. How long things take is
// only ever bounded on the side that a slow machine cannot break.
var expiryTests = []storeTest{
	{"C36 a bucket outlives its key", func(s *store) {
		m := s.real()
		b := s.on(m, "key", of(greedy(2, 2, 100*time.Millisecond)))
		for range 2 {
			drained := time.Now()
			full := b.takes(2).TimeToFull
			s.gone(m, "key")
			if after := time.Since(drained); after < full {
				s.Errorf("the key has gone after %v, %v before the bucket was full", after, full-after)
			}
			b.has(2)
		}
	}},
	{"what says more than an absent key outlives it", func(s *store) {
		m := s.real()
		configs := map[string]bucket.Configuration{
			"a start that is not full": of(greedy(2, 2, 20*time.Millisecond, bandwidth.WithInitialTokens(0))),
			"a version":                version(1, bucket.AsIs, greedy(2, 2, 20*time.Millisecond)),
		}
		for key, c := range configs {
			if _, err := m.Bucket(key, c).ConsumeUpTo(s.ctx, 2); err != nil {
				s.Fatal(err)
			}
		}
		s.on(m, "nothing more", of(greedy(2, 2, 40*time.Millisecond))).takes(2)
		s.gone(m, "nothing more")
		for key, c := range configs {
			s.stored(m, key, true)
			s.on(m, key, c).has(2)
		}
	}},
	{"a key lives through the refill of all its bandwidths", func(s *store) {
		m := s.real()
		c := of(greedy(5, 5, 5*time.Millisecond), interval(100, 100, time.Hour), greedy(7, 7, 5*time.Millisecond))
		s.on(m, "key", c).takes(5)
		s.on(m, "short", of(greedy(5, 5, 60*time.Millisecond))).takes(5)
		s.gone(m, "short")
		s.on(m, "key", c).holds(5, 95, 7)
	}},
	{"a key in debt lives until it is full", func(s *store) {
		m := s.real()
		b := s.on(m, "key", of(interval(2, 2, 50*time.Millisecond)))
		begun := time.Now()
		p, err := b.Force(s.ctx, 5)
		b.ok("Force", err)
		if p.RemainingTokens != -3 || p.TimeToFull != 150*time.Millisecond {
			s.Errorf("Force(5) of 2: %s", told(p))
		}
		s.gone(m, "key")
		if after := time.Since(begun); after < p.TimeToFull-drift {
			s.Errorf("the key has gone after %v of %v", after, p.TimeToFull)
		}
		b.has(2)
	}},
	{"an expiry hands out nothing", func(s *store) {
		// Whatever goes and comes again, no span sees more than the capacity and
		// what has been refilled.
		const period = 30 * time.Millisecond
		m := s.real()
		b := s.on(m, "key", of(interval(3, 3, period)))
		begun := time.Now()
		for granted := int64(0); granted < 30; {
			p, err := b.ConsumeUpTo(s.ctx, 3)
			b.ok("ConsumeUpTo", err)
			granted += p.Tokens
			passed := time.Since(begun)
			if most := 3 + 3*(int64((passed+drift)/period)+1); granted > most {
				s.Fatalf("granted %d in %v, want at most %d", granted, passed, most)
			}
			if granted%2 == 0 {
				s.gone(m, "key")
			} else {
				time.Sleep(p.TimeToFull)
			}
		}
	}},
	{"C50 credit is kept for the retention, and no longer", func(s *store) {
		const retention = 100 * time.Millisecond
		m := s.real(proxy.WithExpiration(expiration.Rule{Retention: retention}))
		b := s.on(m, "key", of(greedy(10, 10, time.Millisecond)))
		begun := time.Now()
		b.forceAdds(100, 110)
		s.gone(m, "key")
		if after := time.Since(begun); after < retention-drift {
			s.Errorf("credit has gone after %v of %v", after, retention)
		}
		b.has(10)
	}},
	{"C50 credit outlives a bucket that is full", func(s *store) {
		m := s.real()
		b := s.on(m, "key", of(greedy(10, 10, time.Millisecond)))
		b.forceAdds(100, 110)
		s.on(m, "nothing more", of(greedy(2, 2, 40*time.Millisecond))).takes(2)
		s.gone(m, "nothing more")
		b.has(110)
		b.takes(105)
	}},
	{"C48 a reservation of a key that has expired gives nothing", func(s *store) {
		m := s.real()
		b := s.on(m, "key", of(greedy(2, 2, 20*time.Millisecond)))
		r, err := b.Reserve(s.ctx, 2, 0)
		b.ok("Reserve", err)
		s.gone(m, "key")
		b.cancels(r, 2)
		b.takes(2)
	}},
	{"C66 calls around the expiry", func(s *store) {
		const period = 20 * time.Millisecond
		m := s.real()
		var calls []*lonely
		for key, r := range map[string]bandwidth.Refill{
			"greedy": bandwidth.Greedy(2, period), "interval": bandwidth.Interval(2, period),
		} {
			calls = append(calls, &lonely{checked: s.on(m, key, of(limit(2, r))), name: key, begun: time.Now(), period: period, bonus: 2 * int64(r.Kind()-bandwidth.KindGreedy)})
		}
		random := rand.New(rand.NewPCG(66, 0))
		for range 60 {
			var wait time.Duration
			for _, c := range calls {
				wait = c.call()
			}
			switch random.IntN(4) {
			case 0: // again at once
			case 1: // when a token is due, which is when the key may be going
				time.Sleep(wait)
			case 2:
				time.Sleep(time.Duration(random.Int64N(int64(period / 2))))
			default:
				time.Sleep(time.Duration(random.Int64N(int64(period))))
			}
		}
	}},
}

// gone waits until a key is absent. The bucket must be full before that.
func (s *store) gone(m *proxy.Manager, key string) {
	s.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		_, stored, err := m.Configuration(s.ctx, key)
		switch {
		case err != nil:
			s.Fatal(err)
		case !stored:
			return
		case time.Now().After(deadline):
			s.Fatalf("%s is still there after %v", key, patience)
		}
	}
}

// drift is what the store's clock and this process's may differ by meanwhile.
const drift = 5 * time.Millisecond

// lonely is the only caller of a bucket of 2, 2 in a period. It holds each
// answer against the instants between which it was given.
type lonely struct {
	*checked
	name   string
	begun  time.Time
	period time.Duration
	bonus  int64 // what a span may see beyond its share: an interval's first boundary

	grants  []time.Duration // when each granted call was begun
	due     time.Duration   // not later than then is the next token there
	refused bool            // the last call
}

// call takes a token if it is there and returns the wait for the next.
func (l *lonely) call() time.Duration {
	l.s.Helper()
	before := time.Since(l.begun)
	p, err := l.Consume(l.s.ctx, 1)
	after := time.Since(l.begun)
	l.ok("Consume", err)
	if p.Consumed {
		l.grants = append(l.grants, before)
		for i, first := range l.grants {
			granted := int64(len(l.grants) - i)
			if most := 2 + l.bonus + int64((after-first+drift)*2/l.period); granted > most {
				l.s.Errorf("%s: %d grants in %v, want at most %d", l.name, granted, after-first, most)
			}
		}
	} else if before > l.due+drift {
		l.s.Errorf("%s: refused at %v, though a token was due at %v", l.name, before, l.due)
	}
	if due := before + p.NextToken; !p.Consumed && l.refused && due > l.due+drift {
		l.s.Errorf("%s: a refused call has put off the next token from %v to %v", l.name, l.due, due)
	}
	l.refused = !p.Consumed
	l.due = after + p.NextToken
	return p.NextToken
}
