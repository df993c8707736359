package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/benchmarks/page"
	"github.com/sluice-go/sluice/internal/redistest"
)

// The short form of the benchmarks: every contender works and admits what it should, and every suite can be measured.

func TestContendersAdmitTheLimit(t *testing.T) {
	addr := redistest.Start(t).Addr()
	for kind, contenders := range map[string][]contender{localSuite: keyless(), memorySuite: memoryContenders, redisSuite: redisContenders} {
		for _, c := range contenders {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				take, done, err := c.open(addr, small)
				if err != nil {
					t.Fatal(err)
				}
				defer done()
				got := admitted(take, t.Name(), small)
				switch {
				case c.role == floor:
					if got != 2*small.capacity {
						t.Errorf("a floor granted %d of %d", got, 2*small.capacity)
					}
				case c.inexact != "":
					if got > small.capacity {
						t.Errorf("admits %d of %d, though it is known only that it %s", got, small.capacity, c.inexact)
					}
				case got != small.capacity:
					t.Errorf("admits %d of %d", got, small.capacity)
				}
			})
		}
	}
}

// TestPage measures everything once, briefly and with few keys, and writes a page.
func TestPage(t *testing.T) {
	million, many, batches, kinds = 1000, 1000, 20, []string{onPath(t)}
	r := newResults()
	if err := measure(settings{1, 5 * time.Millisecond, regexp.MustCompile("^(Buckets|Server|Memory)|^Local.* (1|16) goroutines?:|^More.*: (one hot key|100,000 keys, uniform), granted, 256 goroutines:")}, r); err != nil {
		t.Fatal(err)
	}
	if err := r.wrongOutcomes(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "page.md")
	if err := r.charts(file); err != nil {
		t.Fatal(err)
	}
	if err := page.Write(file, page.Benchmarks, r.page(1, time.Second)); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range aims() {
		if row := a.row(r); strings.Contains(row, "not measured") || !strings.Contains(string(written), row) {
			t.Errorf("not on the page: %s", row)
		}
	}
	for _, chapter := range chapters() {
		for _, chart := range chapter.charts {
			drawing, err := os.ReadFile(filepath.Join(filepath.Dir(file), "img", "benchmarks", chart.file+".svg"))
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range r.contenders(chart.suite, chart.work) {
				if !strings.Contains(string(drawing), html.EscapeString(of.contender)) {
					t.Errorf("%s is not in %s", of.contender, chart.file)
				}
			}
		}
	}
}

// TestWrongOutcomes: a row that grants too much or too little fails the run, also where its rounds cancel out.
func TestWrongOutcomes(t *testing.T) {
	r := newResults()
	for who, counts := range map[string][]float64{"right": {0, 0}, "wrong": {1, -1}, "not counted": {nothing.wrong}} {
		for _, n := range counts {
			s := nothing
			s.wrong = n
			r.add(id{redisSuite, hotKey, who}, rival, s)
		}
	}
	want := redisSuite + ": " + hotKey + ": wrong: 2 wrong outcomes"
	if err := r.wrongOutcomes(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// onPath is the kind of the server on PATH.
func onPath(t *testing.T) (kind string) {
	if err := owned(func(own *owner) error {
		s, err := startServer(own)
		if err == nil {
			kind = s.name
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return kind
}
