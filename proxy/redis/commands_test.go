package redis_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy/redis"
)

// commandCalls returns how often each command was called since the last time.
func commandCalls(t testing.TB, rdb *client.Client) map[string]int {
	t.Helper()
	info, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, found := range regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		n, err := strconv.Atoi(found[2])
		if err != nil {
			t.Fatal(err)
		}
		calls[found[1]] = n
	}
	return calls
}

func TestDecisionIsOneScriptCall(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) { decisionIsOneScriptCall(t, l.on) })
	}
}

func decisionIsOneScriptCall(t *testing.T, on library) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	m := on.manager(t, rdb, "", nil)
	limit := perHour(t, 2)
	take(t, m.Bucket("warm-up", limit), 1, true)

	for _, phase := range []struct {
		name    string
		cost    int64
		granted bool
		key     func(int) string
	}{
		{"granted on new keys", 1, true, func(i int) string { return fmt.Sprint("a", i) }},
		{"granted on old keys", 1, true, func(i int) string { return fmt.Sprint("a", i) }},
		{"refused on old keys", 1, false, func(i int) string { return fmt.Sprint("a", i) }},
		{"refused on new keys", 3, false, func(i int) string { return fmt.Sprint("b", i) }},
	} {
		commandCalls(t, rdb)
		const decisions = 250
		for i := range decisions {
			take(t, m.Bucket(phase.key(i), limit), phase.cost, phase.granted)
		}
		got := commandCalls(t, rdb)
		sets := 0
		if phase.granted {
			sets = decisions
		}
		want := map[string]int{"evalsha": decisions, "eval": 0, "set": sets, "get": decisions, "time": decisions, "del": 0}
		for name, n := range want {
			if got[name] != n {
				t.Errorf("%s: %d calls of %s for %d decisions, want %d", phase.name, got[name], name, decisions, n)
			}
		}
	}
}

func TestSwapIsTwoScriptCalls(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) { swapIsTwoScriptCalls(t, l.on) })
	}
}

func swapIsTwoScriptCalls(t *testing.T, on library) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	m := on.manager(t, rdb, "", redis.WithCompareAndSwap())
	limit := perHour(t, 1)
	take(t, m.Bucket("warm-up", limit), 1, true)
	for _, phase := range []struct {
		name    string
		granted bool
		calls   int
	}{{"granted", true, 2}, {"refused", false, 1}} {
		commandCalls(t, rdb)
		for i := range 50 {
			take(t, m.Bucket(fmt.Sprint(i), limit), 1, phase.granted)
		}
		if got := commandCalls(t, rdb); got["evalsha"] != 50*phase.calls || got["eval"] != 0 {
			t.Errorf("%s: %d EVALSHA and %d EVAL for 50 decisions, want %d and 0", phase.name, got["evalsha"], got["eval"], 50*phase.calls)
		}
	}
}

// A process that declares an older version than the stored one, or other content
// of the same, learns it from the first call and pays one trip from then on.
func TestOverruledProcessPaysOneTrip(t *testing.T) {
	server := redistest.Start(t)
	rdb := connect(t, server.URL())
	versioned := func(n, version int64) bucket.Configuration {
		return bucket.Must(perHour(t, n).WithVersion(version, bucket.AsIs))
	}
	take(t, onClient(t, rdb, "", nil).Bucket("k", versioned(1000, 2)), 1, true)

	for _, tt := range []struct {
		name     string
		declared bucket.Configuration
	}{
		{"older version", versioned(10, 1)}, {"same version", versioned(20, 2)}, {"no version", perHour(t, 30)},
	} {
		m := onClient(t, rdb, "", nil)
		b := m.Bucket("k", tt.declared)
		take(t, b, 1, true)
		commandCalls(t, rdb)
		const decisions = 50
		for range decisions {
			if p := take(t, b, 1, true); p.Configuration.Version() != 2 || p.Configuration.Bandwidth(0).Capacity() != 1000 {
				t.Fatalf("%s: %v, version %d, is in force", tt.name, p.Configuration.Bandwidths(), p.Configuration.Version())
			}
		}
		take(t, m.Bucket("new", tt.declared), 1, true)
		got := commandCalls(t, rdb)
		if got["evalsha"] != decisions+1 || got["eval"] > 1 {
			t.Errorf("%s: %d scripts for %d decisions", tt.name, got["evalsha"], decisions+1)
		}
		if err := rdb.Del(t.Context(), "new").Err(); err != nil {
			t.Fatal(err)
		}
	}
}
