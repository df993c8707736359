package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	rueidisclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	sluiceredis "github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// socketTimeout ends what was given up, so that connections to a Redis that is
// silent are replaced soon.
const socketTimeout = time.Second

// opener opens the store that the flags name: the buckets, and what is to be
// closed after them.
type opener func(mode []sluiceredis.Option) (proxy.Backend, io.Closer, error)

func inMemory([]sluiceredis.Option) (proxy.Backend, io.Closer, error) {
	return memory.New(), io.NopCloser(nil), nil
}

// onGoRedis takes the URLs of go-redis: one server, Sentinel with
// ?master_name=, and a cluster with ?addr= for each further node.
func onGoRedis(store string) (opener, error) {
	client, err := goRedisClient(store)
	if err != nil {
		return nil, err
	}
	return func(mode []sluiceredis.Option) (proxy.Backend, io.Closer, error) {
		c := client()
		return goredis.New(c, mode...), c, nil
	}, nil
}

// goRedisClient checks the URL and makes the client later: clients start to dial
// as soon as they are made.
func goRedisClient(store string) (func() redis.UniversalClient, error) {
	u, err := url.Parse(store)
	if err != nil {
		return nil, err
	}
	switch query := u.Query(); {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(store)
		if err != nil {
			return nil, err
		}
		timeouts(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		return func() redis.UniversalClient { return redis.NewFailoverClient(o) }, nil
	case query.Has("addr"):
		o, err := redis.ParseClusterURL(store)
		if err != nil {
			return nil, err
		}
		timeouts(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.ContextTimeoutEnabled = true // calls then stay on the goroutine of their request
		return func() redis.UniversalClient { return redis.NewClusterClient(o) }, nil
	default:
		o, err := redis.ParseURL(store)
		if err != nil {
			return nil, err
		}
		timeouts(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout)
		o.ContextTimeoutEnabled = true
		return func() redis.UniversalClient { return redis.NewClient(o) }, nil
	}
}

// timeouts leaves those that the URL gives.
func timeouts(all ...*time.Duration) {
	for _, t := range all {
		*t = cmp.Or(*t, socketTimeout)
	}
}

// onRueidis takes the URLs of rueidis: one server, Sentinel with ?master_set= or
// the ?master_name= of go-redis, and a cluster with ?addr= for each further node.
// Only the client of one server can be had before that is there.
func onRueidis(store string) (opener, error) {
	u, err := url.Parse(store)
	if err != nil {
		return nil, err
	}
	if u.Path == "/" { // go-redis takes it for database 0
		u.Path = ""
	}
	o, err := rueidisclient.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	o.Sentinel.MasterSet = cmp.Or(o.Sentinel.MasterSet, u.Query().Get("master_name"))
	o.ForceSingleClient = len(o.InitAddress) == 1 && o.Sentinel.MasterSet == ""
	timeouts(&o.Dialer.Timeout, &o.ConnWriteTimeout)
	o.DisableCache = true // scripts are never cached
	return func(mode []sluiceredis.Option) (proxy.Backend, io.Closer, error) {
		c, err := rueidisclient.NewClient(o)
		if err != nil && (c == nil || !o.ForceSingleClient) {
			return nil, nil, fmt.Errorf("rueidis: %w", err)
		}
		return rueidis.New(c, mode...), closer(c.Close), nil
	}, nil
}

type closer func()

func (c closer) Close() error {
	c()
	return nil
}

// policies are what -on-failure chooses from.
var policies = map[string]func(proxy.Backend) proxy.Backend{
	"error": func(b proxy.Backend) proxy.Backend { return b },
	"allow": proxy.AllowOnFailure,
	"deny":  proxy.DenyOnFailure,
	"local": func(b proxy.Backend) proxy.Backend { return proxy.FallBack(b, memory.New()) },
}

// parseStore shows nothing of a bad URL: any part of it may be one of a
// password, if only because a slash in that was not escaped.
func parseStore(store, client string) (opener, error) {
	if store == "memory" {
		return inMemory, nil
	}
	parse := map[string]func(string) (opener, error){"goredis": onGoRedis, "rueidis": onRueidis}[client]
	if parse == nil {
		return nil, nil // told of -client
	}
	open, err := parse(store)
	if err != nil {
		return nil, errors.New("not memory, and no URL of Redis such as redis://user:password@localhost:6379/0 " +
			"(special characters in user and password need escapes such as %2F; the value is not shown, as it may hold a password)")
	}
	return open, nil
}
