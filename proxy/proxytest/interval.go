package proxytest

import "time"

// Interval refill: all tokens of a period at its end, counted from the take that
// leaves a full bucket.
var intervalTests = []bucketTest{
	{"C25 an interval keeps its phase", func(s *scene) {
		b := s.bucket(interval(5, 1, 10*time.Second))
		b.takes(5)
		for _, c := range []struct{ at, available int64 }{{9, 0}, {10, 1}, {25, 2}, {29, 2}, {30, 3}} {
			s.at(time.Duration(c.at) * time.Second)
			b.has(c.available)
		}
	}},
	{"C25 through takes and refusals", func(s *scene) {
		b := s.bucket(interval(5, 1, 10*time.Second))
		b.takes(5)
		s.at(9 * time.Second)
		b.refuses(1, time.Second)
		s.at(15 * time.Second)
		b.takes(1)
		b.refuses(1, 5*time.Second)
		s.at(29 * time.Second)
		b.takes(1)
		b.refuses(1, time.Second)
		s.at(30 * time.Second)
		b.takes(1)
		b.refuses(2, 20*time.Second)
	}},
	{"an interval starts at the take that leaves full", func(s *scene) {
		b := s.bucket(interval(10, 10, 10*time.Second))
		s.at(7 * time.Second)
		b.takes(4)
		s.at(12 * time.Second)
		b.takes(6)
		b.refuses(1, 5*time.Second)
		s.at(40 * time.Second) // long full again
		b.takes(10)
		b.refuses(1, 10*time.Second)
	}},
	{"an interval that adding or filling ends starts anew", func(s *scene) {
		b := s.bucket(interval(10, 10, 10*time.Second))
		for _, fill := range []func(){func() { b.adds(10, 10) }, b.resets} {
			b.takes(10)
			s.later(4 * time.Second)
			fill()
			s.later(2 * time.Second)
			b.takes(10)
			b.refuses(1, 10*time.Second)
			s.later(10 * time.Second)
		}
	}},
	{"adding less than all keeps the interval", func(s *scene) {
		b := s.bucket(interval(10, 10, 10*time.Second))
		b.takes(10)
		s.at(4 * time.Second)
		b.adds(3, 3)
		b.takes(3)
		b.refuses(1, 6*time.Second)
	}},
	{"every interval that passed counts", func(s *scene) {
		b := s.bucket(interval(100, 7, 10*time.Second))
		b.takes(100)
		s.at(35 * time.Second)
		b.takes(21)
		b.refuses(1, 5*time.Second)
		b.refuses(8, 15*time.Second)
		s.at(149 * time.Second)
		b.has(77)
		s.at(150 * time.Second)
		b.has(84)
		s.at(180 * time.Second)
		b.has(100)
	}},
	{"an interval gives more than the capacity holds", func(s *scene) {
		b := s.bucket(interval(3, 5, 10*time.Second))
		b.takes(1)
		s.at(10 * time.Second)
		b.takes(3)
		b.refuses(3, 10*time.Second)
	}},
	{"a token is there at the end of its interval", func(s *scene) {
		for _, period := range []time.Duration{time.Microsecond, time.Millisecond, 1234567 * time.Microsecond, 24 * time.Hour} {
			s.at(0)
			b := s.bucket(interval(1, 1, period))
			b.takes(1)
			s.at(period - s.step())
			if period > s.step() {
				b.refuses(1, s.step())
			}
			s.at(period)
			b.takes(1)
		}
	}},
}
