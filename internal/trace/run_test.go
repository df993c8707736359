package trace_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/trace"
)

// A target that is wrong about something is found, by the same trace for the
// same seed, and shown by a short one.
func TestRunFindsFaults(t *testing.T) {
	subject := stepSubject("a wrong one", func(e bucket.Entry) bucket.Entry { return e })
	right := subject.New
	subject.New = func(s trace.Start) (trace.Target, error) {
		target, err := right(s)
		return floored{target}, err
	}
	first, again := failure(subject), failure(subject)
	if first != again {
		t.Errorf("one seed, two failures:\n%s\n%s", first, again)
	}
	if !strings.Contains(first, "NextToken is 0ns") || strings.Contains(first, "\n   4. ") {
		t.Errorf("want a short trace that ends in the fault, got\n%s", first)
	}
}

// floored tells that a token can be had when it is a microsecond away.
type floored struct{ trace.Target }

func (f floored) Do(req bucket.Request, rule expiration.Rule, now int64) (bucket.Result, error) {
	r, err := f.Target.Do(req, rule, now)
	if r.NextToken == 1000 {
		r.NextToken = 0
	}
	return r, err
}

// failure is what Run says about the subject.
func failure(s trace.Subject) string {
	tb := &recorder{}
	done := make(chan bool)
	go func() {
		defer close(done)
		trace.Run(tb, s, 20_000, 1)
	}()
	<-done
	return tb.text
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Failed() bool              { return r.text != "" }
func (r *recorder) Fatalf(f string, v ...any) { r.text = fmt.Sprintf(f, v...); runtime.Goexit() }
