package proxytest

import (
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

func aligned(capacity, tokens int64, period time.Duration, first time.Time, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return limit(capacity, bandwidth.Aligned(tokens, period, first), opts...)
}

// Aligned refill: intervals on a grid that is fixed on the clock.
var alignedTests = []bucketTest{
	{"C51 an adaptive start is the share of the time left", func(s *scene) {
		five := time.Date(2026, time.May, 4, 17, 0, 0, 0, time.UTC)
		s.clock.set(five.Add(-40 * time.Minute))
		b := s.bucket(aligned(400, 100, time.Hour, five, bandwidth.WithAdaptiveInitialTokens()))
		b.takes(366)
		b.refuses(1, 40*time.Minute)
		s.clock.set(five.Add(-s.step()))
		b.refuses(1, s.step())
		s.clock.set(five)
		b.takes(100)
		b.refuses(1, time.Hour)
	}},
	{"C51 the share is rounded down", func(s *scene) {
		for _, c := range []struct {
			gone time.Duration // of the running period
			want int64
		}{
			{0, 10}, {s.step(), 9}, {18*time.Minute - s.step(), 7}, {18 * time.Minute, 7}, {18*time.Minute + s.step(), 6}, {time.Hour - s.step(), 0},
		} {
			s.at(c.gone)
			s.bucket(aligned(10, 10, time.Hour, start, bandwidth.WithAdaptiveInitialTokens())).has(c.want)
			s.bucket(aligned(10, 40, time.Hour, start, bandwidth.WithAdaptiveInitialTokens())).has(c.want)
		}
	}},
	{"C51 a day has 24 hours", func(s *scene) {
		// Calendars are not offered: a period has a fixed length. So a daily
		// limit that starts at midnight in Berlin moves to 01:00 when summer
		// time begins, as documented.
		winter, summer := time.FixedZone("CET", 3600), time.FixedZone("CEST", 7200)
		midnight := time.Date(2026, time.March, 28, 0, 0, 0, 0, winter)
		s.clock.set(midnight.Add(-time.Minute))
		b := s.bucket(aligned(10, 10, 24*time.Hour, midnight))
		for _, refill := range []time.Time{
			midnight,
			time.Date(2026, time.March, 29, 0, 0, 0, 0, winter),
			time.Date(2026, time.March, 30, 1, 0, 0, 0, summer),
			time.Date(2026, time.March, 31, 1, 0, 0, 0, summer),
		} {
			b.takes(10)
			b.refuses(1, refill.Sub(s.clock.Now()))
			s.clock.set(refill.Add(-s.step()))
			b.has(0)
			s.clock.set(refill)
		}
	}},
	{"C51 calls close to a boundary refill once", func(s *scene) {
		s.at(-5 * time.Millisecond)
		b := s.bucket(aligned(10, 10, time.Hour, start))
		b.takes(10)
		var taken int64
		for range 10 {
			s.later(time.Millisecond)
			taken += b.tries(2)
		}
		if taken != 10 {
			s.Errorf("10 calls around the boundary took %d tokens in all, want one refill of 10", taken)
		}
	}},
	{"the first refill only places the grid", func(s *scene) {
		const period = time.Minute
		for _, first := range []time.Duration{25 * time.Second, 25*time.Second + 1_000_000*period, 25*time.Second - 1_000_000*period} {
			s.at(0)
			b := s.bucket(aligned(10, 4, period, start.Add(first)))
			b.takes(10)
			b.refuses(1, 25*time.Second)
			b.refuses(5, 85*time.Second)
			s.at(25 * time.Second)
			b.has(4)
			b.refuses(5, period)
			s.at(85 * time.Second)
			b.takes(8)
			b.refuses(1, period)
		}
	}},
	{"the grid outlives a full bucket", func(s *scene) {
		b := s.bucket(aligned(10, 10, time.Minute, start.Add(25*time.Second)))
		b.takes(10)
		s.at(5 * time.Second)
		b.adds(10, 10)
		b.takes(10)
		b.refuses(1, 20*time.Second)
		s.at(10 * time.Second)
		b.resets()
		b.takes(10)
		b.refuses(1, 15*time.Second)
		s.at(10 * time.Minute)
		b.takes(10)
		b.refuses(1, 25*time.Second)
	}},
	{"the grid does not depend on the sign of the clock", func(s *scene) {
		epoch := time.Unix(0, 0)
		for _, first := range []time.Time{epoch, epoch.Add(-9 * time.Second), epoch.Add(12 * time.Second)} {
			s.clock.set(epoch.Add(-2 * time.Second))
			b := s.bucket(aligned(10, 10, 3*time.Second, first))
			b.takes(10)
			b.refuses(1, 2*time.Second)
			s.clock.set(epoch.Add(-s.step()))
			b.refuses(1, s.step())
			s.clock.set(epoch)
			b.takes(10)
			b.refuses(1, 3*time.Second)
		}
	}},
}
