package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// page is the section of docs/benchmarks.md.
func (r *results) page(rounds int, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, `Sluice beside other limiters and beside floors that nobody can go below, on the same work in one run. Written by
%[1]smake benchmarks%[1]s on %[2]s in %[3]s, in %[4]d rounds.

%[5]s. %[6]s. Client and server share the processors.

Contenders take turns in each round. Ratios are medians over the rounds of one contender's figure divided by another's of
the same round; other figures are medians. Only ratios count: absolute figures are those of this machine in that hour.

| module | version |
|---|---|
`, "`", time.Now().UTC().Format("2006-01-02"), took.Round(time.Second), rounds, machine(), strings.Join(r.servers, ", "))
	for _, v := range versions() {
		name, version, _ := strings.Cut(v, " ")
		fmt.Fprintf(&b, "| %s | %s |\n", name, version)
	}
	b.WriteString("\n" + absent + "\n\n## What is to be reached\n\n| work | beside | aim | reached |\n|---|---|---|---|\n")
	for _, a := range aims() {
		b.WriteString(a.row(r))
	}
	b.WriteString("\n" + r.tables())
	return b.String()
}

const absent = "`github.com/redis/rueidis/rueidislimiter` is not measured: the module proxy does not have it.\n" +
	"uber's limiter paces its callers and refuses nobody, so it has no figures for refusals. `throttled` and `go-chi/httprate-redis` send no\n" +
	"script for a decision by its digest, so they have no row in the server's time for a script."

// chapter is a suite on the page.
type chapter struct {
	suite, text string
	beside      []string // whose figures the others are divided by: the first who takes part
	compared    func(sample) float64
	charts      []chart
}

func chapters() []chapter {
	return []chapter{
		{
			localSuite, "One bucket without keys. What refuses has been drained before. A latency includes reading the clock twice.",
			[]string{clockAndSwap, clockAndLoad},
			perSecond,
			[]chart{{"local", "Local bucket, 1 goroutine: ns a decision", localSuite, granted(1), nanos, "%.0f"}},
		},
		{
			memorySuite, "Each contender has the heap to itself and holds all keys before it is measured. Bytes of heap come on top of the key's\n" +
				"own. A latency, of one call in 64, includes reading the clock twice.",
			[]string{bareMap, memorySluice},
			perSecond,
			[]chart{{"memory", "1,000,000 keys in memory, Zipf, 16 goroutines: million decisions a second", memorySuite, millionKeys("Zipf", granted(16)), millions, "%.1f"}},
		},
		{
			redisSuite, "The works that have an aim. Every key has been used before. The server's time is that of its main thread, network included;\n" +
				"commands are those that it is sent, not those that scripts call.\n\n" +
				"All on go-redis, rivals too, have clients with `ContextTimeoutEnabled`, except the one whose row says \"default client\": where the\n" +
				"client keeps deadlines itself, a lone call of Sluice stays on the caller's goroutine ([why](optimisations.md#deadlines-kept-by-the-client)).",
			[]string{redisRate, sluiceGoRedis + swapMode},
			perSecond,
			nil,
		},
		{
			timeSuite, "By the server's own `INFO commandstats`: 20,000 calls a round in pipelines of a hundred over ten keys, all by EVALSHA.",
			[]string{redisRate},
			serverTime,
			[]chart{{"server-time", "Time of the server for a granted decision: µs", timeSuite, kinds[0] + ", granted", serverTime, "%.1f"}},
		},
		{
			bytesSuite, "By `used_memory` over 100,000 keys: everything that the server needs for a key. Under redis_rate and Sluice names have 18 bytes; the\n" +
				"others have prefixes of their own. Those of 16 different lengths have 18 to 33.",
			[]string{redisRate},
			serverBytes,
			[]chart{{"server-memory", "Memory of the server a key: bytes", bytesSuite, kinds[0], serverBytes, "%.0f"}},
		},
		{
			wideSuite, "Shorter measurements of all contenders.",
			[]string{redisRate},
			perSecond,
			[]chart{
				{"redis-keys", "Redis, 100,000 keys, 256 goroutines: thousand decisions a second", wideSuite, onRedis(manyKeys, granted(crowd), 0), thousands, "%.0f"},
				{"redis-hot", "Redis, one hot key, 256 goroutines: thousand decisions a second", wideSuite, onRedis(hotKey, granted(crowd), 0), thousands, "%.0f"},
			},
		},
	}
}

