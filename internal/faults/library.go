package faults

import (
	"time"

	goclient "github.com/redis/go-redis/v9"
	ruclient "github.com/redis/rueidis"

	"github.com/sluice-go/sluice/proxy/redis"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
	"github.com/sluice-go/sluice/proxy/redis/rueidis"
)

// Library is a client library.
type Library struct {
	Name string
	// SocketTimeout is how long a client waits for an answer unless it is told otherwise.
	SocketTimeout time.Duration
	// Dial makes a client, by default as the library makes it.
	Dial func(addr string, s Settings) (*Client, error)
}

// Settings are what may differ from a client made by default.
type Settings struct {
	Password      string
	SocketTimeout time.Duration
	// Lazy lets a client be made while nothing listens. go-redis always does.
	Lazy bool
}

// Client is a client of a library.
type Client struct {
	Backend func(...redis.Option) *redis.Backend
	Close   func()
}

// Libraries are those for which there is an adapter.
var Libraries = []Library{
	{"go-redis", 3 * time.Second, dialGoRedis},
	{"rueidis", 10 * time.Second, dialRueidis},
}

func dialGoRedis(addr string, s Settings) (*Client, error) {
	c := goclient.NewClient(&goclient.Options{Addr: addr, Password: s.Password, ReadTimeout: s.SocketTimeout})
	return &Client{
		Backend: func(options ...redis.Option) *redis.Backend { return goredis.New(c, options...) },
		Close:   func() { _ = c.Close() }, // closed once
	}, nil
}

func dialRueidis(addr string, s Settings) (*Client, error) {
	c, err := ruclient.NewClient(ruclient.ClientOption{
		InitAddress: []string{addr}, Password: s.Password, ConnWriteTimeout: s.SocketTimeout, ForceSingleClient: s.Lazy,
	})
	if err != nil && !s.Lazy {
		return nil, err
	}
	return &Client{
		Backend: func(options ...redis.Option) *redis.Backend { return rueidis.New(c, options...) },
		Close:   c.Close,
	}, nil
}
