package rueidis_test

import (
	"errors"
	"net"
	"strings"
	"sync"
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

// Replicas decide nothing, not even a refusal, whatever a client sends to them.
func TestReplicasDoNotDecide(t *testing.T) {
	primary := redistest.Start(t)
	host, port, _ := net.SplitHostPort(primary.Addr())
	replica := redistest.Start(t, "--replicaof", host, port)
	alone := connect(t, replica.URL())
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		info, err := alone.Do(t.Context(), alone.B().Info().Section("replication").Build()).ToString()
		if strings.Contains(info, "master_link_status:up") {
			break
		}
		if err != nil || time.Since(begun) > 30*time.Second {
			t.Fatalf("%v, %s", err, info)
		}
	}
	for _, tt := range []struct {
		name   string
		sends  func(client.Completed) bool
		denied bool
	}{
		{"reads", func(cmd client.Completed) bool { return cmd.IsReadOnly() }, false},
		{"all", func(client.Completed) bool { return true }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := connect(t, primary.URL(), func(o *client.ClientOption) {
				o.Standalone.ReplicaAddress, o.SendToReplicas = []string{replica.Addr()}, tt.sends
			})
			inEachMode(t, func(t *testing.T, mode redis.Option) {
				b := manage(t, c, mode).Bucket("k", hourly)
				for _, n := range []int64{1, 11} { // granted and refused
					_, err := b.Consume(t.Context(), n)
					if tt.denied && (!errors.Is(err, proxy.ErrUnavailable) || !strings.Contains(err.Error(), "READONLY")) || !tt.denied && err != nil {
						t.Errorf("take of %d: %v", n, err)
					}
				}
			})
		})
	}
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

// Where rueidis takes connections from a pool, as it does when told to and for
// large batches.
func TestPooledConnections(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL(), func(o *client.ClientOption) {
		o.DisableAutoPipelining, o.BlockingPoolSize, o.BlockingPipeline = true, 2, 3
	})
	inEachMode(t, func(t *testing.T, mode redis.Option) {
		b := manage(t, c, mode).Bucket(redistest.Prefix(t), hourly)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if ok, err := b.TryConsume(t.Context(), 1); !ok || err != nil {
					t.Errorf("consumed %t, %v", ok, err)
				}
			})
		}
		wg.Wait()
		prefix := redistest.Prefix(t)
		ds := takes(prefix+"a", prefix+"b", prefix+"c", prefix+"d")
		rueidis.New(c, mode).Do(t.Context(), ds)
		for i, d := range ds {
			if d.Err != nil || d.Results[0].RemainingTokens != int64(9-i) {
				t.Errorf("%d: %d left, %v", i, d.Results[0].RemainingTokens, d.Err)
			}
		}
	})
}
