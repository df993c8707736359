package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/redis/goredis"
)

// What a bucket and a decision cost the server, by its own figures.

var (
	oneLimit    = bucket.MustConfiguration(greedy(1_000_000, 100, time.Minute))
	threeLimits = bucket.MustConfiguration(greedy(1_000_000, 10, time.Second), greedy(1_000_000, 500, time.Minute), greedy(1_000_000, 10_000, time.Hour))
)

func greedy(capacity, tokens int64, period time.Duration) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(tokens, period)))
}

// serverCosts measures decisions in batches of a hundred keys, and the memory of
// keys with names of 18 bytes.
func serverCosts(addr string, rounds int) (string, error) {
	c := onGoRedis(addr)
	defer c.Close()
	b := goredis.New(c)
	var out strings.Builder
	out.WriteString("### What the server pays\n\n| call | µs |\n|---|---:|\n")
	one := redis.NewScript("return 1")
	for _, work := range []struct {
		name string
		do   func() error
	}{
		{"a script that returns 1", func() error {
			p := c.Pipeline()
			for range 100 {
				one.Eval(context.Background(), p, []string{"k"})
			}
			_, err := p.Exec(context.Background())
			return err
		}},
		{"take, one bandwidth", batch(b, oneLimit, bucket.OpConsume, 1)},
		{"take, three bandwidths", batch(b, threeLimits, bucket.OpConsume, 1)},
		{"refusal, one bandwidth", batch(b, oneLimit, bucket.OpConsume, 2_000_000)},
		{"look", batch(b, oneLimit, bucket.OpInspect, 0)},
		{"take what there is", batch(b, oneLimit, bucket.OpConsumeUpTo, 1)},
	} {
		micros, err := serverTime(c, work.do, rounds)
		if err != nil {
			return "", fmt.Errorf("%s: %w", work.name, err)
		}
		fmt.Fprintf(&out, "| %s | %.1f |\n", work.name, micros)
	}
	out.WriteString("\n| memory a key | bytes |\n|---|---:|\n")
	for _, kept := range []struct {
		name  string
		limit bucket.Configuration
	}{
		{"one bandwidth, 100 a minute", bucket.MustConfiguration(greedy(100, 100, time.Minute))},
		{"three bandwidths", bucket.MustConfiguration(greedy(10, 10, time.Second), greedy(500, 500, time.Minute), greedy(10_000, 10_000, time.Hour))},
	} {
		bytes, err := memoryOfKey(addr, c, b, kept.limit)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "| %s | %d |\n", kept.name, bytes)
	}
	return out.String(), nil
}

var usedMemory = regexp.MustCompile(`used_memory:(\d+)`)

// memoryOfKey is what one of 100,000 keys takes, everything included.
func memoryOfKey(addr string, c *redis.Client, b proxy.Backend, limit bucket.Configuration) (int64, error) {
	const keys = 100_000
	used := func() (n int64, err error) {
		info, err := c.Info(context.Background(), "memory").Result()
		if found := usedMemory.FindStringSubmatch(info); found != nil {
			n, err = strconv.ParseInt(found[1], 10, 64)
		}
		return n, err
	}
	if err := empty(addr); err != nil {
		return 0, err
	}
	before, err := used()
	if err != nil {
		return 0, err
	}
	for from := 0; from < keys; from += 1000 {
		ds := make([]proxy.Decision, 1000)
		for i := range ds {
			ds[i].Results = make([]bucket.Result, 1)
			ds[i].Charges = []proxy.Charge{{
				Key:     fmt.Sprintf("sluice:user:%06d", from+i),
				Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: bucket.OpConsume, Tokens: 1}},
				Rule:    expiration.TimeToFull(time.Hour),
			}}
		}
		b.Do(context.Background(), ds)
		if ds[0].Err != nil {
			return 0, ds[0].Err
		}
	}
	after, err := used()
	return (after - before) / keys, err
}

func batch(b proxy.Backend, limit bucket.Configuration, kind bucket.Kind, tokens int64) func() error {
	return func() error {
		ds := make([]proxy.Decision, 100)
		for i := range ds {
			ds[i].Results = make([]bucket.Result, 1)
			ds[i].Charges = []proxy.Charge{{
				Key:     fmt.Sprintf("sluice:%d:%d", limit.Len(), i),
				Request: bucket.Request{Config: limit, Op: bucket.Operation{Kind: kind, Tokens: tokens}},
			}}
		}
		b.Do(context.Background(), ds)
		for i := range ds {
			if ds[i].Err != nil {
				return ds[i].Err
			}
		}
		return nil
	}
}

var scriptTime = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)`)

// serverTime is the median over rounds of the microseconds a script call took.
func serverTime(c *redis.Client, do func() error, rounds int) (float64, error) {
	var all []float64
	for range rounds {
		if err := do(); err != nil { // so that the server knows the script
			return 0, err
		}
		if err := c.ConfigResetStat(context.Background()).Err(); err != nil {
			return 0, err
		}
		for range 200 {
			if err := do(); err != nil {
				return 0, err
			}
		}
		info, err := c.Info(context.Background(), "commandstats").Result()
		if err != nil {
			return 0, err
		}
		var calls, micros float64
		for _, found := range scriptTime.FindAllStringSubmatch(info, -1) {
			n, _ := strconv.ParseFloat(found[1], 64)
			us, _ := strconv.ParseFloat(found[2], 64)
			calls, micros = calls+n, micros+us
		}
		all = append(all, micros/calls)
	}
	return median(all), nil
}
