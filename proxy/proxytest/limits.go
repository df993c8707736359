package proxytest

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

// Several bandwidths that must all agree.
var limitTests = []bucketTest{
	{"C03 bandwidths are all or nothing", func(s *scene) {
		b := s.bucket(greedy(1, 1, time.Second), greedy(2, 2, time.Minute))
		b.takes(1)
		s.at(100 * time.Millisecond)
		if p := b.refuses(1, 900*time.Millisecond); p.Deciding != 0 || p.TokensOf(1) != 1 {
			s.Errorf("refused by the first: %s", told(p))
		}
		s.at(time.Second)
		b.takes(1)
	}},
	{"C23 the limit that decides is told", func(s *scene) {
		b := s.bucket(interval(4, 4, 20*time.Minute), interval(10, 10, time.Hour))
		for _, want := range [][]int64{{3, 9}, {2, 8}, {1, 7}, {0, 6}} {
			p := b.takes(1)
			if got := levels(p); !slices.Equal(got, want) || p.RemainingTokens != want[0] || p.Deciding != 0 {
				s.Errorf("%s; want %v", told(p), want)
			}
		}
		if p := b.refuses(1, 20*time.Minute); !slices.Equal(levels(p), []int64{0, 6}) || p.Deciding != 0 || p.RemainingTokens != 0 {
			s.Errorf("refused by the first: %s", told(p))
		}
	}},
	{"C23 and its wait", func(s *scene) {
		b := s.bucket(interval(10, 10, time.Hour), interval(12, 12, 24*time.Hour))
		b.takes(10)
		s.at(time.Hour)
		b.takes(2)
		if p := b.refuses(1, 23*time.Hour); p.Deciding != 1 || !slices.Equal(levels(p), []int64{8, 0}) {
			s.Errorf("refused by the second: %s", told(p))
		}
	}},
	{"the longest wait decides a refusal, the fewest tokens a grant", func(s *scene) {
		b := s.bucket(greedy(8, 1, time.Minute), greedy(5, 1, time.Second), greedy(5, 1, time.Second))
		if p := b.takes(3); p.Deciding != 1 || p.RemainingTokens != 2 {
			s.Errorf("granted: %s; want the second bandwidth, the first of equals", told(p))
		}
		b.takes(2)
		// 3, 0 and 0 left: 4 are there in 60 s, 4 s and 4 s.
		if p := b.refuses(4, time.Minute); p.Deciding != 0 || p.NextToken != time.Second || p.TimeToFull != 5*time.Minute {
			s.Errorf("refused: %s; want the first bandwidth, with the longest wait", told(p))
		}
		if p := b.refuses(2, 2*time.Second); p.Deciding != 1 {
			s.Errorf("refused: %s; want the second bandwidth, the first of equals", told(p))
		}
	}},
	{"as many bandwidths as there may be", func(s *scene) {
		for n := 1; n <= bucket.MaxBandwidths; n++ {
			var bandwidths []bandwidth.Bandwidth
			var want []int64
			for i := range n {
				capacity := int64(100 + 10*(n-i))
				bandwidths = append(bandwidths, []bandwidth.Bandwidth{
					greedy(capacity, 1, time.Second), interval(capacity, 1, time.Second), aligned(capacity, 1, time.Second, start),
				}[i%3])
				want = append(want, capacity-100)
			}
			s.at(0)
			b := s.bucket(bandwidths...)
			p := b.takes(100)
			if got := levels(p); !slices.Equal(got, want) || p.Deciding != n-1 || p.RemainingTokens != 10 || p.TimeToFull != 100*time.Second {
				s.Errorf("%d bandwidths: %s; want %v", n, told(p), want)
			}
			p = b.refuses(11, time.Second)
			if p.Deciding != n-1 {
				s.Errorf("%d bandwidths: %s; want the last to decide", n, told(p))
			}
			s.at(5 * time.Second)
			for i := range want {
				want[i] += 5
			}
			b.holds(want...)
		}
	}},
	{"each bandwidth refills by itself", func(s *scene) {
		b := s.bucket(greedy(10, 1, time.Second), interval(10, 5, 7*time.Second), aligned(10, 3, 4*time.Second, start.Add(time.Second)))
		b.takes(10)
		for _, c := range []struct {
			at   time.Duration
			want []int64
		}{
			{999 * time.Millisecond, []int64{0, 0, 0}},
			{1 * time.Second, []int64{1, 0, 3}},
			{5 * time.Second, []int64{5, 0, 6}},
			{7 * time.Second, []int64{7, 5, 6}},
			{9 * time.Second, []int64{9, 5, 9}},
			{20 * time.Second, []int64{10, 10, 10}},
		} {
			s.at(c.at)
			b.holds(c.want...)
		}
	}},
}
