package redistest_test

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/redistest"
)

// ask sends one command to the server and returns the first line of its answer.
func ask(addr, command string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	return askOn(conn, command)
}

func askOn(conn net.Conn, command string) (string, error) {
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func expect(t *testing.T, addr, command, want string) {
	t.Helper()
	if got, err := ask(addr, command); err != nil || got != want {
		t.Fatalf("%s: got %q, %v; want %q", command, got, err, want)
	}
}

func expectRefused(t *testing.T, addr string) {
	t.Helper()
	if got, err := ask(addr, "PING"); err == nil {
		t.Fatalf("the server at %s still answers: %q", addr, got)
	}
}

// sharedAddr returns the host:port of the shared server.
func sharedAddr(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(redistest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func TestURLIsOneServerForAllTests(t *testing.T) {
	addr := sharedAddr(t)
	expect(t, addr, "PING", "+PONG")
	t.Run("another test", func(t *testing.T) {
		if again := sharedAddr(t); again != addr {
			t.Errorf("got %s, then %s", addr, again)
		}
	})
}

func TestPrefixIsNewEachTime(t *testing.T) {
	a, b := redistest.Prefix(t), redistest.Prefix(t)
	if a == b || a == "" || strings.ContainsAny(a+b, "{}") {
		t.Errorf("got %q and %q; want two prefixes without braces", a, b)
	}
}

func TestStartEndsWithItsTest(t *testing.T) {
	var addrs []string
	t.Run("owner", func(t *testing.T) {
		addrs = []string{redistest.Start(t).Addr(), redistest.Start(t).Addr()}
		if shared := sharedAddr(t); addrs[0] == addrs[1] || slices.Contains(addrs, shared) {
			t.Errorf("%s and the shared %s are not three servers", addrs, shared)
		}
		for _, addr := range addrs {
			expect(t, addr, "PING", "+PONG")
		}
	})
	for _, addr := range addrs {
		expectRefused(t, addr)
	}
}

func TestRestart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  []string
		after string
	}{
		{"keeps nothing by default", nil, "$-1"},
		{"keeps what the arguments ask for", []string{"--appendonly", "yes", "--appendfsync", "always"}, "$1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := redistest.Start(t, tt.args...)
			addr := server.Addr()
			expect(t, addr, "SET k v", "+OK")

			server.Kill()
			server.Kill()
			expectRefused(t, addr)

			server.Restart()
			expect(t, addr, "GET k", tt.after)
			server.Restart()
			expect(t, addr, "GET k", tt.after)
		})
	}
}

