package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const docs = "../../docs"

var made = sync.OnceValues(func() ([]file, error) { return files(docs) })

// What is committed is what the program makes now. After a change of it:
//
//	go run ./internal/timelines
func TestCommittedFilesAreCurrent(t *testing.T) {
	made, err := made()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range made {
		known[f.name] = true
		committed, err := os.ReadFile(filepath.Join(docs, f.name))
		if err != nil || !bytes.Equal(committed, f.content) {
			t.Errorf("%s is not what the program makes now (%v): run go run ./internal/timelines", f.name, err)
		}
	}
	pictures, err := filepath.Glob(filepath.Join(docs, "img", "*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "bandwidths.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pictures {
		if name := "img/" + filepath.Base(path); !known[name] || !bytes.Contains(page, []byte("]("+name+")")) {
			t.Errorf("%s is not made by the program, or not shown on the page", name)
		}
	}
}

func TestRunWritesThem(t *testing.T) {
	dir := t.TempDir()
	page, err := os.ReadFile(filepath.Join(docs, "bandwidths.md"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bandwidths.md"), page, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	if written, err := filepath.Glob(filepath.Join(dir, "img", "*.svg")); len(written) != len(stories)+1 {
		t.Errorf("wrote %v, %v", written, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bandwidths.md"), []byte("no tables"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err == nil {
		t.Error("a page without a place for the tables is accepted")
	}
}

// The numbers that people trip over, worked out by hand.
func TestWhatACallerGets(t *testing.T) {
	const minute = time.Minute
	for name, tc := range map[string]struct {
		text  string
		pause time.Duration
		span  time.Duration
		want  int
	}{
		"15 at once and one each 4 s":                 {"15/1m", step, minute, 15 + 14},
		"the 30th comes at the full minute":           {"15/1m", step, minute + step, 15 + 15},
		"15 at once and no more":                      {"15/1m interval", step, minute, 15},
		"17 at once and one each 30/17 s":             {"17/30s", 500 * time.Millisecond, 30 * time.Second, 17 + 16},
		"17 at once":                                  {"17/30s interval", 500 * time.Millisecond, 30 * time.Second, 17},
		"one each 4 s":                                {"15/1m initial=0", step, minute, 14},
		"three at once and three each 10 s":           {"15/1m; 3/10s", step, minute, 3 + 17},
		"one at once and one each 4 s":                {"15/1m burst=1", step, minute, 1 + 14},
		"seven at once and one each 7.5 s":            {"8/1m burst=7", step, minute, 7 + 7},
		"15 before the full minute and 15 after":      {"15/1m aligned=2026-01-01T00:00:00Z", step, minute, 15 + 15},
		"a third of 15 for a third of a minute, then": {"15/1m aligned=2026-01-01T00:00:00Z initial=adaptive", step, minute, 5 + 15},
	} {
		line := ask(tc.text, madeAt, every(tc.pause, 0, tc.span))
		if got := line.granted(0, tc.span); got != tc.want {
			t.Errorf("%s: %s grants %d in %v, want %d", name, tc.text, got, tc.span, tc.want)
		}
	}
}

func TestMost(t *testing.T) {
	line := timeline{tries: []try{{0, true}, {1, false}, {2, true}, {3, true}, {5, true}, {6, true}}}
	for span, want := range map[time.Duration]int{1: 1, 2: 2, 4: 3, 5: 4, 6: 4, 7: 5} {
		if got := line.most(span); got != want {
			t.Errorf("most in %d is %d, want %d", span, got, want)
		}
	}
}

// When tokens come back in the pictures, counted from 12:00:04.
func TestStories(t *testing.T) {
	want := map[string][]level{
		"greedy":   nil, // one by one
		"interval": {{12 * time.Second, 10}, {22 * time.Second, 10}, {40*time.Second + 500*time.Millisecond, 10}},
		"aligned":  {{6 * time.Second, 10}, {16 * time.Second, 10}, {26 * time.Second, 8}, {36 * time.Second, 10}, {46 * time.Second, 10}},
	}
	for _, s := range stories {
		line := s.play()
		if got := line.refills(); !slices.Equal(got, want[s.name]) {
			t.Errorf("%s: refills %v, want %v", s.name, got, want[s.name])
		}
	}
}

// A picture is well-formed, tells a reader who cannot see it what it shows, and
// fetches nothing.
func TestPicturesStandAlone(t *testing.T) {
	made, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range made {
		if !strings.HasSuffix(f.name, ".svg") {
			continue
		}
		d := xml.NewDecoder(bytes.NewReader(f.content))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
		}
		text := strings.Replace(string(f.content), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
		if strings.Contains(text, "//") || strings.Contains(text, "url(") || strings.Contains(text, "href") {
			t.Errorf("%s points elsewhere", f.name)
		}
		for _, part := range []string{"<title ", "<desc ", "prefers-color-scheme: dark"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s", f.name, part)
			}
		}
	}
}

func TestPixels(t *testing.T) {
	for l, want := range map[px]string{0: "0", 10: "1", 12: "1.2", 1230: "123"} {
		if got := l.String(); got != want {
			t.Errorf("%d tenths are %s, want %s", int64(l), got, want)
		}
	}
	if got := (axis{100, 200, 4}).of(3); got != 175 {
		t.Errorf("got %d", got)
	}
	if got := (axis{200, 100, 4}).of(3); got != 125 {
		t.Errorf("got %d", got)
	}
}
