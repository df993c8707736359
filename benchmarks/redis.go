package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	rueidisclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	sluiceredis "github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func port(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func awaitRedis(addr string) error {
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	var err error
	for range 100 {
		if err = c.Ping(context.Background()).Err(); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// limit is what every contender is asked to hold on each key: so many at once,
// and none coming back while a measurement lasts.
type limit struct{ capacity int }

// taker takes one token of a key.
type taker func(ctx context.Context, key string) (bool, error)

// contender is a way to hold a limit.
type contender struct {
	name string
	open func(addr string, l limit) (taker, func(), error)
}

func onGoRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr})
}

var redisRate = contender{"redis_rate", func(addr string, l limit) (taker, func(), error) {
	c := onGoRedis(addr)
	r := redis_rate.NewLimiter(c)
	// It spreads the rate over the period; an hour for each token is none here.
	rate := redis_rate.Limit{Rate: 1, Burst: l.capacity, Period: time.Hour}
	return func(ctx context.Context, key string) (bool, error) {
		res, err := r.Allow(ctx, key, rate)
		if err != nil {
			return false, err
		}
		return res.Allowed > 0, nil
	}, func() { c.Close() }, nil
}}

func sluiceGoRedis(name string, opts ...sluiceredis.Option) contender {
	return contender{name, func(addr string, l limit) (taker, func(), error) {
		c := onGoRedis(addr)
		take, err := sluice(goredis.New(c, opts...), l)
		return take, func() { c.Close() }, err
	}}
}

func sluiceRueidis(name string, opts ...sluiceredis.Option) contender {
	return contender{name, func(addr string, l limit) (taker, func(), error) {
		c, err := rueidisclient.NewClient(rueidisclient.ClientOption{InitAddress: []string{addr}, DisableCache: true})
		if err != nil {
			return nil, nil, err
		}
		take, err := sluice(rueidis.New(c, opts...), l)
		return take, c.Close, err
	}}
}

func sluice(b proxy.Backend, l limit) (taker, error) {
	refill := bandwidth.Greedy(1, time.Hour)
	config, err := bucket.NewConfiguration(bandwidth.Must(bandwidth.New(int64(l.capacity), refill)))
	if err != nil {
		return nil, err
	}
	m, err := proxy.NewManager(b, proxy.WithTimeout(10*time.Second))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string) (bool, error) {
		return m.Bucket(key, config).TryConsume(ctx, 1)
	}, nil
}

// bare is the floor: a script that does nothing.
func bare(name string, run func(addr string) (func(ctx context.Context, key string) error, func(), error)) contender {
	return contender{name, func(addr string, _ limit) (taker, func(), error) {
		call, done, err := run(addr)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, key string) (bool, error) { return true, call(ctx, key) }, done, nil
	}}
}

var bareGoRedis = bare("go-redis, a script that returns 1", func(addr string) (func(context.Context, string) error, func(), error) {
	c := onGoRedis(addr)
	one := redis.NewScript("return 1")
	return func(ctx context.Context, key string) error { return one.Run(ctx, c, []string{key}).Err() }, func() { c.Close() }, nil
})

var bareRueidis = bare("rueidis, a script that returns 1", func(addr string) (func(context.Context, string) error, func(), error) {
	c, err := rueidisclient.NewClient(rueidisclient.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		return nil, nil, err
	}
	one := rueidisclient.NewLuaScript("return 1")
	return func(ctx context.Context, key string) error { return one.Exec(ctx, c, []string{key}, nil).Error() }, c.Close, nil
})

var (
	hotKey   = func(int) string { return "hot" }
	manyKeys = func(n int) string { return fmt.Sprintf("user:%06d", n%100_000) }
)
