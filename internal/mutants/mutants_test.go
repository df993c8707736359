package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mutant whose place in the code is gone tests nothing.
func TestMutantsHaveTheirPlace(t *testing.T) {
	for _, m := range mutants {
		text, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s: %s has the text %d times: %q", m.name, m.file, n, m.old)
		}
		if m.old == m.new {
			t.Errorf("%s changes nothing", m.name)
		}
	}
}
