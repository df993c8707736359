package proxytest

import (
	"math"
	"time"
)

// How long a caller is told to wait.
var waitTests = []bucketTest{
	{"C22 a wait counts what has grown", func(s *scene) {
		b := s.bucket(greedy(1, 1, time.Second))
		b.takes(1)
		s.at(200 * time.Millisecond)
		b.refuses(1, 800*time.Millisecond)

		s.at(0)
		b = s.bucket(greedy(5, 5, 300*time.Second))
		b.takes(5)
		s.at(59 * time.Second)
		b.refuses(1, time.Second)

		s.at(0)
		b = s.bucket(interval(10, 10, 60*time.Second))
		b.takes(10)
		s.at(time.Second)
		b.refuses(1, 59*time.Second)

		s.at(0)
		b = s.bucket(interval(10, 3, 10*time.Second))
		b.takes(10)
		s.at(4 * time.Second)
		b.refuses(7, 26*time.Second) // the third boundary
	}},
	{"C04 a refusal takes nothing", func(s *scene) {
		b := s.bucket(greedy(10, 1, 10*time.Second))
		b.takes(8)
		if p := b.refuses(5, 30*time.Second); p.RemainingTokens != 2 || p.NextToken != 0 {
			s.Errorf("refused 5 of 2: %s", told(p))
		}
		b.takes(2)
		if p := b.never(1_000_000); p.RemainingTokens != 0 || p.NextToken != 10*time.Second || p.TimeToFull != 100*time.Second {
			s.Errorf("refused a million: %s", told(p))
		}
		b.refuses(1, 10*time.Second)
	}},
	{"C26 nor does it move the refill", func(s *scene) {
		b := s.bucket(greedy(2, 1, time.Second))
		b.takes(2)
		s.at(500 * time.Millisecond)
		b.never(3)
		b.refuses(1, 500*time.Millisecond)
		for range 100 {
			s.later(time.Millisecond)
			b.never(3)
			b.refuses(2, start.Add(2*time.Second).Sub(s.clock.Now()))
		}
		s.at(time.Second - s.step())
		b.refuses(1, s.step())
		s.at(time.Second)
		b.takes(1)
	}},
	{"C21 more than the capacity is never there", func(s *scene) {
		b := s.bucket(greedy(3, 3, 2*time.Second))
		if p := b.never(4); p.RemainingTokens != 3 || p.TimeToFull != 0 {
			s.Errorf("refused 4 of 3: %s", told(p))
		}
		b.never(math.MaxInt64)
		b.takes(3)
		b.never(4)
		b.refuses(3, 2*time.Second)

		b = s.bucket(greedy(10, 10, time.Second), greedy(3, 3, time.Minute))
		if p := b.never(5); p.Deciding != 1 {
			s.Errorf("5 of 3 a minute: %s; want the second bandwidth to decide", told(p))
		}
		if p := b.never(11); p.Deciding != 0 {
			s.Errorf("11 of both: %s; want the first bandwidth to decide", told(p))
		}
		b.takes(3)
	}},
	{"C44 the wait for the next token", func(s *scene) {
		b := s.bucket(interval(5, 5, 60*time.Second))
		if p := b.takes(5); p.RemainingTokens != 0 || p.NextToken != 60*time.Second {
			s.Errorf("after the last token: %s; want the next one in 60 s", told(p))
		}
		b.refuses(1, 60*time.Second)
		b.refuses(0, 60*time.Second) // asks for a token, and takes none
		s.at(60 * time.Second)
		b.takes(0)
		b.has(5)
	}},
	{"a refused cost and the next token have waits of their own", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Second))
		b.takes(10)
		p := b.refuses(4, 4*time.Second)
		if p.NextToken != time.Second || p.TimeToFull != 10*time.Second {
			s.Errorf("refused 4 of 0: %s", told(p))
		}
		s.at(1500 * time.Millisecond)
		p = b.refuses(4, 2500*time.Millisecond)
		if p.RemainingTokens != 1 || p.NextToken != 0 || p.TimeToFull != 8500*time.Millisecond {
			s.Errorf("refused 4 of 1.5: %s", told(p))
		}
		if p = b.takes(1); p.NextToken != 500*time.Millisecond || p.TimeToFull != 9500*time.Millisecond {
			s.Errorf("took 1 of 1.5: %s", told(p))
		}
	}},
	{"whoever waits as long as told is served", func(s *scene) {
		// A caller with odd costs on odd limits, alone.
		b := s.bucket(greedy(50, 17, 1001*time.Millisecond), interval(40, 13, 700*time.Millisecond), aligned(60, 29, 1300*time.Millisecond, start.Add(time.Second)))
		for i := range int64(s.either(2000, 300)) {
			cost := 1 + i*7919%40
			p, err := b.Consume(s.ctx, cost)
			b.ok("Consume", err)
			if p.Consumed {
				continue
			}
			if p.Wait > s.step() {
				s.later(p.Wait - s.step())
				b.refuses(cost, s.step())
				s.later(s.step())
			} else {
				s.later(p.Wait)
			}
			b.takes(cost)
		}
	}},
}
