// Command benchmarks measures Sluice beside other limiters and beside the floors that nobody can go below, on the same
// work in one run, and writes docs/benchmarks.md.
//
//	make benchmarks
//	go run ./benchmarks -only 'Local' -rounds 3      # a part, to standard output
//
// Contenders take turns in each round. What counts is ratios within a round and their medians: absolute figures are
// those of one machine in one hour. What a contender grants is counted against what is right: the command fails if a
// token was granted or refused wrongly, since such a row compares different work.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/sluice-go/sluice/benchmarks/page"
)

func main() {
	rounds := flag.Int("rounds", 6, "how often each contender is measured; works without an aim half as often")
	length := flag.Duration("length", time.Second, "how long a measurement on Redis takes; others are shorter in proportion")
	only := flag.String("only", "", "measure only what matches this `regexp` (suite: work: contender), and print it")
	out := flag.String("out", "docs/benchmarks.md", "the page to write; charts go into img beside it")
	flag.Parse()
	if err := run(*rounds, *length, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run(rounds int, length time.Duration, only, out string) error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return fmt.Errorf("%w: make benchmarks gets one", err)
	}
	matching, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	begun := time.Now()
	r := newResults()
	if err := measure(settings{rounds, length, matching}, r); err != nil {
		return err
	}
	if only != "" {
		fmt.Println(r.tables())
		return r.wrongOutcomes()
	}
	if err := r.charts(out); err != nil {
		return err
	}
	if err := page.Write(out, page.Benchmarks, r.page(rounds, time.Since(begun))); err != nil {
		return err
	}
	return r.wrongOutcomes()
}

// measure runs all suites.
func measure(s settings, r *results) error {
	few := max(1, s.rounds/2)
	if err := s.interleave(1, exactJobs(localSuite, "", keyless()), r); err != nil {
		return err
	}
	if err := s.interleave(1, exactJobs(memorySuite, "", memoryContenders), r); err != nil {
		return err
	}
	if err := s.interleave(s.rounds, localJobs(s.length/10), r); err != nil {
		return err
	}
	if err := s.interleave(s.rounds, memoryJobs(s.length/5), r); err != nil {
		return err
	}
	err := owned(func(own *owner) error {
		st, err := newStage(own)
		if err != nil {
			return err
		}
		if err := s.interleave(1, exactJobs(redisSuite, st.addr, redisContenders), r); err != nil {
			return err
		}
		if err := s.interleave(s.rounds, st.redisJobs(s.length), r); err != nil {
			return err
		}
		return s.interleave(few, st.wideJobs(s.length/5), r)
	})
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := s.costs(kind, r); err != nil {
			return err
		}
	}
	return nil
}

// costs measures on one kind of server, if it can be had.
func (s settings) costs(kind string, r *results) error {
	var on server
	times, bytes := costJobs(kind, &on)
	if len(s.wanted(times))+len(s.wanted(bytes)) == 0 {
		return nil
	}
	return owned(func(own *owner) error {
		started, err := serverOf(kind, own)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s is not measured: %v\n", kind, err)
			return nil
		}
		on = *started
		r.servers = append(r.servers, on.name)
		if err := s.interleave(s.rounds, times, r); err != nil {
			return err
		}
		return s.interleave(1, bytes, r)
	})
}
