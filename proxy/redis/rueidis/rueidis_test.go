package rueidis_test

import (
	"errors"
	"testing"
	"time"

	client "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

var (
	_ rueidis.Client = client.Client(nil)
	_ rueidis.Client = client.DedicatedClient(nil)
)

var hourly = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Hour))))

// connect returns a client of a server.
func connect(t testing.TB, url string, change ...func(*client.ClientOption)) client.Client {
	t.Helper()
	options, err := client.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&options)
	}
	c, err := client.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func manage(t testing.TB, c rueidis.Client, mode redis.Option, options ...proxy.Option) *proxy.Manager {
	t.Helper()
	options = append([]proxy.Option{proxy.WithKeyPrefix(""), proxy.WithTimeout(20 * time.Second)}, options...)
	m, err := proxy.NewManager(rueidis.New(c, mode), options...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func inEachMode(t *testing.T, run func(t *testing.T, mode redis.Option)) {
	t.Run("script", func(t *testing.T) { run(t, nil) })
	t.Run("swap", func(t *testing.T) { run(t, redis.WithCompareAndSwap()) })
}

// nobody is a client whose nil pointer is no client.
type nobody struct{ client.Client }

func TestBadArgumentsAreToldByNewManager(t *testing.T) {
	sound := connect(t, redistest.URL(t))
	for _, tt := range []struct {
		name    string
		client  rueidis.Client
		options []redis.Option
		fields  []string
	}{
		{"no client", nil, nil, []string{"client"}},
		{"nil client", (*nobody)(nil), nil, []string{"client"}},
		{"no clock", sound, []redis.Option{rueidis.WithClientClock(nil, time.Second)}, []string{"clock"}},
		{"endless skew", sound, []redis.Option{rueidis.WithClientClock(time.Now, expiration.Longest+1)}, []string{"clock skew"}},
		{
			"two faults", nil,
			[]redis.Option{rueidis.WithCompareAndSwap(), rueidis.WithClientClock(nil, time.Second)},
			[]string{"client", "clock"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := proxy.NewManager(rueidis.New(tt.client, tt.options...))
			if m != nil || !errors.Is(err, bucket.ErrInvalidArgument) {
				t.Fatalf("got %v, %v; want an ErrInvalidArgument", m, err)
			}
			for _, field := range tt.fields {
				if !names(err, field) {
					t.Errorf("got %v, want the field %q named", err, field)
				}
			}
		})
	}
	for _, option := range []redis.Option{
		nil, rueidis.WithCompareAndSwap(), rueidis.WithClientClock(time.Now, expiration.Longest),
	} {
		if _, err := proxy.NewManager(rueidis.New(sound, option)); err != nil {
			t.Errorf("good arguments: %v", err)
		}
	}
}

// names tells whether one of the joined errors is of a field.
func names(err error, field string) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if names(e, field) {
				return true
			}
		}
		return false
	}
	var argument *bucket.ArgumentError
	return errors.As(err, &argument) && argument.Field == field
}

// startCluster starts a cluster of one node that owns every slot.
func startCluster(t testing.TB) (*redistest.Server, client.Client) {
	t.Helper()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	plain := connect(t, server.URL(), func(o *client.ClientOption) { o.ForceSingleClient = true })
	own := plain.B().ClusterAddslotsrange().StartSlotEndSlot().StartSlotEndSlot(0, 16383).Build()
	if err := plain.Do(t.Context(), own).Error(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := plain.Do(t.Context(), plain.B().Set().Key("probe").Value("x").Build()).Error(); err == nil {
			return server, plain
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// One key a command: braces and batches over several slots are nothing special.
func TestClusterClient(t *testing.T) {
	server, plain := startCluster(t)
	cluster := connect(t, server.URL())
	if got := cluster.Mode(); got != client.ClientModeCluster {
		t.Fatalf("the client is %s", got)
	}
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		for _, cmd := range []client.Completed{plain.B().ScriptFlush().Build(), plain.B().Flushall().Build()} {
			if err := plain.Do(t.Context(), cmd).Error(); err != nil {
				t.Fatal(err)
			}
		}
		keys := []string{"a", "b", "{a}b", "}{", "{", "{}x", "é{ü}"}
		ds := make([]proxy.Decision, len(keys))
		for i := range ds {
			ds[i] = proxy.Decision{
				Charges: []proxy.Charge{{
					Key:     keys[i],
					Request: bucket.Request{Config: hourly, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: int64(i)}},
				}},
				Results: make([]bucket.Result, 1),
			}
		}
		rueidis.New(cluster, mode).Do(t.Context(), ds)
		for i, d := range ds {
			if d.Err != nil || d.Results[0].RemainingTokens != int64(10-i) {
				t.Errorf("key %q: %d left, %v", keys[i], d.Results[0].RemainingTokens, d.Err)
			}
		}
	})
}

// Replicas do not decide even for a client that sends everything to them.
func TestReplicasDoNotDecide(t *testing.T) {
	primary := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", primary.Addr()[:len("127.0.0.1")], primary.Addr()[len("127.0.0.1:"):])
	c := connect(t, primary.URL(), func(o *client.ClientOption) {
		o.Standalone.ReplicaAddress = []string{replica.Addr()}
		o.SendToReplicas = func(client.Completed) bool { return true }
	})
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := manage(t, c, mode).Bucket("k", hourly)
		for _, n := range []int64{1, 11} { // granted and refused
			if p, err := b.Consume(t.Context(), n); err == nil {
				t.Errorf("a replica decided on %d: %+v", n, p)
			}
		}
	})
	own := connect(t, primary.URL(), func(o *client.ClientOption) {
		o.Standalone.ReplicaAddress = []string{replica.Addr()}
		o.SendToReplicas = func(cmd client.Completed) bool { return cmd.IsReadOnly() }
	})
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		if _, err := manage(t, own, mode).Bucket("k", hourly).Consume(t.Context(), 1); err != nil {
			t.Errorf("with only reads sent to replicas: %v", err)
		}
	})
}

// A call allocates what the client's reply, the trip and its goroutine need, and
// builds its command in memory that is used again.
func TestCallsAllocateLittle(t *testing.T) {
	b := rueidis.New(connect(t, redistest.URL(t)))
	d := []proxy.Decision{{
		Charges: []proxy.Charge{{
			Key:     redistest.Prefix(t) + "k",
			Request: bucket.Request{Config: hourly, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
		}},
		Results: make([]bucket.Result, 1),
	}}
	call := func() { b.Do(t.Context(), d) }
	for range 100 { // every connection is made
		call()
	}
	if got := testing.AllocsPerRun(200, call); got > 14 || d[0].Err != nil { // 8, more with the race detector
		t.Errorf("%.0f allocations, %v", got, d[0].Err)
	}
}
