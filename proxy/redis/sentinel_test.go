package redis_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
)

// The primary goes away while both clients take in both modes from one bucket.
// Callers see errors until the replica has taken its place, and then decisions,
// without a restart of theirs. What the old primary had granted and not yet told
// the replica is lost, and no more.
func TestC30FailoverUnderLoad(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin func(t *testing.T, s *redistest.Sentinel)
	}{
		{"killed", func(_ *testing.T, s *redistest.Sentinel) { s.Primary.Kill() }},
		{"demoted", func(t *testing.T, s *redistest.Sentinel) { // its connections stay open
			rdb := connect(t, s.Sentinels[0].URL())
			if err := rdb.Do(t.Context(), "SENTINEL", "FAILOVER", redistest.MasterName).Err(); err != nil {
				t.Fatal(err)
			}
			s.AwaitFailover()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			failover(t, tt.begin)
		})
	}
}

func failover(t *testing.T, begin func(t *testing.T, s *redistest.Sentinel)) {
	const capacity = 1 << 40 // never reached, so each refusal would be an error in disguise
	const callers = 2        // of each client in each mode
	s := redistest.StartSentinel(t, 3000)
	prefix := redistest.Prefix(t)
	var buckets []proxy.Bucket
	for _, backend := range everyone(bySentinel(t, s)) {
		b := manage(t, backend, prefix).Bucket("k", perHour(t, capacity))
		take(t, b, 0, true) // connected
		buckets = append(buckets, b)
	}

	var granted, unavailable, unknown atomic.Int64
	end := load(t, callers*len(buckets), func(caller, _ int) {
		ok, err := buckets[caller%len(buckets)].TryConsume(t.Context(), 1)
		switch {
		case ok:
			granted.Add(1)
		case err == nil:
			t.Error("a take was refused")
		case errors.Is(err, proxy.ErrOutcomeUnknown):
			unknown.Add(1)
		default:
			unavailable.Add(1)
			wantKind(t, err, proxy.ErrUnavailable)
		}
	})
	more := func() {
		t.Helper()
		least := granted.Load() + 1000
		within(t, func() error {
			if n := granted.Load(); n < least {
				return fmt.Errorf("%d granted", n)
			}
			return nil
		})
	}

	// What was granted before is with the replica when WAIT returns.
	more()
	safe := granted.Load()
	rdb := connect(t, s.Primary.URL())
	if err := rdb.Incr(t.Context(), prefix+"marker").Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := rdb.Wait(t.Context(), 1, patience).Result(); err != nil || n != 1 {
		t.Fatalf("%d replicas, %v", n, err)
	}
	begin(t, s)
	atRisk := granted.Load() - safe + int64(callers*len(buckets)) // and the replies that were under way
	s.AwaitFailover()
	for i, b := range buckets {
		took := within(t, func() error { _, err := b.Consume(t.Context(), 0); return err })
		t.Logf("client %d, mode %d: served %v after the failover", i/2, i%2, took)
	}
	more()
	end()

	left, err := buckets[0].Available(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, all := capacity-left, granted.Load()
	t.Logf("%d granted, %d unavailable, %d unknown; %d lost of at most %d", all, unavailable.Load(), unknown.Load(), all-gone, atRisk)
	if all-gone > atRisk {
		t.Errorf("%d granted takes were lost, at most %d were not replicated", all-gone, atRisk)
	}
	if gone > all+unknown.Load() {
		t.Errorf("%d tokens are gone, %d granted and %d unknown", gone, all, unknown.Load())
	}
}

// Clients go on with the server that they know when no sentinel answers.
func TestSentinelsAreNotNeededForDecisions(t *testing.T) {
	s := redistest.StartSentinel(t, 30_000)
	var buckets []proxy.Bucket
	for _, backend := range everyone(bySentinel(t, s)) {
		b := manage(t, backend, "").Bucket("k", perHour(t, 10))
		take(t, b, 1, true)
		buckets = append(buckets, b)
	}
	for _, one := range s.Sentinels {
		one.Kill()
	}
	for _, b := range buckets {
		take(t, b, 1, true)
	}
	wantAvailable(t, buckets[0], 2)
}
