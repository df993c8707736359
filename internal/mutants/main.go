// Command mutants plants known bugs into a copy of the module, one at a time,
// and demands that the tests find each. It prints which test did.
//
//	go run ./internal/mutants [-run regexp] [-every n -from i]
//
// A bug that no test finds, or whose place in the code is gone, is a failure.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("run", ".", "plant only the mutants whose name matches")
	every := flag.Int("every", 1, "plant only one in so many")
	from := flag.Int("from", 0, "begin with this one, counted from 0 and around")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err == nil && *every < 1 {
		err = errors.New("-every must be 1 or more")
	}
	if err == nil {
		err = run(choose(pattern, *every, *from))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// choose returns the mutants of a run.
func choose(pattern *regexp.Regexp, every, from int) (chosen []mutant) {
	for i, m := range mutants {
		if i%every == (from%every+every)%every && pattern.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

func run(mutants []mutant) error {
	dir, err := os.MkdirTemp("", "sluice-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyModule(dir); err != nil {
		return err
	}
	if err := check(dir, mutants); err != nil {
		return err
	}
	var survivors []string
	for i, m := range mutants {
		began := time.Now()
		by, err := m.kill(dir)
		verdict := "killed by " + by
		if err != nil {
			verdict = "SURVIVED: " + err.Error()
			survivors = append(survivors, m.name)
		}
		fmt.Printf("%2d/%d %-45s %s (%.1f s)\n", i+1, len(mutants), m.name, verdict, time.Since(began).Seconds())
	}
	if planted := len(mutants); len(survivors) > 0 || planted == 0 {
		return fmt.Errorf("%d planted, %d survived: %s", planted, len(survivors), strings.Join(survivors, ", "))
	}
	fmt.Printf("%d mutants planted, %d killed\n", len(mutants), len(mutants))
	return nil
}

// check demands that the tests pass while nothing is planted: a test that fails
// anyway finds no bug.
func check(dir string, mutants []mutant) error {
	passed := map[string]bool{}
	for _, m := range mutants {
		key := strings.Join(m.tests, " ")
		if passed[key] {
			continue
		}
		if out, err := m.test(dir); err != nil {
			return fmt.Errorf("without a mutant, go test %s: %w\n%s", key, err, out)
		}
		passed[key] = true
	}
	return nil
}

// copyModule copies the files of the root module that are part of the project.
func copyModule(dir string) error {
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if name == "go.work" || name == "go.work.sum" {
			continue // the copy is one module
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			return err
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// mutant is one planted bug: a text in a file, what to put in its place, and
// the tests that must fail.
type mutant struct {
	name     string
	file     string
	old, new string
	tests    []string // arguments of go test
}

var firstFailure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// kill plants the bug, runs its tests, takes it out again, and returns the name
// of the first test that failed.
func (m *mutant) kill(dir string) (by string, err error) {
	path := filepath.Join(dir, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has the text %d times: %q", m.file, n, m.old)
	}
	mutated := strings.Replace(string(text), m.old, m.new, 1)
	if err := os.WriteFile(path, []byte(mutated), 0o644); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, text, 0o644)) }()

	out, err := m.test(dir)
	if err == nil {
		return "", errors.New("no test failed")
	}
	found := firstFailure.FindSubmatch(out)
	if found == nil { // it did not compile, or hung
		return "", fmt.Errorf("no test failed, but go test did: %.500s", out)
	}
	return string(found[1]), nil
}

// test runs the mutant's tests on what is in the folder.
func (m *mutant) test(dir string) ([]byte, error) {
	test := exec.Command("go", append([]string{"test", "-count=1", "-failfast", "-timeout=5m"}, m.tests...)...)
	test.Dir = dir
	test.Env = append(os.Environ(), "GOWORK=off")
	return test.CombinedOutput()
}
