package goredis_test

import (
	"errors"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

var (
	_ goredis.Client = (*client.Client)(nil)
	_ goredis.Client = (*client.ClusterClient)(nil)
	_ goredis.Client = (*client.Ring)(nil)
	_ goredis.Client = client.UniversalClient(nil)
)

var hourly = bucket.MustConfiguration(bandwidth.Must(bandwidth.New(10, bandwidth.Greedy(1, time.Hour))))

func TestBadArgumentsAreToldByNewManager(t *testing.T) {
	sound := client.NewClient(&client.Options{Addr: "127.0.0.1:1"})
	defer sound.Close()
	for _, tt := range []struct {
		name    string
		client  goredis.Client
		options []redis.Option
		fields  []string
	}{
		{"no client", nil, nil, []string{"client"}},
		{"nil client", (*client.Client)(nil), nil, []string{"client"}},
		{"nil cluster client", (*client.ClusterClient)(nil), nil, []string{"client"}},
		{"no clock", sound, []redis.Option{redis.WithClientClock(nil, time.Second)}, []string{"clock"}},
		{"negative skew", sound, []redis.Option{redis.WithClientClock(time.Now, -time.Second)}, []string{"clock skew"}},
		{"skew below a tick", sound, []redis.Option{redis.WithClientClock(time.Now, time.Nanosecond)}, []string{"clock skew"}},
		{"endless skew", sound, []redis.Option{redis.WithClientClock(time.Now, expiration.Longest+1)}, []string{"clock skew"}},
		{
			"two faults", nil,
			[]redis.Option{redis.WithCompareAndSwap(), redis.WithClientClock(nil, time.Second)},
			[]string{"client", "clock"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := proxy.NewManager(goredis.New(tt.client, tt.options...))
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
		nil, redis.WithCompareAndSwap(), redis.WithClientClock(time.Now, time.Microsecond),
		redis.WithClientClock(time.Now, redis.DefaultSkew), redis.WithClientClock(time.Now, expiration.Longest),
	} {
		if _, err := proxy.NewManager(goredis.New(sound, option)); err != nil {
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

// The other clients of go-redis work too, batches over several slots included.
func TestClusterClientAndRing(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes")
	plain := client.NewClient(&client.Options{Addr: server.Addr()})
	defer plain.Close()
	if err := plain.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := plain.Set(t.Context(), "probe", "x", time.Minute).Err(); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	cluster := client.NewClusterClient(&client.ClusterOptions{Addrs: []string{server.Addr()}})
	defer cluster.Close()
	ring := client.NewRing(&client.RingOptions{Addrs: map[string]string{"one": server.Addr()}})
	defer ring.Close()
	for name, c := range map[string]goredis.Client{"cluster": cluster, "ring": ring} {
		for _, mode := range []redis.Option{nil, redis.WithCompareAndSwap()} {
			if err := plain.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if err := plain.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			ds := make([]proxy.Decision, 5)
			for i := range ds {
				ds[i] = proxy.Decision{
					Charges: []proxy.Charge{{
						Key:     name + string(rune('a'+i)),
						Request: bucket.Request{Config: hourly, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: int64(i)}},
					}},
					Results: make([]bucket.Result, 1),
				}
			}
			goredis.New(c, mode).Do(t.Context(), ds)
			for i, d := range ds {
				if d.Err != nil || d.Results[0].RemainingTokens != int64(10-i) {
					t.Errorf("%s, swap %t, key %d: %d left, %v", name, mode != nil, i, d.Results[0].RemainingTokens, d.Err)
				}
			}
		}
	}
}
