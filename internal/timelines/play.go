package main

import (
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// step is how finely time is looked at, and how often the busiest callers ask.
const step = 50 * time.Millisecond

// timeline is what happened to a bucket. Instants count from its making.
type timeline struct {
	tries []try
	// What was watched: the level at the start and after each change.
	levels []level
	until  time.Duration
}

// try is one request for one token.
type try struct {
	at      time.Duration
	granted bool
}

// level is how many tokens there were from an instant on.
type level struct {
	at     time.Duration
	tokens int64
}

// configuration reads the text form, which is what the page shows.
func configuration(text string) bucket.Configuration { return bucket.Must(bucket.Parse(text)) }

// ask makes a bucket at an instant and asks it for a token at each of the
// times.
func ask(text string, made time.Time, times []time.Duration) timeline {
	now := made
	b := bucket.New(configuration(text), bucket.WithClock(func() time.Time { return now }))
	var t timeline
	for _, at := range times {
		now = made.Add(at)
		t.tries = append(t.tries, try{at, b.TryConsume(1)})
	}
	return t
}

// watch is ask, and looks at the level all the time.
func watch(text string, made time.Time, times []time.Duration, until time.Duration) timeline {
	now := made
	b := bucket.New(configuration(text), bucket.WithClock(func() time.Time { return now }))
	t := timeline{until: until}
	for at := time.Duration(0); at <= until; at += step {
		now = made.Add(at)
		t.look(at, b)
		if len(times) > 0 && times[0] == at {
			t.tries = append(t.tries, try{at, b.TryConsume(1)})
			t.look(at, b)
			times = times[1:]
		}
	}
	return t
}

// look notes the level if it has changed. Looking leaves no trace.
func (t *timeline) look(at time.Duration, b *bucket.Local) {
	tokens := b.Available()
	if n := len(t.levels); n == 0 || t.levels[n-1].tokens != tokens {
		t.levels = append(t.levels, level{at, tokens})
	}
}

// granted is how many tries from one instant up to, not including, another were
// granted.
func (t *timeline) granted(from, to time.Duration) (n int) {
	for _, try := range t.tries {
		if try.granted && try.at >= from && try.at < to {
			n++
		}
	}
	return n
}

// most is the greatest number granted in any span of a length.
func (t *timeline) most(span time.Duration) (most int) {
	var inside []time.Duration
	for _, try := range t.tries {
		if !try.granted {
			continue
		}
		inside = append(inside, try.at)
		for inside[0] <= try.at-span {
			inside = inside[1:]
		}
		most = max(most, len(inside))
	}
	return most
}

// refills are the rises by more than one token.
func (t *timeline) refills() (rises []level) {
	for i := 1; i < len(t.levels); i++ {
		if rise := t.levels[i].tokens - t.levels[i-1].tokens; rise > 1 {
			rises = append(rises, level{t.levels[i].at, rise})
		}
	}
	return rises
}

// every is the times of a caller who asks again and again, from one instant up
// to, not including, another.
func every(pause, from, to time.Duration) (times []time.Duration) {
	for at := from; at < to; at += pause {
		times = append(times, at)
	}
	return times
}
