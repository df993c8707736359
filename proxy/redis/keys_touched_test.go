package redis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
)

// exercise runs every script: all operations on absent, present, drained and
// changed buckets, of each shape of configuration.
func exercise(t testing.TB, m *proxy.Manager) {
	t.Helper()
	limit := func(capacity int64, refill bandwidth.Refill, options ...bandwidth.Option) bandwidth.Bandwidth {
		return bandwidth.Must(bandwidth.New(capacity, refill, options...))
	}
	second := bandwidth.Greedy(10, time.Second)
	for name, c := range map[string]bucket.Configuration{
		"greedy":   bucket.MustConfiguration(limit(10, second)),
		"interval": bucket.MustConfiguration(limit(10, bandwidth.Interval(3, time.Minute), bandwidth.WithID("m"))),
		"aligned": bucket.MustConfiguration(
			limit(10, bandwidth.Aligned(3, time.Hour, time.UnixMicro(7)), bandwidth.WithAdaptiveInitialTokens())),
		"five": bucket.MustConfiguration(limit(10, second), limit(20, second), limit(30, second), limit(40, second), limit(50, second)),
		"huge": bucket.MustConfiguration(limit(1<<60, second)),
		"half": bucket.Must(bucket.MustConfiguration(limit(10, second, bandwidth.WithInitialTokens(5))).WithVersion(3, bucket.AsIs)),
	} {
		b := m.Bucket(name, c)
		changed := m.Bucket(name, bucket.MustConfiguration(limit(9, bandwidth.Greedy(1, time.Second))))
		for _, b := range []proxy.Bucket{b, changed} {
			for range 2 {
				for _, op := range ops {
					if op.name == "remove" {
						continue
					}
					if err := op.do(t.Context(), m, b); err != nil {
						t.Fatalf("%s, %s: %v", name, op.name, err)
					}
				}
				if _, err := b.ConsumeUpTo(t.Context(), 1<<60); err != nil {
					t.Fatal(err)
				}
				take(t, b, 1<<60, false)
			}
		}
		if _, ok, err := m.Configuration(t.Context(), name); err != nil || !ok {
			t.Fatalf("%s: no configuration is stored, %v", name, err)
		}
		for _, want := range []bool{true, false} {
			if got, err := m.Remove(t.Context(), name); err != nil || got != want {
				t.Fatalf("%s: removed %t, %v", name, got, err)
			}
		}
	}
}

func TestC32ScriptsTouchDeclaredKeysAlone(t *testing.T) {
	server := redistest.Start(t)
	mon := watch(t, server)
	rdb := connect(t, server.URL())
	onEachClient(t, func(t *testing.T, on library, mode redis.Option) {
		mon.seen()
		exercise(t, on.manager(t, rdb, redistest.Prefix(t), mode))
		key, touched := "", 0
		for _, c := range mon.seen() {
			switch {
			case c.name == "EVAL", c.name == "EVALSHA":
				if c.args[1] != "1" {
					t.Fatalf("%s with %s keys", c.name, c.args[1])
				}
				key = c.args[2]
			case c.inScript && c.name == "TIME":
			case c.inScript && (c.name == "GET" || c.name == "SET" || c.name == "DEL"):
				touched++
				if c.args[0] != key {
					t.Fatalf("%s of %q in a script whose key is %q", c.name, c.args[0], key)
				}
			case c.inScript:
				t.Errorf("a script calls %s", c.name)
			}
		}
		t.Logf("%d commands in scripts", touched)
		if touched < 100 {
			t.Error("too few scripts ran for the test to show anything")
		}
	})
}

func TestC32ScriptsNameNoOtherKey(t *testing.T) {
	files, err := filepath.Glob("scripts/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	call := regexp.MustCompile(`redis\.\w+`)
	allowed := regexp.MustCompile(`^redis\.call\('(TIME'|(GET|SET|DEL)', KEYS\[1\])[,)]`)
	keys := regexp.MustCompile(`KEYS(\[1\])?`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range call.FindAllIndex(source, -1) {
			if !allowed.Match(source[at[0]:]) {
				t.Errorf("%s: %.40q", file, source[at[0]:])
			}
		}
		for _, found := range keys.FindAll(source, -1) {
			if string(found) != "KEYS[1]" {
				t.Errorf("%s: KEYS other than KEYS[1]", file)
			}
		}
	}
}
