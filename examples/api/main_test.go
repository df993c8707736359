package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
)

// asProgram makes this test binary the program itself, so that tests have real
// processes, with the race detector in them.
const asProgram = "API_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is a running process of the service.
type program struct {
	cmd    *exec.Cmd
	url    string
	client http.Client
	failed atomic.Int64    // answers of 503
	stderr strings.Builder // complete once read is closed
	read   chan struct{}
	end    sync.Once
}

var listening = regexp.MustCompile(`msg=listening addr=(\S+)`)

// start starts the program on a free port. It must end well with the test.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{
		cmd:    exec.Command(os.Args[0], append([]string{"-addr", "127.0.0.1:0"}, args...)...),
		client: http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}},
		read:   make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t, syscall.SIGTERM) })

	addr := make(chan string, 1)
	go func() {
		defer close(p.read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.stderr.WriteString(lines.Text() + "\n")
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				addr <- found[1]
			}
		}
	}()
	select {
	case a := <-addr:
		p.url = "http://" + a + "/api/quote"
	case <-p.read:
		t.Fatalf("the program ended:\n%s", p.stderr.String())
	case <-time.After(20 * time.Second):
		t.Fatal("the program does not listen")
	}
	return p
}

// stop ends the program by a signal, which it obeys with exit code 0.
func (p *program) stop(t *testing.T, sig os.Signal) {
	p.end.Do(func() {
		p.client.CloseIdleConnections()
		_ = p.cmd.Process.Signal(sig) // fails if it has ended: the exit code tells
		late := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
		defer late.Stop()
		<-p.read
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("after %v: %v\n%s", sig, err, p.stderr.String())
		}
	})
}

// get asks for a quote; headers are names and values in turn.
func (p *program) get(t *testing.T, ctx context.Context, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := p.client.Do(r)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	got := read(t, response)
	if got.status == http.StatusServiceUnavailable {
		p.failed.Add(1)
	}
	return got
}

func TestProgramInMemory(t *testing.T) {
	p := start(t, "-trusted-proxies", "127.0.0.0/8", "-api-keys", "k")
	for _, tt := range []struct {
		headers []string
		want    int64
	}{
		{nil, 19},
		{[]string{"X-Api-Key", "k"}, 119},
		{[]string{"X-Api-Key", "demo-key-1"}, 18},
		{[]string{"X-Forwarded-For", "1.2.3.4, 203.0.113.9"}, 19},
		{[]string{"X-Forwarded-For", "1.2.3.5", "X-Forwarded-For", "203.0.113.9"}, 18},
	} {
		if got := p.get(t, t.Context(), tt.headers...); got.remaining != tt.want {
			t.Errorf("%q: %+v, want %d left", tt.headers, got, tt.want)
		}
	}
}

func TestTwoProgramsShareBuckets(t *testing.T) {
	for _, modes := range [][2]string{
		{"lua goredis", "lua goredis"},
		{"cas goredis", "cas goredis"},
		{"lua goredis", "cas goredis"},
		{"lua rueidis", "lua goredis"},
		{"cas rueidis", "lua rueidis"},
	} {
		t.Run(modes[0]+" and "+modes[1], func(t *testing.T) {
			server := redistest.Start(t)
			var programs []*program
			for _, m := range modes {
				mode, client, _ := strings.Cut(m, " ")
				programs = append(programs, start(t, "-store", server.URL(), "-mode", mode, "-client", client))
			}
			begun := time.Now()
			count := map[int]int{}
			for i := range 50 {
				count[programs[i%2].get(t, t.Context()).status]++
			}
			// A token that came back meanwhile, one in 3 s, was granted.
			refilled := int(time.Since(begun) / (3 * time.Second))
			if count[200] < 20 || count[200] > 20+refilled || count[200]+count[429] != 50 {
				t.Errorf("answers %v, want 20 of 200 and 30 of 429", count)
			}
			for i, want := range []int64{119, 118} {
				got := programs[i].get(t, t.Context(), "X-Api-Key", knownKey)
				if got.remaining < want || got.status != 200 {
					t.Errorf("known key at program %d: %+v, want %d left", i+1, got, want)
				}
			}
			checkNames(t, server)
		})
	}
}

