package faults_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/sluice-go/sluice/internal/faults"
	"github.com/sluice-go/sluice/internal/redistest"
)

var length = flag.Duration("faults.length", 300*time.Millisecond, "how long each fault lasts")

// Each call has a deadline; what is asserted is what holds on a machine that is busy with much else too, and what was
// measured is in the table.
const (
	deadline     = 250 * time.Millisecond
	inTime       = deadline + 2*time.Second
	soon         = 10 * time.Second // back to normal
	socketMargin = 10 * time.Second // beyond the socket timeout, for what was given up
)

// site is a server with a fault, and the way to it that clients take.
type site struct {
	t       *testing.T
	server  *redistest.Server
	link    *faults.Link
	admin   *goclient.Client // straight to the server
	started sync.WaitGroup
}

// do is a command to the server past what is wrong.
func (s *site) do(words ...any) {
	s.t.Helper()
	if err := s.admin.Do(s.t.Context(), words...).Err(); err != nil {
		s.t.Fatalf("%v: %v", words, err)
	}
}

// start begins a command that the server is busy with until it ends, well or not.
func (s *site) start(words ...any) {
	s.started.Go(func() { _ = s.admin.Do(s.t.Context(), words...).Err() })
}

func open(t *testing.T, f *fault) *site {
	t.Helper()
	s := &site{t: t, server: redistest.Start(t, f.server...)}
	s.link = faults.NewLink(t, s.server.Addr())
	s.admin = goclient.NewClient(&goclient.Options{
		Addr: s.server.Addr(), Password: f.password, ReadTimeout: time.Minute, MaxRetries: -1,
	})
	t.Cleanup(func() { _ = s.admin.Close() }) // closed once
	s.do("PING")
	return s
}

// row is one fault on one client library.
type row struct {
	fault, client string
	outcomes
	recovery     time.Duration
	excess       int64 // tokens admitted beyond the limit
	falseDenials int64
	left         time.Duration // until nothing that was given up went on
}

func (r row) String() string {
	var failures []string
	for kind, n := range r.failures {
		failures = append(failures, fmt.Sprint(n, " ", kind))
	}
	slices.Sort(failures)
	return fmt.Sprintf("| %s | %s | %d | %s | %v | %v | %d | %d | %v |", r.fault, r.client, r.decided,
		strings.Join(failures, ", "), r.longest.Round(time.Millisecond), r.recovery.Round(time.Millisecond),
		r.excess, r.falseDenials, r.left.Round(time.Millisecond))
}

func TestFaults(t *testing.T) {
	table := []string{
		"| fault | client | decisions | errors | longest call | normal after | over-admitted | false denials | nothing goes on after |",
		"|---|---|---|---|---|---|---|---|---|",
	}
	for i := range all {
		for _, library := range faults.Libraries {
			t.Run(all[i].name+"/"+library.Name, func(t *testing.T) {
				table = append(table, strike(t, &all[i], library).String())
			})
		}
	}
	fmt.Printf("Deadline of each call %v, length of each fault %v\n\n%s\n", deadline, *length, strings.Join(table, "\n"))
}

// strike plays one fault while callers take, and returns what they saw.
func strike(t *testing.T, f *fault, library faults.Library) row {
	s := open(t, f)
	if f.prepare != nil {
		f.prepare(s)
	}
	others := goleak.IgnoreCurrent()
	if f.atStart {
		f.begin(s)
	}
	addr := s.server.Addr()
	if f.far {
		addr = s.link.Addr()
	}
	client, err := library.Dial(addr, faults.Settings{
		Password: f.password, SocketTimeout: f.socketTimeout, Lazy: f.atStart,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, client)
	if !f.atStart {
		l.awaitDecisions(time.Time{}, 3)
		f.begin(s)
	}
	time.Sleep(*length) // the fault's
	if f.end != nil {
		f.end(s)
	}
	over := time.Now()
	l.awaitDecisions(over, 10)
	l.end()

	r := row{fault: f.name, client: library.Name, outcomes: l.outcomes(), recovery: l.recovery(over)}
	r.left = awaitNoCalls(t, max(f.socketTimeout, library.SocketTimeout))
	r.excess, r.falseDenials = l.excess(f.loses), l.falseDenials(f.loses)
	client.Close()
	judge(t, r, others)
	return r
}

func judge(t *testing.T, r row, others goleak.Option) {
	t.Helper()
	switch {
	case r.unexpected != nil:
		t.Errorf("an error of no kind that is expected: %v", r.unexpected)
	case r.longest > inTime:
		t.Errorf("a call took %v, its deadline was %v", r.longest, deadline)
	case r.recovery > soon:
		t.Errorf("decisions are normal only %v after the fault", r.recovery)
	case r.excess > 0:
		t.Errorf("%d tokens too many were admitted or charged", r.excess)
	case r.falseDenials > 0:
		t.Errorf("%d calls were refused though there were tokens", r.falseDenials)
	}
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		err := goleak.Find(others)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Error(err)
			return
		}
	}
}
