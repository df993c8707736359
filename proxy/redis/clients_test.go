package redis_test

import (
	"net"
	"sync"
	"testing"
	"time"

	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// library makes backends of one client library.
type library func(t testing.TB, rdb *goclient.Client, options ...redis.Option) *redis.Backend

var libraries = []struct {
	name string
	on   library
}{{"go-redis", onGoRedis}, {"go-redis that keeps time", onTimedGoRedis}, {"rueidis", onRueidis}}

// onEachClient runs a test with each client library, in each mode.
func onEachClient(t *testing.T, run func(t *testing.T, on library, mode redis.Option)) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			inEachMode(t, func(t *testing.T, mode redis.Option) { run(t, l.on, mode) })
		})
	}
}

// manager is one on a backend in a mode.
func (on library) manager(t testing.TB, rdb *goclient.Client, prefix string, mode redis.Option, options ...proxy.Option) *proxy.Manager {
	t.Helper()
	return manage(t, on(t, rdb, mode), prefix, options...)
}

func onGoRedis(_ testing.TB, rdb *goclient.Client, options ...redis.Option) *redis.Backend {
	return goredis.New(rdb, options...)
}

// timed are clients that keep deadlines themselves, beside those that do not.
var timed sync.Map

func onTimedGoRedis(t testing.TB, rdb *goclient.Client, options ...redis.Option) *redis.Backend {
	t.Helper()
	if c, ok := timed.Load(rdb); ok {
		return goredis.New(c.(*goclient.Client), options...)
	}
	o := *rdb.Options()
	o.ContextTimeoutEnabled, o.PushNotificationProcessor = true, nil // which clients do not share
	c := goclient.NewClient(&o)
	timed.Store(rdb, c)
	t.Cleanup(func() {
		timed.Delete(rdb)
		_ = c.Close()
	})
	return goredis.New(c, options...)
}

// beside are the rueidis clients beside go-redis clients.
var beside sync.Map

// onRueidis uses a client that is set up as the other one is, and lives as long
// as the test that asks for it first.
func onRueidis(t testing.TB, rdb *goclient.Client, options ...redis.Option) *redis.Backend {
	t.Helper()
	if c, ok := beside.Load(rdb); ok {
		return rueidis.New(c.(rueidis.Client), options...)
	}
	o := rdb.Options()
	c, err := ruclient.NewClient(ruclient.ClientOption{
		InitAddress: []string{o.Addr}, Username: o.Username, Password: o.Password, SelectDB: o.DB, TLSConfig: o.TLSConfig,
		AlwaysRESP2: o.Protocol == 2, ConnWriteTimeout: o.ReadTimeout,
		// One connection and no pings: nothing happens by chance.
		PipelineMultiplex: -1, Dialer: net.Dialer{KeepAlive: time.Minute},
		// What follows asks more of a server than limiters need.
		ForceSingleClient: true, DisableCache: true, ClientSetInfo: ruclient.DisableClientSetInfo,
	})
	if err != nil {
		t.Fatal(err)
	}
	beside.Store(rdb, c)
	t.Cleanup(func() {
		beside.Delete(rdb)
		c.Close()
	})
	return rueidis.New(c, options...)
}

// Services on either client, in either mode, share buckets.
func TestClientsShareBuckets(t *testing.T) {
	const capacity, callers, calls = 1000, 16, 100
	rdb, prefix := shared(t)
	limit := perHour(t, capacity)
	var all []proxy.Bucket
	onEachClient(t, func(_ *testing.T, on library, mode redis.Option) {
		all = append(all, on.manager(t, rdb, prefix, mode).Bucket("k", limit))
	})
	granted := make(chan int64, callers)
	for i := range callers {
		go func() {
			n := int64(0)
			for range calls {
				ok, err := all[i%len(all)].TryConsume(t.Context(), 1)
				if err != nil {
					t.Error(err)
				}
				if ok {
					n++
				}
			}
			granted <- n
		}()
	}
	sum := int64(0)
	for range callers {
		sum += <-granted
	}
	if sum != capacity {
		t.Errorf("%d granted, want %d", sum, capacity)
	}
	for _, b := range all {
		wantAvailable(t, b, 0)
	}
}