// checkNames checks that the names in Redis tell no API key.
func checkNames(t *testing.T, server *redistest.Server) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	names, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^sluice:(address:127\.0\.0\.1|key:[0-9a-f]{64})$`)
	for _, name := range names {
		if !want.MatchString(name) {
			t.Errorf("name %q in Redis", name)
		}
	}
}

// TestC14RedisGoesAway takes Redis away in every way that happens. The service
// starts and lives without one, says so within a second, and serves again
// within two once it is back.
func TestC14RedisGoesAway(t *testing.T) {
	for _, how := range []string{"lua goredis", "cas goredis", "lua rueidis", "cas rueidis"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			server.Kill()
			mode, client, _ := strings.Cut(how, " ")
			p := start(t, "-store", server.URL(), "-mode", mode, "-client", client)
			p.unavailable(t, "absent from the start")
			server.Restart()
			p.recovers(t, "started")
			server.Pause()
			p.unavailable(t, "silent")
			server.Resume()
			p.recovers(t, "talking again")
			server.Kill()
			p.unavailable(t, "stopped")
			server.Restart()
			p.recovers(t, "started again")

			p.stop(t, syscall.SIGTERM)
			if told := int64(strings.Count(p.stderr.String(), `msg="no decision"`)); told != p.failed.Load() {
				t.Errorf("%d failures in the log for %d answers of 503:\n%s", told, p.failed.Load(), p.stderr.String())
			}
		})
	}
}

// The other policies answer in place of a Redis that is away, each in its way, and
// Redis decides again once it is back.
func TestC14PoliciesWhileRedisIsAway(t *testing.T) {
	for _, tt := range []struct {
		policy string
		check  func(t *testing.T, got []reply)
	}{
		{"allow", func(t *testing.T, got []reply) {
			for _, r := range got {
				if r.status != http.StatusOK || r.remaining >= 0 {
					t.Errorf("got %+v, want 200 and nothing said of tokens", r)
				}
			}
		}},
		{"deny", func(t *testing.T, got []reply) {
			for _, r := range got {
				if r.status != http.StatusTooManyRequests || r.retryAfter != 1 {
					t.Errorf("got %+v, want 429 and a second to wait", r)
				}
			}
		}},
		{"local", func(t *testing.T, got []reply) {
			served := 0
			for _, r := range got {
				if r.status == http.StatusOK {
					served++
				}
			}
			if served < 20 || served > 22 { // some come back meanwhile
				t.Errorf("%d of %d served, want the 20 of this process", served, len(got))
			}
		}},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := start(t, "-store", server.URL(), "-on-failure", tt.policy, "-timeout", "100ms")
			if got := p.get(t, t.Context()); got.remaining != 19 {
				t.Errorf("got %+v", got)
			}
			server.Kill()
			var got []reply
			for range 25 {
				got = append(got, p.get(t, t.Context()))
			}
			tt.check(t, got)
			server.Restart()
			client := redis.NewClient(&redis.Options{Addr: server.Addr()})
			defer client.Close()
			begun := time.Now()
			for client.DBSize(t.Context()).Val() == 0 { // the server has lost what it had
				p.get(t, t.Context(), "X-Api-Key", knownKey)
				if time.Since(begun) > 20*time.Second {
					t.Fatal("Redis does not decide again")
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}

// unavailable sends more requests at once than Redis is given connections.
func (p *program) unavailable(t *testing.T, redis string) {
	t.Helper()
	var requests sync.WaitGroup
	defer requests.Wait()
	for range 30 {
		requests.Go(func() {
			begun := time.Now()
			if got := p.get(t, t.Context()); got.status != http.StatusServiceUnavailable {
				t.Errorf("Redis %s: %+v, want 503", redis, got)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("Redis %s: answered after %v, want it within a second", redis, took)
			}
		})
	}
}

// recovers asks until there are decisions again. They may be refusals: Redis
// charges what it was sent while it was silent.
func (p *program) recovers(t *testing.T, redis string) {
	t.Helper()
	begun := time.Now()
	for p.get(t, t.Context()).status == http.StatusServiceUnavailable {
		if time.Since(begun) > 2*time.Second {
			t.Fatalf("Redis %s: no decision within two seconds", redis)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestShutdownFinishesRequests stops the program while a request waits for a
// silent Redis: it is answered before the program ends.
func TestShutdownFinishesRequests(t *testing.T) {
	server := redistest.Start(t)
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			p := start(t, "-store", server.URL())
			server.Pause()
			defer server.Resume()
			sent, answered := make(chan struct{}), make(chan reply, 1)
			go func() {
				defer close(answered)
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
					WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) },
				})
				answered <- p.get(t, ctx)
			}()
			<-sent
			time.Sleep(100 * time.Millisecond) // for the program to read it; Redis is given five times as long
			p.stop(t, sig)
			if got := <-answered; got.status != http.StatusServiceUnavailable {
				t.Errorf("the request under way: %+v, want its answer, 503", got)
			}
			if conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/api/quote")); err == nil {
				conn.Close()
				t.Error("the address still accepts connections")
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		args []string
		code int
		told string
	}{
		{[]string{"-mode", "both"}, 2, "-mode"},
		{[]string{"-addr", taken.Addr().String()}, 1, taken.Addr().String()},
	} {
		cmd := exec.Command(os.Args[0], tt.args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, _ := cmd.CombinedOutput() // the error is the exit code
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.told) {
			t.Errorf("%q: exit code %d and %q, want %d and %q", tt.args, code, out, tt.code, tt.told)
		}
	}
}
