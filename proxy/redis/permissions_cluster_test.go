package redis_test

import (
	"testing"

	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/internal/redistest"
	"github.com/sluice-go/sluice/proxy/redis"
)

// What clients of several servers need beside the commands that scripts run: to
// learn where the keys are.
func TestC75NeededCommandsInACluster(t *testing.T) {
	t.Parallel() // it mostly waits
	c := redistest.StartCluster(t, 3)
	onEachPrimary(t, c, user("test-*", allow(append(needed, "command", "cluster|slots", "cluster|shards", "asking")...)...)...)
	inEachWay(t, []way{
		throughGoRedis(t, "go-redis", goclient.NewClusterClient(&goclient.ClusterOptions{
			Addrs: c.Addrs(), Username: "limiter", Password: "any",
		})),
		throughRueidis(t, "rueidis", ruclient.ClientOption{InitAddress: c.Addrs(), Username: "limiter", Password: "any", DisableCache: true}),
	}, func(t *testing.T, w way, mode redis.Option) {
		prefix := redistest.Prefix(t)
		m := manage(t, w.backend(mode), prefix)
		exercise(t, m)
		slot := c.Slot(prefix + "moves")
		from := c.Owner(slot)
		c.BeginMove(slot, c.Primaries[from], c.Primaries[(from+1)%len(c.Primaries)])
		take(t, m.Bucket("moves", perHour(t, 10)), 1, true) // by ASKING
	})
}

func TestC75NeededCommandsBehindSentinel(t *testing.T) {
	t.Parallel() // it mostly waits
	s := redistest.StartSentinel(t, 30_000)
	for _, one := range []*redistest.Server{s.Primary, s.Replica} {
		if err := connect(t, one.URL()).Do(t.Context(), user("test-*", allow(append(needed, "role")...)...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range s.Sentinels {
		rules := user("nothing", append(allow("sentinel|get-master-addr-by-name", "sentinel|sentinels", "subscribe"), "allchannels")...)
		if err := connect(t, one.URL()).Do(t.Context(), rules...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	inEachWay(t, []way{
		throughGoRedis(t, "go-redis", goclient.NewFailoverClient(&goclient.FailoverOptions{
			MasterName: redistest.MasterName, SentinelAddrs: s.Addrs(),
			Username: "limiter", Password: "any", SentinelUsername: "limiter", SentinelPassword: "any",
		})),
		throughRueidis(t, "rueidis", ruclient.ClientOption{
			InitAddress: s.Addrs(), Username: "limiter", Password: "any", DisableCache: true,
			Sentinel: ruclient.SentinelOption{MasterSet: redistest.MasterName, Username: "limiter", Password: "any"},
		}),
	}, func(t *testing.T, w way, mode redis.Option) {
		exercise(t, manage(t, w.backend(mode), redistest.Prefix(t)))
	})
}
