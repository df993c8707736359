package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	goclient "github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/internal/redistest"
)

// dialedByGoRedis is how many connections a pool has; others get as many.
var dialedByGoRedis = goclient.NewClient(&goclient.Options{}).Options().PoolSize

// server is a Redis of the run's own, and what it tells about itself.
type server struct {
	name string // such as Redis 7.0.15
	addr string
	c    *goclient.Client
}

func startServer(own *owner) (*server, error) {
	s := &server{addr: redistest.Start(own).Addr()}
	s.c = goclient.NewClient(&goclient.Options{Addr: s.addr, PoolSize: 1})
	own.Cleanup(func() { s.c.Close() })
	info, err := s.info("server")
	if err != nil {
		return nil, err
	}
	s.name = "Redis " + info["redis_version"]
	if v := info["valkey_version"]; v != "" {
		s.name = "Valkey " + v
	}
	return s, nil
}

func (s *server) info(section string) (map[string]string, error) {
	text, err := s.c.Info(context.Background(), section).Result()
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	return fields, err
}

func (s *server) number(section, field string) (float64, error) {
	info, err := s.info(section)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(info[field], 64)
}

// processor is the time that the thread which carries out commands has taken, in microseconds.
func (s *server) processor() (float64, error) {
	user, err := s.number("cpu", "used_cpu_user_main_thread")
	if err != nil {
		return 0, err
	}
	system, err := s.number("cpu", "used_cpu_sys_main_thread")
	return (user + system) * 1e6, err
}

func (s *server) empty() error {
	return s.c.FlushAll(context.Background()).Err()
}

var scriptTime = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// scriptTime is the time that the server has spent in each of at least so many calls of EVALSHA during do, in
// microseconds, as it counts itself.
func (s *server) scriptTime(least int, do func() error) (float64, error) {
	ctx := context.Background()
	if err := s.c.ConfigResetStat(ctx).Err(); err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	text, err := s.c.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	found := scriptTime.FindStringSubmatch(text)
	if found == nil || strings.Contains(text, "cmdstat_eval:") {
		return 0, fmt.Errorf("not EVALSHA alone: %s", text)
	}
	calls, _ := strconv.ParseFloat(found[1], 64)
	micros, _ := strconv.ParseFloat(found[2], 64)
	if calls < float64(least) {
		return 0, fmt.Errorf("%v calls, not %d", calls, least)
	}
	return micros / calls, nil
}

// memoryBeyond is by how many bytes do has enlarged the server's data, once the clients that came with it are gone.
func (s *server) memoryBeyond(do func() error) (float64, error) {
	clients, err := s.number("clients", "connected_clients")
	if err != nil {
		return 0, err
	}
	before, err := s.number("memory", "used_memory")
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	for range 500 {
		now, err := s.number("clients", "connected_clients")
		if err != nil {
			return 0, err
		}
		if now <= clients {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	after, err := s.number("memory", "used_memory")
	return after - before, err
}
