package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bucket"
)

// table is rows of cells that the page shows between two comments.
type table struct {
	name string
	rows [][]any // the first is the head
}

func tables() []table {
	return []table{fifteen(), seventeen(), adaptive()}
}

// fifteen is what several ways to say 15 a minute let through.
func fifteen() table {
	t := table{name: "fifteen", rows: [][]any{{"configuration", "first second", "first minute", "second minute", "most in any minute"}}}
	for _, text := range append(minutes, "15/1m aligned=2026-01-01T00:00:00Z", "15/1m aligned=2026-01-01T00:00:00Z initial=adaptive") {
		two := busyFor(2*time.Minute, text)
		t.rows = append(t.rows, []any{
			"`" + text + "`", two.granted(0, time.Second), two.granted(0, time.Minute), two.granted(time.Minute, 2*time.Minute), mostInAnyMinute(text),
		})
	}
	return t
}

// mostInAnyMinute tries 13 callers and tells the most that one of them got in a
// minute: one who is busy from the start, and those who let the bucket fill,
// take one, pause for part of a minute and are busy from then on.
func mostInAnyMinute(text string) int {
	busy := busyFor(3*time.Minute, text)
	most := busy.most(time.Minute)
	const idle = 10 * time.Minute
	for pause := 5 * time.Second; pause <= time.Minute; pause += 5 * time.Second {
		times := append([]time.Duration{idle}, every(step, idle+pause, idle+pause+2*time.Minute)...)
		sly := ask(text, madeAt, times)
		most = max(most, sly.most(time.Minute))
	}
	return most
}

// seventeen is 17 per 30 s under two tries a second for 30 s.
func seventeen() table {
	t := table{name: "seventeen", rows: [][]any{{"configuration", "tries", "granted", "refused"}}}
	for _, text := range []string{"17/30s", "17/30s interval", "17/30s initial=0"} {
		line := ask(text, madeAt, every(500*time.Millisecond, 0, 30*time.Second))
		granted := line.granted(0, 30*time.Second)
		t.rows = append(t.rows, []any{"`" + text + "`", len(line.tries), granted, len(line.tries) - granted})
	}
	return t
}

// adaptive is how many tokens a bucket starts with that is made within an hour,
// and what it has at the next full one.
func adaptive() table {
	const grid = " aligned=2026-01-01T00:00:00Z"
	t := table{name: "adaptive", rows: [][]any{{"configuration", "made at 16:00", "at 16:20", "at 16:59", "each of them at 17:00"}}}
	hour := time.Date(2026, 1, 1, 16, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"100/1h burst=400" + grid, "100/1h burst=400" + grid + " initial=adaptive", "300/1h burst=400" + grid + " initial=adaptive", "400/1h" + grid + " initial=adaptive",
	} {
		row := []any{"`" + text + "`"}
		var last int64
		for _, minute := range []time.Duration{0, 20, 59} {
			now := hour.Add(minute * time.Minute)
			b := bucket.New(configuration(text), bucket.WithClock(func() time.Time { return now }))
			row = append(row, b.Available())
			now = hour.Add(time.Hour)
			last = b.Available()
		}
		t.rows = append(t.rows, append(row, last))
	}
	return t
}

// text is the table in Markdown.
func (t table) text() []byte {
	var b bytes.Buffer
	for i, row := range t.rows {
		for _, cell := range row {
			fmt.Fprintf(&b, "| %v ", cell)
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---")
			for range row[1:] {
				b.WriteString("|---:")
			}
			b.WriteString("|\n")
		}
	}
	return b.Bytes()
}

// fill puts the tables between their comments in a page.
func fill(page []byte) ([]byte, error) {
	for _, t := range tables() {
		begin, end := []byte("<!-- table "+t.name+" -->\n"), []byte("<!-- end -->\n")
		before, rest, ok := bytes.Cut(page, begin)
		_, after, closed := bytes.Cut(rest, end)
		if !ok || !closed {
			return nil, fmt.Errorf("the page has no place for the table %s", t.name)
		}
		page = bytes.Join([][]byte{before, begin, t.text(), end, after}, nil)
	}
	return page, nil
}
