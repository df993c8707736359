package redistest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const environment = "SLUICE_TEST_REDIS"

var errNoServer = errors.New("redistest: no redis-server or valkey-server on PATH: run the tests by `make test`, " +
	"which gets one, or add one to PATH (scripts/get-redis prints the directory of one)")

// URL returns the URL of a Redis shared by all tests of the process and, where SLUICE_TEST_REDIS is set, by other
// processes as well: use keys under [Prefix] alone, and leave the server's settings and other keys as they are.
func URL(t testing.TB) string {
	t.Helper()
	u, err := sharedURL()
	check(t, err)
	return u
}

// Prefix returns a prefix for keys that no other call returns, in this process or another. It has no braces,
// which a cluster would read as the part of the key that picks its slot.
func Prefix(t testing.TB) string {
	t.Helper()
	p := "test-" + strings.ToLower(rand.Text()[:13]) + ":"
	t.Logf("keys in Redis: %s*", p)
	return p
}

// shared is never stopped by hand: it ends with the process. The variable keeps the server's leash from being
// collected, which would end the server early.
var shared = sync.OnceValues(func() (*Server, error) { return newServer("", nil) })

var sharedURL = sync.OnceValues(func() (string, error) {
	if given := os.Getenv(environment); given != "" {
		return given, reachable(given)
	}
	s, err := shared()
	if err != nil {
		return "", fmt.Errorf("%w, or set %s to the URL of a running one", err, environment)
	}
	return s.URL(), nil
})

func reachable(rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return errors.New("redistest: " + environment + " is not a URL such as redis://127.0.0.1:6379")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), 2*time.Second)
	if err != nil {
		return fmt.Errorf("redistest: no server answers at %s=%s: start it or unset the variable: %w",
			environment, u.Redacted(), err)
	}
	return conn.Close()
}

func find() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoServer
}

func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNoServer) && testing.Short() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
