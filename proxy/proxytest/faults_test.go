package proxytest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// faultVariable names the fault that TestStore's store has in a child process.
const faultVariable = "SLUICE_FAULTY_STORE"

const traces = "random_traces_give_the_answers_of_the_model"

// faults are what a store may get wrong, and the tests that are there to catch
// each of them.
var faults = map[string]struct {
	store  func(*store) proxy.Backend
	caught []string
}{
	"none": {store: sound},
	"lost update": {
		func(s *store) proxy.Backend { return proxy.CompareAndSwap(blind{s}, codec.MessagePack{}) },
		[]string{
			"C11_no_more_than_the_capacity,_from_the_first_use_on,_from_several_managers",
			"C11_with_costs_of_all_sizes,_from_several_managers",
		},
	},
	"early expiry": {
		func(s *store) proxy.Backend { return proxy.CompareAndSwap(hasty{s}, codec.MessagePack{}) },
		[]string{"C36_a_bucket_outlives_its_key", "a_key_in_debt_lives_until_it_is_full", traces},
	},
	"no retention": {
		func(s *store) proxy.Backend { return forgetful{sound(s)} },
		[]string{"C50_credit_outlives_a_bucket_that_is_full"},
	},
	"dropped remainder": {
		func(s *store) proxy.Backend { return proxy.CompareAndSwap(s, coarse{}) },
		[]string{"C02_a_little_faster_than_the_rate", "refill_does_not_depend_on_who_looks"},
	},
	"late clock": {
		func(s *store) proxy.Backend { return shifted(s, -time.Second) },
		[]string{"C51_a_day_has_24_hours", "the_first_refill_only_places_the_grid"},
	},
	"early clock": {
		func(s *store) proxy.Backend { return shifted(s, time.Second) },
		[]string{"C51_a_day_has_24_hours", "the_first_refill_only_places_the_grid"},
	},
	"write on refusal": {
		func(s *store) proxy.Backend { return busy{sound(s)} },
		[]string{"C28_a_refused_first_call_leaves_no_key", "nor_does_a_refusal"},
	},
}

func sound(s *store) proxy.Backend { return proxy.CompareAndSwap(s, codec.MessagePack{}) }

// blind swaps whatever is there.
type blind struct{ *store }

func (b blind) Swap(ctx context.Context, key string, _ proxy.Stored, next []byte, life expiration.Life) (proxy.Stored, bool, error) {
	runtime.Gosched() // others come between
	now, _ := b.Load(ctx, key)
	return b.store.Swap(ctx, key, now, next, life)
}

// hasty keeps keys for half their lives.
type hasty struct{ *store }

func (h hasty) Swap(ctx context.Context, key string, was proxy.Stored, next []byte, life expiration.Life) (proxy.Stored, bool, error) {
	return h.store.Swap(ctx, key, was, next, life/2)
}

// coarse forgets parts of tokens and of periods.
type coarse struct{ codec.MessagePack }

func (c coarse) Append(dst []byte, e bucket.Entry) []byte {
	for i := range e.State.Levels {
		e.State.Levels[i].Rem = 0
	}
	return c.MessagePack.Append(dst, e)
}

// shifted has a clock that is wrong by d.
func shifted(s *store, d time.Duration) proxy.Backend {
	now := s.now
	s.now = func() time.Time { return now().Add(d) }
	return sound(s)
}

// forgetful does not keep what says more than an absent key.
type forgetful struct{ proxy.Backend }

func (f forgetful) Do(ctx context.Context, ds []proxy.Decision) {
	for i := range ds {
		for j := range ds[i].Charges {
			ds[i].Charges[j].Rule.Retention = time.Microsecond
		}
	}
	f.Backend.Do(ctx, ds)
}

// busy writes the settled state when it refuses.
type busy struct{ proxy.Backend }

func (b busy) Do(ctx context.Context, ds []proxy.Decision) {
	b.Backend.Do(ctx, ds)
	for _, d := range ds {
		if d.Err != nil || d.Results[0].Consumed || d.Charges[0].Op.Kind != bucket.OpConsume {
			continue
		}
		for _, kind := range []bucket.Kind{bucket.OpForce, bucket.OpForceAdd} {
			again := d
			again.Charges, again.Results = slices.Clone(d.Charges), slices.Clone(d.Results)
			again.Charges[0].Op = bucket.Operation{Kind: kind, Tokens: 1}
			b.Backend.Do(ctx, []proxy.Decision{again})
		}
	}
}

// TestSuiteCatchesFaults runs the suite in child processes, each with another
// fault in the store, and demands that it fails where it should. They run all at
// once, since the suite mostly sleeps.
func TestSuiteCatchesFaults(t *testing.T) {
	children := map[string]*child{}
	for name := range faults {
		children[name] = startSuite(t, name)
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			failed, output, err := children[name].wait()
			if name == "none" {
				if err != nil {
					t.Errorf("the sound store fails %q: %v\n%s", failed, err, output)
				}
				return
			}
			if !slices.ContainsFunc(fault.caught, func(want string) bool { return slices.Contains(failed, want) }) {
				t.Errorf("caught by none of %q: %v\n%s", fault.caught, err, output)
			}
			t.Logf("caught by %d: %s", len(failed), strings.Join(failed, ", "))
		})
	}
}

// child is a process that runs TestStore.
type child struct {
	process *exec.Cmd
	output  bytes.Buffer
}

// startSuite starts TestStore on a store with a fault.
func startSuite(t *testing.T, fault string) *child {
	t.Helper()
	c := &child{process: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStore$")}
	c.process.Env = append(os.Environ(), faultVariable+"="+fault)
	c.process.Stdout, c.process.Stderr = &c.output, &c.output
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

var failedTest = regexp.MustCompile(`(?m)^ +--- FAIL: TestStore/([^/\n]+) \(`)

// wait returns the names of the subtests that failed and all that was printed.
func (c *child) wait() (failed []string, output string, err error) {
	err = c.process.Wait()
	for _, match := range failedTest.FindAllSubmatch(c.output.Bytes(), -1) {
		failed = append(failed, string(match[1]))
	}
	return failed, c.output.String(), err
}
