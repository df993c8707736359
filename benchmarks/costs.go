package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// What a decision and a key cost a server.

// scriptContenders decide in one EVALSHA, whose time the server counts.
var scriptContenders = []contender{
	{name: bareGoRedis, role: floor, open: openBareGoRedis},
	{name: redisRate, role: rival, open: openRedisRate},
	{name: redisScript, role: rival, open: openRedisScript},
	{name: "ulule/limiter", role: rival, open: openUlule(window)},
	{name: "sethvargo/go-redisstore", role: rival, open: openRedisStore(window)},
	{name: localOne, role: ours, open: onGoRedis(one)},
	{name: localThree, role: ours, open: onGoRedis(three)},
}

// otherOperations decide in one EVALSHA as well.
var otherOperations = []contender{
	{name: "Sluice, looking", role: ours, open: sluiceDoing(func(ctx context.Context, b proxy.Bucket) (bool, error) {
		n, err := b.Available(ctx)
		return n > 0, err
	})},
	{name: "Sluice, taking what there is", role: ours, open: sluiceDoing(func(ctx context.Context, b proxy.Bucket) (bool, error) {
		p, err := b.ConsumeUpTo(ctx, 1)
		return p.Tokens > 0, err
	})},
}

// sluiceDoing does something else than to take.
func sluiceDoing(do func(context.Context, proxy.Bucket) (bool, error)) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		c := dialGoRedis(addr)
		m, err := manager(goredis.New(c))
		return func(ctx context.Context, key string) (bool, error) { return do(ctx, m.Bucket(key, one(l))) }, func() { c.Close() }, err
	}
}

// keepers keep something for a key.
var keepers = []contender{
	{name: redisRate, role: rival, open: openRedisRate},
	{name: redisScript, role: rival, open: openRedisScript},
	{name: "throttled", role: rival, open: openThrottled},
	{name: "ulule/limiter", role: rival, open: openUlule(window)},
	{name: "sethvargo/go-redisstore", role: rival, open: openRedisStore(window)},
	{name: localOne, role: ours, open: keeping(one)},
	{name: localThree, role: ours, open: keeping(usualThree)},
}

// keeping is Sluice with keys that stay until they have been counted, full or not.
func keeping(as shape) func(string, limit) (taker, func(), error) {
	return func(addr string, l limit) (taker, func(), error) {
		c := dialGoRedis(addr)
		m, err := manager(goredis.New(c), proxy.WithExpiration(expiration.TimeToFull(10*time.Minute)))
		return takeFrom(m, as(l)), func() { c.Close() }, err
	}
}

// costJobs measure on one kind of server; its name says which.
func costJobs(kind string, s *server) (times, bytes []job) {
	for outcome, l := range map[string]limit{"granted": large, "refused": spent} {
		contenders := scriptContenders
		if l == large {
			contenders = slices.Concat(contenders, otherOperations)
		}
		for _, c := range contenders {
			if l == spent && c.role == floor {
				continue
			}
			work := kind + ", " + outcome
			times = append(times, job{timeSuite, work, c.name, c.role, func(_ int, record func(string, sample)) error {
				got := nothing
				var err error
				got.server, err = s.decisionTime(c, l)
				record(work, got)
				return err
			}})
		}
	}
	names := keyNames("", many)
	for work, keys := range map[string][]string{kind: names, kind + manyLengths: lengthened(names)} {
		for _, c := range keepers {
			if work != kind && c.role == rival && c.name != redisRate {
				continue
			}
			bytes = append(bytes, job{bytesSuite, work, c.name, c.role, func(_ int, record func(string, sample)) error {
				got := nothing
				var err error
				got.memory, err = s.bytesPerKey(c, keys)
				record(work, got)
				return err
			}})
		}
	}
	return times, bytes
}

// A server's allocator has steps, of 16 bytes mostly, on which names of one length happen to be or not.
const manyLengths = ", names of 16 different lengths"

func lengthened(names []string) []string {
	all := slices.Clone(names)
	for i := range all {
		all[i] += strings.Repeat("-", i%16)
	}
	return all
}

// How many pipelines are sent for a sample of a decision's time; tests send fewer.
var batches = 200

// decisionTime is the server's time for a decision in microseconds: the command that a contender sends for each of ten
// keys is sent again, in pipelines of a hundred.
func (s *server) decisionTime(c contender, l limit) (float64, error) {
	const batch = 100
	if err := s.empty(); err != nil {
		return 0, err
	}
	keys := keyNames("", 10)
	commands, err := s.sent(c, l, func(take taker) error {
		return fill(take, keys, 1) // afterwards the script is known, and what is spent is refused
	}, func(take taker) error {
		return fill(take, keys, 1)
	})
	if err != nil {
		return 0, err
	}
	if len(commands) != len(keys) {
		return 0, fmt.Errorf("%d commands for %d decisions", len(commands), len(keys))
	}
	return s.scriptTime(batches*batch, func() error {
		for range batches {
			if err := s.pipeline(commands, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *server) pipeline(commands [][]any, n int) error {
	p := s.c.Pipeline()
	for i := range n {
		p.Do(context.Background(), commands[i%len(commands)]...)
	}
	_, err := p.Exec(context.Background())
	return err
}

// bytesPerKey is by how much each of some keys enlarges the server's memory, its name and everything included.
func (s *server) bytesPerKey(c contender, keys []string) (float64, error) {
	if err := s.c.Do(context.Background(), "FLUSHALL", "SYNC").Err(); err != nil {
		return 0, err
	}
	used, err := s.memoryBeyond(func() error {
		take, done, err := c.open(s.addr, usual)
		if err != nil {
			return err
		}
		defer done()
		return fill(take, keys, 64)
	})
	if n, e := s.c.DBSize(context.Background()).Result(); err == nil && (e != nil || n != int64(len(keys))) {
		err = fmt.Errorf("%d keys, %w", n, e)
	}
	return used / float64(len(keys)), err
}
