package main

import (
	"fmt"
	"strings"
	"time"
)

// minutes are ways to say 15 a minute, and what a caller gets who asks every
// 50 ms from the start.
var minutes = []string{
	"15/1m",
	"15/1m interval",
	"15/1m initial=0",
	"15/1m; 3/10s",
	"15/1m burst=1",
	"8/1m burst=7",
}

// madeAt is when the buckets of the tables and panels are made: 20 s before a
// full minute, which only an aligned refill notices.
var madeAt = time.Date(2026, 1, 1, 12, 0, 40, 0, time.UTC)

// busyFor is a caller who asks as often as anybody here, from the start.
func busyFor(d time.Duration, text string) timeline {
	return ask(text, madeAt, every(step, 0, d))
}

// The places of a panel.
const (
	panelWidth, panelHeight = 2440, 2020
	panelsTop               = 760
	panelsAcross            = 3
)

// drawMinutes draws how many requests were granted so far, for each of the ways.
func drawMinutes() []byte {
	rows := int64(len(minutes)+panelsAcross-1) / panelsAcross
	p := newPicture(panelsAcross*panelWidth+280, panelsTop+rows*panelHeight+200, "Fifteen a minute, said in six ways",
		"How many requests are granted over two minutes to a caller who asks every 50 ms, for six configurations.")
	p.text(240, 380, "title", "Fifteen a minute, said in six ways")
	p.text(240, 620, "note", "requests granted to a caller who asks every 50 ms; dotted: 15 a minute; the figure: granted in the first minute")
	for i, text := range minutes {
		column, row := int64(i%panelsAcross), int64(i/panelsAcross)
		drawPanel(p, text, 140+column*panelWidth, panelsTop+row*panelHeight)
	}
	return p.bytes()
}

func drawPanel(p *picture, text string, left, top int64) {
	const span = 2 * time.Minute
	t := busyFor(span, text)
	x := axis{left + 360, left + panelWidth - 120, int64(span)}
	y := axis{top + 1700, top + 420, 45}
	p.text(left+360, top+260, "code", text)
	for _, n := range []int64{0, 15, 30, 45} {
		p.line(x.from, y.of(n), x.to, y.of(n), "grid")
		p.text(x.from-80, y.of(n)+40, "label end", fmt.Sprint(n))
	}
	for _, at := range []time.Duration{0, time.Minute, span} {
		p.text(x.of(int64(at)), y.from+200, "label middle", fmt.Sprintf("%d s", at/time.Second))
	}
	p.line(x.of(int64(time.Minute)), y.from, x.of(int64(time.Minute)), y.to, "grid")
	p.line(x.from, y.from, x.to, y.of(30), "rate")

	var d strings.Builder
	fmt.Fprintf(&d, "M%v %v", px(x.from), px(y.from))
	granted := int64(0)
	for _, try := range t.tries {
		if !try.granted {
			continue
		}
		granted++
		fmt.Fprintf(&d, "H%vV%v", px(x.of(int64(try.at))), px(y.of(granted)))
	}
	fmt.Fprintf(&d, "H%v", px(x.to))
	p.path("level", d.String())
	p.text(x.from+100, y.of(45)+300, "big", fmt.Sprint(t.granted(0, time.Minute)))
}
