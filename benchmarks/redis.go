package main

import (
	"context"
	_ "embed"
	"time"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
	"github.com/go-redis/redis_rate/v10"
	"github.com/gomodule/redigo/redis"
	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"
	"github.com/sethvargo/go-redisstore"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	sluiceredis "github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// prefix makes Sluice's keys as long as those of redis_rate.
const prefix = "rate:"

const (
	bareGoRedis   = "bare EVALSHA of `return 1`, go-redis"
	bareRueidis   = "bare EVALSHA of `return 1`, rueidis"
	redisRate     = "redis_rate"
	redisScript   = "script of the Redis documentation"
	sluiceGoRedis = "Sluice, go-redis"
	sluiceDefault = "Sluice, go-redis, default client"
	sluiceRueidis = "Sluice, rueidis"
	sluiceThree   = "Sluice, go-redis, three bandwidths"
	swapMode      = ", compare-and-swap"
)

var redisContenders = []contender{
	{name: bareGoRedis, role: floor, open: openBareGoRedis},
	{name: bareRueidis, role: floor, open: openBareRueidis},
	{name: redisRate, role: rival, open: openRedisRate},
	{name: redisScript, role: rival, open: openRedisScript},
	{name: "throttled", role: rival, open: openThrottled, inexact: "gives up with an error after ten lost swaps"},
	{name: "ulule/limiter", role: rival, open: openUlule(window)},
	{name: "go-chi/httprate-redis", role: rival, open: openHTTPRateRedis(window)},
	{name: "sethvargo/go-redisstore", role: rival, open: openRedisStore(window)},
	{name: sluiceGoRedis, role: ours, open: onGoRedis(one)},
	{name: sluiceDefault, role: ours, open: openOnDefaultClient},
	{name: sluiceRueidis, role: ours, open: onRueidis(one)},
	{name: sluiceThree, role: ours, open: onGoRedis(three)},
	{name: sluiceGoRedis + ", without coalescing", role: ours, open: onGoRedis(one, sluiceredis.WithoutCoalescing())},
	{name: sluiceRueidis + ", without coalescing", role: ours, open: onRueidis(one, sluiceredis.WithoutCoalescing())},
	{name: sluiceGoRedis + swapMode, role: ours, open: onGoRedis(one, sluiceredis.WithCompareAndSwap())},
	{name: sluiceRueidis + swapMode, role: ours, open: onRueidis(one, sluiceredis.WithCompareAndSwap())},
}

// dialGoRedis makes a client for whoever is on go-redis, rivals too; a proof has another one.
var dialGoRedis = dialKeepingTime

func dialKeepingTime(addr string) *goclient.Client {
	return goclient.NewClient(&goclient.Options{Addr: addr, ContextTimeoutEnabled: true})
}

func dialRueidis(addr string) (ruclient.Client, error) {
	return ruclient.NewClient(ruclient.ClientOption{InitAddress: []string{addr}, DisableCache: true})
}

func onGoRedis(as shape, options ...sluiceredis.Option) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		return takeOnGoRedis(dialGoRedis(addr), as(l), options...)
	}
}

// openOnDefaultClient has the client that people make who set no option.
func openOnDefaultClient(addr string, l limit) (taker, func(), error) {
	return takeOnGoRedis(goclient.NewClient(&goclient.Options{Addr: addr}), one(l))
}

func takeOnGoRedis(c *goclient.Client, as bucket.Configuration, options ...sluiceredis.Option) (taker, func(), error) {
	take, err := onBackend(goredis.New(c, options...), as)
	return take, func() { c.Close() }, err
}

func onRueidis(as shape, options ...sluiceredis.Option) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		c, err := dialRueidis(addr)
		if err != nil {
			return nil, nil, err
		}
		take, err := onBackend(rueidis.New(c, options...), as(l))
		return take, c.Close, err
	}
}

func onBackend(b proxy.Backend, c bucket.Configuration) (taker, error) {
	m, err := manager(b)
	if err != nil {
		return nil, err
	}
	return takeFrom(m, c), nil
}

func manager(b proxy.Backend, options ...proxy.Option) (*proxy.Manager, error) {
	return proxy.NewManager(b, append(options, proxy.WithKeyPrefix(prefix))...)
}

func openBareGoRedis(addr string, _ limit) (taker, func(), error) {
	c := dialGoRedis(addr)
	one := goclient.NewScript("return 1")
	return func(ctx context.Context, key string) (bool, error) {
		return true, one.Run(ctx, c, []string{key}).Err()
	}, func() { c.Close() }, nil
}

func openBareRueidis(addr string, _ limit) (taker, func(), error) {
	c, err := dialRueidis(addr)
	if err != nil {
		return nil, nil, err
	}
	one := ruclient.NewLuaScript("return 1")
	return func(ctx context.Context, key string) (bool, error) {
		return true, one.Exec(ctx, c, []string{key}, nil).Error()
	}, c.Close, nil
}

func openRedisRate(addr string, l limit) (taker, func(), error) {
	c := dialGoRedis(addr)
	r, of := newRedisRate(c, l)
	return func(ctx context.Context, key string) (bool, error) {
		got, err := r.Allow(ctx, key, of)
		return err == nil && got.Allowed > 0, err
	}, func() { c.Close() }, nil
}

func newRedisRate(c *goclient.Client, l limit) (*redis_rate.Limiter, redis_rate.Limit) {
	return redis_rate.NewLimiter(c), redis_rate.Limit{Rate: int(l.tokens), Burst: int(l.capacity), Period: l.period}
}

//go:embed token_bucket.lua
var tokenBucket string

func openRedisScript(addr string, l limit) (taker, func(), error) {
	c := dialGoRedis(addr)
	script := goclient.NewScript(tokenBucket)
	return func(ctx context.Context, key string) (bool, error) {
		now := float64(time.Now().UnixMicro()) / 1e6
		got, err := script.Run(ctx, c, []string{key}, l.capacity, l.tokens, l.period.Seconds(), now).Int64Slice()
		return err == nil && got[0] == 1, err
	}, func() { c.Close() }, nil
}

func openThrottled(addr string, l limit) (taker, func(), error) {
	c := dialGoRedis(addr)
	s, err := goredisstore.NewCtx(c, "throttled:")
	if err != nil {
		return nil, nil, err
	}
	take, err := takeFromThrottled(s, l)
	return take, func() { c.Close() }, err
}

func openUlule(per time.Duration) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		c := dialGoRedis(addr)
		s, err := ululeredis.NewStore(c)
		if err != nil {
			return nil, nil, err
		}
		return takeFromUlule(s, l, per), func() { c.Close() }, nil
	}
}

func openHTTPRateRedis(per time.Duration) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		c := dialGoRedis(addr)
		counter := httprateredis.NewCounter(&httprateredis.Config{Client: c, FallbackDisabled: true})
		return takeFromHTTPRate(l, per, httprate.WithLimitCounter(counter)), func() { c.Close() }, nil
	}
}

func openRedisStore(per time.Duration) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		pool := &redis.Pool{
			MaxActive: dialedByGoRedis, MaxIdle: dialedByGoRedis, Wait: true,
			Dial: func() (redis.Conn, error) { return redis.Dial("tcp", addr) },
		}
		s, err := redisstore.NewWithPool(&redisstore.Config{Tokens: uint64(l.capacity), Interval: per}, pool)
		if err != nil {
			return nil, nil, err
		}
		take := takeFromStore(s)
		return func(ctx context.Context, key string) (bool, error) { return take(ctx, "store:"+key) },
			func() { _ = s.Close(context.Background()) }, nil
	}
}
