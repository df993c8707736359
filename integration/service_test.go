package integration_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/integration"
)

// service is a running process of examples/api.
type service struct {
	url    string
	client http.Client
}

// buildService compiles examples/api and returns the program's path.
func buildService(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "api")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/sluice-go/sluice/examples/api")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build examples/api: %v\n%s", err, output)
	}
	return program
}

// startService runs the program on the given store until the test ends, which
// is also when it must have obeyed SIGTERM.
func startService(t *testing.T, program string, redis *integration.Redis, mode string) *service {
	t.Helper()
	addr := integration.FreeAddr(t)
	ctx, terminate := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-addr", addr, "-store", "redis://"+redis.Addr, "-mode", mode)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		terminate()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		terminate()
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("service in %s mode: exit code %d after SIGTERM, want 0 (%v)", mode, code, err)
		}
	})

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			// Longer than any answer may take, so that a late one is told apart
			// from none.
			return &service{url: "http://" + addr + "/api/quote", client: http.Client{Timeout: 10 * time.Second}}
		}
		if time.Now().After(deadline) {
			t.Fatalf("service in %s mode does not listen: %v", mode, err)
		}
	}
}

// answer is what the service said to one request.
type answer struct {
	status int
	header http.Header
	took   time.Duration
	body   struct {
		Quote             string
		Timestamp         any
		Error             string
		RetryAfterSeconds int
	}
}

// quote sends GET /api/quote, with an API key unless it is empty.
func (s *service) quote(t *testing.T, key string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("X-Api-Key", key)
	}
	start := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
		t.Fatalf("status %d with a body which is not JSON: %v", a.status, err)
	}
	a.took = time.Since(start)
	return a
}

// number returns a header that must be a whole number, written as such.
func (a answer) number(t *testing.T, header string) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get(header))
	if err != nil {
		t.Errorf("status %d: %s is %q, want a whole number", a.status, header, a.header.Get(header))
	}
	return n
}
