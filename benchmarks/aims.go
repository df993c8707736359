package main

import (
	"fmt"
	"math"
	"strings"
)

// Fields of a sample, as ratios and tables take them.
func nanos(s sample) float64       { return 1e9 / s.perSecond }
func perSecond(s sample) float64   { return s.perSecond }
func allocations(s sample) float64 { return s.allocations }
func heapBytes(s sample) float64   { return s.heap }
func serverTime(s sample) float64  { return s.server }
func serverBytes(s sample) float64 { return s.memory }
func wrong(s sample) float64       { return s.wrong }
func errorCount(s sample) float64  { return s.errors }
func leastShare(s sample) float64  { return s.leastShare }
func mostShare(s sample) float64   { return s.mostShare }

// aim is a row of the first table: what is to be reached.
type aim struct {
	work, beside, text string
	reached            func(*results) []reading
}

// reading is one figure that an aim asks for.
type reading struct {
	text string
	met  bool
	is   bool // measured at all
}

func (a aim) row(r *results) string {
	var texts []string
	for _, got := range a.reached(r) {
		switch {
		case !got.is:
			texts = append(texts, "not measured")
		case got.met:
			texts = append(texts, got.text)
		default:
			texts = append(texts, got.text+" (**missed**)")
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", a.work, a.beside, a.text, strings.Join(texts, "; "))
}

// atMost and atLeast compare a figure with a bound.
func atMost(bound, value float64, format string) reading {
	return reading{fmt.Sprintf(format, value), value <= bound, !math.IsNaN(value)}
}

func atLeast(bound, value float64, format string) reading {
	return reading{fmt.Sprintf(format, value), value >= bound, !math.IsNaN(value)}
}

func none(value float64, format string) reading { return atMost(0.01, math.Abs(value), format) }

// aims are all rows.
func aims() []aim {
	all := []aim{
		{
			"local `TryConsume`, one greedy bandwidth", "`time.Since` and one compare-and-swap", "≤ 1.10 ×, 0 allocations",
			localReadings(localOne, granted(1), clockAndSwap, 1.10),
		},
		{
			"its refusal", "`time.Since` and one load", "a load only; scales with processors as the load does",
			func(r *results) []reading {
				alone, together := id{localSuite, refused(1), localOne}, id{localSuite, refused(16), localOne}
				load, loads := id{localSuite, refused(1), clockAndLoad}, id{localSuite, refused(16), clockAndLoad}
				scale, ofLoad := r.ratio(together, alone, perSecond), r.ratio(loads, load, perSecond)
				return []reading{
					atMost(1.25, r.ratio(alone, load, nanos), "%.2f × at 1 goroutine"),
					atLeast(0.85*ofLoad, scale, fmt.Sprintf("16 goroutines refuse %%.2f times as many (the load: %.2f)", ofLoad)),
				}
			},
		},
		{
			"local, three bandwidths", "the same floor", "≤ 1.7 ×, 0 allocations",
			localReadings(localThree, granted(1), clockAndSwap, 1.7),
		},
		{
			"memory manager, 1,000,000 string keys, Zipf, parallel", "bare sharded-map look-up, and every rival",
			"≤ 1.75 ×, ≤ 90 bytes of heap a key beside the key's own, faster than every rival",
			memoryReadings,
		},
	}
	for _, kind := range kinds {
		all = append(all, serverTimeAim(kind))
	}
	all = append(all,
		aim{
			"Redis, 100,000 keys, 256 goroutines, rueidis", "its bare EVALSHA of `return 1`, and redis_rate", "≥ 0.6 ×, and ≥ 2.2 ×",
			func(r *results) []reading {
				of := func(name string) id { return id{redisSuite, onRedis(manyKeys, granted(crowd), 0), name} }
				return []reading{
					atLeast(0.6, r.ratio(of(sluiceRueidis), of(bareRueidis), perSecond), "%.2f × the bare call"),
					atLeast(2.2, r.ratio(of(sluiceRueidis), of(redisRate), perSecond), "%.2f × redis_rate"),
				}
			},
		},
		aim{
			"the same on go-redis", "redis_rate on the same client", "≥ 2 ×, never slower at 1 goroutine",
			func(r *results) []reading {
				of := func(name string, n int) id { return id{redisSuite, onRedis(manyKeys, granted(n), 0), name} }
				return []reading{
					atLeast(2, r.ratio(of(sluiceGoRedis, crowd), of(redisRate, crowd), perSecond), "%.2f × at 256"),
					atLeast(1, r.ratio(of(sluiceGoRedis, 1), of(redisRate, 1), perSecond), "%.2f × at 1"),
				}
			},
		},
		aim{"Redis, one hot key, 256 goroutines, coalescing", redisRate, "≥ 15 ×, exact", hotReadings},
		aim{
			"compare-and-swap mode, one hot key, 256 goroutines in one process", "Lua mode on the same client",
			"≥ 0.5 ×, 0 errors; with 16 managers none starves", swapReadings,
		},
	)
	for _, kind := range kinds {
		all = append(all, memoryAim(kind))
	}
	return all
}

func localReadings(contender, work, floor string, bound float64) func(*results) []reading {
	return func(r *results) []reading {
		of, beside := id{localSuite, work, contender}, id{localSuite, work, floor}
		return []reading{
			atMost(bound, r.ratio(of, beside, nanos), fmt.Sprintf("%%.2f × (%.1f ns beside %.1f)", r.figure(of, nanos), r.figure(beside, nanos))),
			none(r.figure(of, allocations), "%.0f allocations"),
		}
	}
}

func memoryReadings(r *results) []reading {
	work := millionKeys("Zipf", granted(16))
	of := func(name string) id { return id{memorySuite, work, name} }
	nearest, name := math.NaN(), ""
	for _, c := range r.contenders(memorySuite, work) {
		if ratio := r.ratio(of(memorySluice), c, perSecond); r.roles[c] == rival && !(ratio >= nearest) {
			nearest, name = ratio, c.contender
		}
	}
	return []reading{
		atMost(1.75, r.ratio(of(memorySluice), of(bareMap), nanos), "%.2f ×"),
		atMost(90, r.figure(of(memorySluice), heapBytes), "%.0f bytes"),
		atLeast(1, nearest, "%.2f × the fastest rival, "+name),
	}
}

// serverTimeAim compares the time of the server with that of redis_rate's script.
func serverTimeAim(kind string) aim {
	one, three := 0.95, 1.1
	if kind == redis7 {
		one = 0.90
	}
	return aim{
		"Redis Lua, server time a decision, " + kind, "redis_rate's script, same outcome",
		fmt.Sprintf("one bandwidth ≤ %.2f ×, three ≤ %.1f ×; refusals ≤ 0.8 × and ≤ 0.9 ×", one, three),
		func(r *results) []reading {
			ratio := func(outcome, name string) float64 {
				work := kind + ", " + outcome
				return r.ratio(id{timeSuite, work, name}, id{timeSuite, work, redisRate}, serverTime)
			}
			return []reading{
				atMost(one, ratio("granted", localOne), "%.2f ×"),
				atMost(three, ratio("granted", localThree), "three %.2f ×"),
				atMost(0.8, ratio("refused", localOne), "refusals %.2f ×"),
				atMost(0.9, ratio("refused", localThree), "three %.2f ×"),
			}
		},
	}
}

func hotReadings(r *results) []reading {
	var all []reading
	work := onRedis(hotKey, granted(crowd), 0)
	for _, name := range []string{sluiceGoRedis, sluiceRueidis} {
		of := id{redisSuite, work, name}
		all = append(all,
			atLeast(15, r.ratio(of, id{redisSuite, work, redisRate}, perSecond), "%.1f × on "+client(name)),
			none(r.total(of, wrong), "%.0f tokens granted wrongly"),
		)
	}
	return all
}

func client(name string) string { return strings.TrimPrefix(name, "Sluice, ") }

func swapReadings(r *results) []reading {
	var all []reading
	work := onRedis(hotKey, granted(crowd), 0)
	for _, lua := range []string{sluiceGoRedis, sluiceRueidis} {
		of, shared := id{redisSuite, work, lua + swapMode}, id{redisSuite, inProcesses, lua + swapMode}
		all = append(all,
			atLeast(0.5, r.ratio(of, id{redisSuite, work, lua}, perSecond), "%.2f × on "+client(lua)),
			none(r.total(of, errorCount)+r.total(shared, errorCount), "%.0f errors"),
			atLeast(0.2, r.figure(shared, leastShare), fmt.Sprintf("of 16 managers the last got %%.2f of an equal share, the first %.2f", r.figure(shared, mostShare))),
		)
	}
	return all
}

// memoryAim compares what a key takes with what it takes under redis_rate.
func memoryAim(kind string) aim {
	bound := 1.2
	if kind == valkey8 {
		bound = 1.35
	}
	return aim{
		"memory of the server a key, " + kind, "redis_rate, same key names",
		fmt.Sprintf("one round bandwidth ≤ 1.02 ×, three ≤ %.2f ×", bound),
		func(r *results) []reading {
			of := func(name string) id { return id{bytesSuite, kind, name} }
			return []reading{
				atMost(1.02, r.ratio(of(localOne), of(redisRate), serverBytes), fmt.Sprintf("%%.3f × (%.0f bytes beside %.0f)", r.figure(of(localOne), serverBytes), r.figure(of(redisRate), serverBytes))),
				atMost(bound, r.ratio(of(localThree), of(redisRate), serverBytes), fmt.Sprintf("three %%.3f × (%.0f bytes)", r.figure(of(localThree), serverBytes))),
			}
		},
	}
}
