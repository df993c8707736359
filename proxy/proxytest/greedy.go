package proxytest

import (
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

// Greedy refill: token by token, at an exact rate.
var greedyTests = []bucketTest{
	{"C02 refill is not thrown away", func(s *scene) {
		b := s.bucket(greedy(10, 10, 30*time.Second)) // a token each 3 s
		b.takes(10)
		for second := 1; second <= 30; second++ {
			s.at(time.Duration(second) * time.Second)
			if part := second % 3; part > 0 {
				b.refuses(1, time.Duration(3-part)*time.Second)
			} else {
				b.takes(1)
			}
		}
	}},
	{"C02 nor by frequent polling", func(s *scene) {
		b := s.bucket(greedy(10, 10, 30*time.Second))
		b.takes(10)
		pause := time.Duration(s.either(1, 12)) * time.Millisecond
		var taken int64
		for at := pause; at <= 30*time.Second; at += pause {
			s.at(at)
			taken += b.tries(1)
		}
		if taken != 10 {
			s.Errorf("polled each %v for 30 s: took %d, want 10", pause, taken)
		}
	}},
	{"C02 a little faster than the rate", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Second))
		for call := 1; ; call++ {
			if b.tries(1) == 0 {
				if call != 92 {
					s.Errorf("call %d is the first that is refused, want 92", call)
				}
				return
			}
			s.later(900 * time.Millisecond)
		}
	}},
	{"C17 a token is there at its instant", func(s *scene) {
		for _, c := range []struct {
			tokens int64
			period time.Duration
			wait   time.Duration
		}{
			{10, 13 * time.Second, 1300 * time.Millisecond},
			{3, time.Second, 333_333_334},
			{1, time.Hour, time.Hour},
			{7, 24 * time.Hour, 12342857142858},
			{999, time.Second, 1001002},
		} {
			s.at(0)
			b := s.bucket(greedy(1, c.tokens, c.period))
			b.takes(1)
			p := b.refuses(1, c.wait) // rounded up to whole ticks
			s.at(p.Wait - s.step())
			b.refuses(1, s.step())
			s.at(p.Wait)
			b.takes(1)
		}
	}},
	{"C24 idling at capacity earns nothing", func(s *scene) {
		b := s.bucket(greedy(5, 5, 10*time.Second))
		s.at(100 * time.Second)
		b.takes(5)
		b.refuses(5, 10*time.Second)
	}},
	{"C24 nor does a part of a token stay", func(s *scene) {
		b := s.bucket(greedy(1, 1, 10*time.Second))
		b.takes(1)
		s.at(19 * time.Second)
		b.takes(1)
		b.refuses(1, 10*time.Second)
	}},
	{"C29 odd rates are exact", func(s *scene) {
		for _, c := range []struct {
			tokens int64
			period time.Duration
			length time.Duration
			want   int
		}{
			{700, time.Minute, time.Duration(s.either(10, 1)) * time.Minute, s.either(7000, 700)},
			{120_000, time.Minute, 50 * time.Millisecond, 100},
			{7, time.Hour, 24 * time.Hour, 168},
		} {
			s.at(0)
			b := s.bucket(greedy(c.tokens, c.tokens, c.period))
			wait := b.takes(c.tokens).NextToken
			taken, at := 0, wait
			for ; at <= c.length; at += wait {
				s.at(at)
				wait = b.takes(1).NextToken
				taken++
			}
			if taken != c.want {
				s.Errorf("%d per %v: took %d one by one in %v, want %d", c.tokens, c.period, taken, c.length, c.want)
			}
		}
	}},
	{"C41 rates below one a second", func(s *scene) {
		for _, c := range []struct {
			tokens int64
			period time.Duration
			each   time.Duration
		}{
			{1, 10 * time.Second, 10 * time.Second},
			{5, time.Minute, 12 * time.Second},
			{2, 10 * time.Minute, 5 * time.Minute},
			{1, 24 * time.Hour, 24 * time.Hour},
		} {
			b := s.bucket(greedy(2, c.tokens, c.period))
			b.takes(2)
			b.refuses(1, c.each)
			p := b.refuses(2, 2*c.each)
			if p.TimeToFull != 2*c.each || p.NextToken != c.each {
				s.Errorf("%d per %v, drained: %s", c.tokens, c.period, told(p))
			}
		}
	}},
	{"adding tokens keeps the part of the next one", func(s *scene) {
		b := s.bucket(greedy(10, 1, 10*time.Second))
		b.takes(10)
		s.at(7 * time.Second)
		b.adds(2, 2)
		b.takes(2)
		b.refuses(1, 3*time.Second)
	}},
	{"filling drops the part of the next token", func(s *scene) {
		for _, b := range []*checked{
			s.bucket(greedy(10, 1, 10*time.Second)),
			s.bucket(greedy(10, 1, 10*time.Second, bandwidth.WithInitialTokens(9))), // whose key stays when full
		} {
			for _, fill := range []func(){func() { b.adds(10, 10) }, b.resets} {
				b.resets()
				b.takes(10)
				s.later(7 * time.Second)
				b.refuses(1, 3*time.Second)
				fill()
				b.takes(10)
				b.refuses(1, 10*time.Second)
				s.later(10 * time.Minute)
			}
		}
	}},
	{"C62 a full bucket and its refill are granted, or the full bucket alone", func(s *scene) {
		// A limit of 15 a minute lets 29 through in the first minute when it is
		// greedy: there is no ceiling for any minute.
		poll := func(b *checked, every, during time.Duration) (granted int64) {
			s.at(0)
			for d := time.Duration(0); d < during; d += every {
				s.at(d)
				granted += b.tries(1)
			}
			return granted
		}
		if n := poll(s.bucket(greedy(15, 15, time.Minute)), 50*time.Millisecond, time.Minute); n != 29 {
			s.Errorf("15 a minute: granted %d in the first, want 29", n)
		}
		s.at(0)
		if n := poll(s.bucket(greedy(17, 17, 30*time.Second)), 500*time.Millisecond, 30*time.Second); n != 33 {
			s.Errorf("17 in 30 s, greedy: granted %d, want 33", n)
		}
		s.at(0)
		if n := poll(s.bucket(interval(17, 17, 30*time.Second)), 500*time.Millisecond, 30*time.Second); n != 17 {
			s.Errorf("17 in 30 s, interval: granted %d, want 17", n)
		}
	}},
	{"refill does not depend on who looks", func(s *scene) {
		// 7 in 11 s leaves a fraction at nearly every instant.
		often, once := s.bucket(greedy(100, 7, 11*time.Second)), s.bucket(greedy(100, 7, 11*time.Second))
		often.takes(100)
		once.takes(100)
		for range s.either(1000, 200) {
			s.later(37_123 * time.Microsecond)
			_, err := often.Add(s.ctx, 1)
			often.ok("Add", err)
			often.takes(1)
		}
		if a, b := often.inspects().Probe, once.inspects().Probe; told(a) != told(b) {
			s.Errorf("settled often\n%s, at once\n%s", told(a), told(b))
		}
	}},
}