func TestRestartWaitsForItsPort(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	squatter, err := net.Listen("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { squatter.Close() })
	server.Restart()
	expect(t, server.Addr(), "PING", "+PONG")
}

func TestPause(t *testing.T) {
	server := redistest.Start(t)
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	server.Pause()
	conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if got, err := askOn(conn, "PING"); !os.IsTimeout(err) {
		t.Fatalf("a paused server: got %q, %v; want a timeout", got, err)
	}

	server.Resume()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if got, err := askOn(conn, "ECHO again"); err != nil || got != "+PONG" {
		t.Fatalf("a resumed server: got %q, %v; want the answer to what it was sent while paused", got, err)
	}
}

func TestPausedServerEndsWithItsTest(t *testing.T) {
	var addrs []string
	t.Run("owner", func(t *testing.T) {
		server := redistest.Start(t)
		server.Pause()
		addrs = append(addrs, server.Addr())
	})
	for _, addr := range addrs {
		expectRefused(t, addr)
	}
}

// child runs one test of this binary in a process of its own.
func child(test string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func TestBadEnvironmentIsExplained(t *testing.T) {
	nothing := t.TempDir()
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "redis-server"), []byte("#!/bin/sh\necho out of order\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, test string
		env        []string
		short      bool
		want       []string
	}{
		{
			name: "no server", test: "TestURLIsOneServerForAllTests",
			env:  []string{"PATH=" + nothing, "SLUICE_TEST_REDIS="},
			want: []string{"--- FAIL", "make test", "scripts/get-redis", "set SLUICE_TEST_REDIS"},
		},
		{
			name: "no server, short", test: "TestURLIsOneServerForAllTests",
			env: []string{"PATH=" + nothing, "SLUICE_TEST_REDIS="}, short: true,
			want: []string{"--- SKIP", "make test"},
		},
		{
			name: "no program for a private server", test: "TestPause",
			env:  []string{"PATH=" + nothing, "SLUICE_TEST_REDIS=redis://127.0.0.1:6379"},
			want: []string{"--- FAIL", "make test", "scripts/get-redis"},
		},
		{
			name: "server that does not start", test: "TestPause",
			env:  []string{"PATH=" + broken + ":/usr/bin:/bin"},
			want: []string{"--- FAIL", "does not start", "out of order"},
		},
		{
			name: "nothing at the given URL", test: "TestURLIsOneServerForAllTests",
			env:  []string{"SLUICE_TEST_REDIS=redis://:secret@127.0.0.1:1"}, // port 1: refused
			want: []string{"--- FAIL", "no server answers at SLUICE_TEST_REDIS=redis://:xxxxx@127.0.0.1:1", "unset"},
		},
		{
			name: "an address in place of a URL", test: "TestURLIsOneServerForAllTests",
			env:  []string{"SLUICE_TEST_REDIS=127.0.0.1:6379"},
			want: []string{"--- FAIL", "SLUICE_TEST_REDIS is not a URL such as redis://127.0.0.1:6379"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := child(tt.test, tt.env...)
			if tt.short {
				cmd.Args = append(cmd.Args, "-test.short")
			}
			start := time.Now()
			out, err := cmd.CombinedOutput()
			if failed := err != nil; failed == tt.short {
				t.Errorf("the tests end with %v", err)
			}
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("it took %v to say so", took)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %q", want)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

func TestGivenURLIsUsed(t *testing.T) {
	server := redistest.Start(t)
	cmd := child("TestHoldServers", "REDISTEST_HOLD=exit", "SLUICE_TEST_REDIS="+server.URL())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "shared: "+server.Addr()+"\n") {
		t.Errorf("want the server at %s, got %v\n%s", server.Addr(), err, out)
	}
	expect(t, server.Addr(), "PING", "+PONG") // it is not the child's to end
}

func TestServersEndWithTheProcess(t *testing.T) {
	redistest.URL(t) // where there is no server, say how to get one
	for _, end := range []string{"exit", "be killed"} {
		t.Run(end, func(t *testing.T) {
			temp := t.TempDir()
			cmd := child("TestHoldServers", "REDISTEST_HOLD="+end, "SLUICE_TEST_REDIS=", "TMPDIR="+temp)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var addrs []string
			for lines := bufio.NewScanner(stdout); len(addrs) < 3 && lines.Scan(); {
				if _, addr, found := strings.Cut(lines.Text(), ": 127.0.0.1:"); found {
					addrs = append(addrs, "127.0.0.1:"+addr)
				}
			}
			if end == "be killed" {
				cmd.Process.Kill()
			}
			cmd.Wait()
			if len(addrs) != 3 {
				t.Fatalf("the child started %q; want three servers", addrs)
			}

			// Their ends follow the process's within moments, and their files go too.
			gone := func() bool {
				left, err := os.ReadDir(temp)
				return err == nil && len(left) == 0
			}
			for i := 0; i < 500 && !gone(); i++ {
				time.Sleep(10 * time.Millisecond)
			}
			if !gone() {
				t.Errorf("files are left in %s", temp)
			}
			for _, addr := range addrs {
				expectRefused(t, addr)
			}
		})
	}
}

// TestHoldServers is the child of the tests above: it prints the addresses of its servers, and exits or waits to be
// killed.
func TestHoldServers(t *testing.T) {
	fmt.Println("shared:", sharedAddr(t))
	paused := redistest.Start(t)
	paused.Pause()
	fmt.Println("private:", redistest.Start(t).Addr())
	fmt.Println("paused:", paused.Addr())
	if os.Getenv("REDISTEST_HOLD") == "be killed" {
		time.Sleep(time.Minute)
	}
}