func millions(s sample) float64  { return s.perSecond / 1e6 }
func thousands(s sample) float64 { return s.perSecond / 1e3 }

// tables are all suites with all figures.
func (r *results) tables() string {
	var b strings.Builder
	for _, c := range chapters() {
		works := r.works(c.suite)
		if len(works) == 0 {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", c.suite, c.text)
		for _, chart := range c.charts {
			fmt.Fprintf(&b, "![%s](img/benchmarks/%s.svg)\n\n", chart.title, chart.file)
		}
		for _, work := range works {
			fmt.Fprintf(&b, "### %s\n\n%s\n", capitalized(work), r.table(c, work))
		}
	}
	return b.String()
}

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// column is one kind of figure. It is shown where it was measured.
type column struct {
	head  string
	value func(r *results, of id) float64
	text  func(float64) string
}

func middle(field func(sample) float64) func(*results, id) float64 {
	return func(r *results, of id) float64 { return r.figure(of, field) }
}

func sum(field func(sample) float64) func(*results, id) float64 {
	return func(r *results, of id) float64 { return r.total(of, field) }
}

func decimals(n int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", n, v) }
}

var columns = []column{
	{"decisions a second", middle(perSecond), count},
	{"p50", middle(func(s sample) float64 { return s.p50 }), duration},
	{"p99", middle(func(s sample) float64 { return s.p99 }), duration},
	{"allocations", middle(allocations), decimals(1)},
	{"heap a key", middle(heapBytes), decimals(0)},
	{"µs of the server", middle(serverTime), decimals(2)},
	{"commands", middle(func(s sample) float64 { return s.commands }), decimals(2)},
	{"bytes a key", middle(serverBytes), decimals(0)},
	{"least share", middle(leastShare), decimals(2)},
	{"most share", middle(mostShare), decimals(2)},
	{"errors", sum(errorCount), decimals(0)},
	{"granted wrongly", sum(wrong), decimals(0)},
	{"admits of 1,000", admits, decimals(0)},
}

func admits(r *results, of id) float64 {
	suite := of.suite
	if suite == wideSuite {
		suite = redisSuite
	}
	return r.figure(id{exactSuite, suite, of.contender}, func(s sample) float64 { return s.admitted })
}

// count is a number with three digits.
func count(v float64) string {
	for _, unit := range []struct {
		factor float64
		name   string
	}{{1e6, " M"}, {1e3, " k"}, {1, ""}} {
		if v >= unit.factor {
			return fmt.Sprintf("%.*f%s", max(0, 2-int(math.Log10(v/unit.factor))), v/unit.factor, unit.name)
		}
	}
	return fmt.Sprintf("%.2f", v)
}

func duration(nanos float64) string {
	switch {
	case nanos < 1e3:
		return fmt.Sprintf("%.0f ns", nanos)
	case nanos < 1e6:
		return fmt.Sprintf("%.0f µs", nanos/1e3)
	default:
		return fmt.Sprintf("%.1f ms", nanos/1e6)
	}
}

// table has a contender in each row, and as columns what was measured of the work.
func (r *results) table(c chapter, work string) string {
	rows := r.contenders(c.suite, work)
	var shown []column
	for _, col := range columns {
		if slices.ContainsFunc(rows, func(of id) bool { return !math.IsNaN(col.value(r, of)) }) {
			shown = append(shown, col)
		}
	}
	for _, name := range c.beside {
		if beside := (id{c.suite, work, name}); slices.Contains(rows, beside) {
			times := column{"× " + name, func(r *results, of id) float64 { return r.ratio(of, beside, c.compared) }, decimals(2)}
			shown = slices.Insert(shown, 1, times)
			break
		}
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, col := range shown {
		fmt.Fprintf(&b, " %s |", col.head)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---:|", len(shown)))
	for _, of := range rows {
		fmt.Fprintf(&b, "| %s |", bold(r.roles[of], of.contender))
		for _, col := range shown {
			v := col.value(r, of)
			if math.IsNaN(v) {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", col.text(v))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func bold(as role, name string) string {
	if as == ours {
		return "**" + name + "**"
	}
	return name
}
