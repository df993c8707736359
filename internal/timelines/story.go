package main

import (
	"fmt"
	"time"
)

// story is one picture of how tokens come and go. All have the same capacity,
// rate and caller, so that only the refill differs.
type story struct {
	name  string
	text  string // the bandwidth
	title string
	tells string
	grid  time.Duration // of an aligned refill
}

var stories = []story{
	{
		name: "greedy", text: "10/10s", title: "Greedy",
		tells: "one token each second, spread evenly over the period",
	},
	{
		name: "interval", text: "10/10s interval", title: "Interval",
		tells: "ten at once when a period ends; a period begins at the first take from a full bucket",
	},
	{
		name: "aligned", text: "10/10s aligned=2026-01-01T00:00:00Z", title: "Aligned",
		tells: "ten at once on the clock, at each full ten seconds, whenever tokens were taken",
		grid:  10 * time.Second,
	},
}

// The scene of the stories: when the bucket is made, how long is looked at, and
// the two spells in which the caller asks four times a second.
var (
	storyStart = time.Date(2026, 1, 1, 12, 0, 4, 0, time.UTC)
	storyEnd   = 46 * time.Second
	storyPause = 250 * time.Millisecond
	storyBusy  = [][2]time.Duration{{2 * time.Second, 18 * time.Second}, {30*time.Second + 500*time.Millisecond, 46 * time.Second}}
)

func (s story) play() timeline {
	var times []time.Duration
	for _, spell := range storyBusy {
		times = append(times, every(storyPause, spell[0], spell[1])...)
	}
	return watch(s.text, storyStart, times, storyEnd)
}

// The places of a story on its picture.
const (
	storyWidth, storyHeight = 7600, 3160
	plotLeft, plotRight     = 820, 6980
	plotTop, plotBottom     = 920, 2120
	grantedTop, refusedTop  = 2280, 2500
	markHeight              = 140
)

func (s story) draw() []byte {
	t := s.play()
	x := axis{plotLeft, plotRight, int64(storyEnd)}
	y := axis{plotBottom, plotTop, 12}
	granted := t.granted(0, storyEnd)
	refused := len(t.tries) - granted

	p := newPicture(storyWidth, storyHeight, s.title+" refill over time", fmt.Sprintf(
		"Tokens of a bucket of capacity 10 with %s refill of 10 in 10 s: %s. Of %d requests %d are granted and %d refused.",
		s.name, s.tells, len(t.tries), granted, refused))
	p.text(240, 380, "title", s.title)
	p.text(1240, 380, "code", s.text)
	p.text(240, 640, "note", s.tells)

	for _, tokens := range []int64{0, 5, 10} {
		p.line(plotLeft, y.of(tokens), plotRight, y.of(tokens), "grid")
		p.text(plotLeft-120, y.of(tokens)+40, "label end", fmt.Sprint(tokens))
	}
	p.text(plotLeft-120, y.of(10)-130, "label end", "tokens")
	for at := storyStart.Truncate(10 * time.Second).Add(10 * time.Second); !at.After(storyStart.Add(storyEnd)); at = at.Add(10 * time.Second) {
		sx := x.of(int64(at.Sub(storyStart)))
		class := "tick"
		if s.grid > 0 {
			class = "boundary"
		}
		p.line(sx, plotTop, sx, refusedTop+markHeight+60, class)
		p.text(sx, refusedTop+markHeight+240, "label middle", at.Format(time.TimeOnly))
	}

	p.steps(&t, x, y)
	for _, r := range t.refills() {
		p.text(x.of(int64(r.at))-50, y.of(11)-10, "refill end", fmt.Sprintf("+%d", r.tokens))
		if s.grid == 0 {
			p.line(x.of(int64(r.at)), plotTop, x.of(int64(r.at)), plotBottom, "boundary")
		}
	}
	quiet := storyBusy[0][1] + 4*time.Second
	p.text(x.of(int64(quiet)), grantedTop+markHeight+80, "note middle", "nobody asks")

	p.text(plotLeft-120, grantedTop+110, "label end", "granted")
	p.text(plotLeft-120, refusedTop+110, "label end", "refused")
	p.marks(&t, true, x, grantedTop, "granted")
	p.marks(&t, false, x, refusedTop, "refused")
	p.text(plotRight+120, grantedTop+110, "count", fmt.Sprint(granted))
	p.text(plotRight+120, refusedTop+110, "count", fmt.Sprint(refused))
	return p.bytes()
}
