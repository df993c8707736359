package sluice_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/redistest"
)

// TestProgramsInDocs runs every Go program in the README and the docs and
// compares what it prints with the text block that follows it.
func TestProgramsInDocs(t *testing.T) {
	programs := 0
	for _, file := range documents(t) {
		blocks := fenced(t, file)
		for i, b := range blocks {
			if b.language != "go" {
				continue
			}
			programs++
			if !strings.HasPrefix(b.text, "package main\n") || i+1 == len(blocks) || blocks[i+1].language != "text" {
				t.Errorf("%s: a Go block is not a program followed by its output:\n%s", file, b.text)
				continue
			}
			if got := runProgram(t, b.text); got != blocks[i+1].text {
				t.Errorf("%s prints\n%swant\n%s", file, got, blocks[i+1].text)
			}
		}
	}
	if programs == 0 {
		t.Error("found no program")
	}
}

// TestCommandsInDocs checks that every command in the README and the docs is
// one that works: a make target that exists, or a program of this module.
func TestCommandsInDocs(t *testing.T) {
	commands := 0
	for _, file := range documents(t) {
		for _, b := range fenced(t, file) {
			if b.language != "sh" {
				continue
			}
			for line := range strings.Lines(b.text) {
				command, _, _ := strings.Cut(line, "#")
				words := strings.Fields(command)
				if len(words) == 0 {
					continue
				}
				commands++
				checkCommand(t, file, words)
			}
		}
	}
	if commands == 0 {
		t.Error("found no command")
	}
}

func checkCommand(t *testing.T, file string, words []string) {
	t.Helper()
	var check *exec.Cmd
	switch {
	case words[0] == "make" && len(words) > 1:
		check = exec.Command("make", append([]string{"-n"}, words[1:]...)...)
	case words[0] == "go" && len(words) > 2 && words[1] == "run":
		check = exec.Command("go", "build", "-o", os.DevNull, words[2])
	default:
		t.Errorf("%s: nothing checks %q", file, words)
		return
	}
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%s: %q: %v\n%s", file, words, err, out)
	}
}

func documents(t *testing.T) []string {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append(docs, "README.md", "CONTRIBUTING.md")
}

type block struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func fenced(t *testing.T, file string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	return blocks
}

// runProgram runs the text of a program inside this module, with the address of
// a Redis for tests in place of the usual one.
func runProgram(t *testing.T, text string) string {
	t.Helper()
	if strings.Contains(text, "localhost:6379") {
		text = strings.ReplaceAll(text, "localhost:6379", redistest.Start(t).Addr())
	}
	dir, err := os.MkdirTemp(".", ".docs-program-") // hidden from ./...
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", filepath.Join(dir, "main.go")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
