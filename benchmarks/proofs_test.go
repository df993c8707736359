package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/benchmarks/page"
	"github.com/sluice-go/sluice/internal/redistest"
)

var proofsPage = flag.String("proofs.page", "", "the page to write what was counted into")

// proof is one input on which limiters are known to differ. What each makes of it is counted. Sluice must be right;
// what others make of it is their affair, and is shown as it is.
type proof struct {
	name, input string
	counted     []string // what the numbers are
	right       []bound
	run         func(t *testing.T, addr string) []tallied
}

// bound is between which numbers the right ones are.
type bound struct{ least, most int }

func exactly(n int) bound { return bound{n, n} }
func atMostN(n int) bound { return bound{0, n} }

func (b bound) String() string {
	if b.least == b.most {
		return fmt.Sprint(b.least)
	}
	return fmt.Sprintf("at most %d", b.most)
}

// tallied is what was counted of one limiter.
type tallied struct {
	who     string
	role    role
	numbers []int
}

func TestProofs(t *testing.T) {
	addr := redistest.Start(t).Addr()
	var b strings.Builder
	b.WriteString("## Known faults, counted\n\nWritten by `make proofs`: the same input to each limiter that can take it. A number that is right is followed by ✓.\n")
	for _, p := range proofs {
		t.Run(p.name, func(t *testing.T) {
			counts := p.run(t, addr)
			b.WriteString(p.table(counts))
			ourselves := 0
			for _, c := range counts {
				for i, n := range c.numbers {
					if c.role == ours && !p.right[i].holds(n) {
						t.Errorf("%s: %s: %d, want %v", c.who, p.counted[i], n, p.right[i])
					}
				}
				if c.role == ours {
					ourselves++
				}
			}
			if ourselves == 0 {
				t.Error("nothing was counted of Sluice")
			}
		})
	}
	t.Log(b.String())
	if *proofsPage != "" && !t.Failed() {
		if err := page.Write(*proofsPage, page.Proofs, b.String()); err != nil {
			t.Fatal(err)
		}
	}
}

func (b bound) holds(n int) bool { return n >= b.least && n <= b.most }

func (p proof) table(counts []tallied) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| | %s |\n|---|%s\n", capitalized(p.name), p.input, strings.Join(p.counted, " | "), strings.Repeat("---:|", len(p.counted)))
	row := func(who string, cells []string) { fmt.Fprintf(&b, "| %s | %s |\n", who, strings.Join(cells, " | ")) }
	var right []string
	for _, r := range p.right {
		right = append(right, r.String())
	}
	row("*right*", right)
	for _, c := range counts {
		var cells []string
		for i, n := range c.numbers {
			cell := fmt.Sprint(n)
			if p.right[i].holds(n) {
				cell += " ✓"
			}
			cells = append(cells, cell)
		}
		row(bold(c.role, c.who), cells)
	}
	return b.String()
}

// named are the contenders of some names, in their order.
func named(t *testing.T, all []contender, names ...string) (found []contender) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(all, func(c contender) bool { return c.name == name })
		if i < 0 {
			t.Fatalf("there is no %s", name)
		}
		found = append(found, all[i])
	}
	return found
}

// opened is a contender ready for a proof; it ends with the test.
func opened(t *testing.T, c contender, addr string, l limit) taker {
	t.Helper()
	take, done, err := c.open(addr, l)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	t.Cleanup(done)
	return take
}

// taken is how many of so many takes are granted.
func taken(t *testing.T, take taker, key string, n int) (granted int) {
	t.Helper()
	for range n {
		ok, err := take(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			return granted
		}
		if ok {
			granted++
		}
	}
	return granted
}
