package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRun runs the program in a bubble, where time moves by its sleeps alone,
// so that every line is known.
func TestRun(t *testing.T) {
	const story = `  served, 2 left
  served, 1 left
  served, 0 left
  refused, next token in 200ms: waiting
  served, 0 left
`
	const want = "A bucket of this process:\n" + story +
		"The bucket of alice:\n" + story +
		"The bucket of bob:\n" + story

	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var out strings.Builder
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		if took := time.Since(begun); took != 600*time.Millisecond {
			t.Errorf("took %v, want the three waits of 200ms", took)
		}
	})
}
