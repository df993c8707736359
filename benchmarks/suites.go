package main

import (
	"fmt"
	"slices"
	"time"
)

// The suites: what is measured together and shown in one place.
const (
	localSuite  = "Local buckets"
	memorySuite = "Buckets by key in memory"
	redisSuite  = "Buckets by key on Redis"
	wideSuite   = "More of Redis"
	timeSuite   = "Server time"
	bytesSuite  = "Memory of the server"
	exactSuite  = "Exactness" // its works are the suites whose contenders it looks at
)

// everyCount is how many goroutines are at work.
var everyCount = []int{1, 16, 256}

func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprint(n, " goroutines")
}

func granted(n int) string { return "granted, " + goroutines(n) }
func refused(n int) string { return "refused, " + goroutines(n) }

// localJobs measure buckets without keys.
func localJobs(length time.Duration) (jobs []job) {
	add := func(c localContender, work string, l limit, n int) {
		jobs = append(jobs, job{localSuite, work, c.name, c.role, func(_ int, record func(string, sample)) error {
			record(work, loop(c.open(l), l, n, length))
			return nil
		}})
	}
	for _, n := range everyCount {
		for _, c := range localContenders {
			if c.name != clockAndLoad {
				add(c, granted(n), ample, n)
			}
		}
	}
	for _, n := range everyCount {
		for _, c := range localContenders {
			if !c.neverRefuses {
				add(c, refused(n), spent, n)
			}
		}
	}
	return jobs
}

// loop measures a contender that brings its own loop.
func loop(many func(int) int, l limit, goroutines int, length time.Duration) sample {
	const untimed = 500
	many(1) // nothing is left of what is spent
	step := func(_ int, t *tally) {
		begun := time.Now()
		granted := many(1)
		t.note(time.Since(begun))
		t.granted += int64(granted + many(untimed))
		t.calls += 1 + untimed
	}
	spin(goroutines, length/5, step)
	got := spin(goroutines, length, step)
	s := got.sample()
	s.wrong = float64(got.granted)
	if l != spent {
		s.wrong -= float64(got.calls)
	}
	return s
}

// How many keys there are; tests have fewer.
var million, many = 1_000_000, 100_000

// millionKeys names a work of the memory suite.
func millionKeys(spread, outcome string) string {
	return fmt.Sprintf("1,000,000 keys, %s, %s", spread, outcome)
}

// memoryJobs measure buckets by key in this process. A contender has the heap to itself: it is opened and filled in
// each of its turns, and does all works then.
func memoryJobs(length time.Duration) (jobs []job) {
	keys := keyNames("", million)
	var grants []work
	for _, n := range everyCount {
		grants = append(grants, work{millionKeys("Zipf", granted(n)), drawing{million, true}, lasting, n, length, 64})
	}
	grants = append(grants, work{millionKeys("uniform", granted(16)), drawing{million, false}, lasting, 16, length, 64})
	refusals := []work{{millionKeys("Zipf", refused(16)), drawing{million, true}, spent, 16, length, 64}}
	for _, works := range [][]work{grants, refusals} {
		for _, c := range memoryContenders {
			if works[0].limit == spent && c.role == floor {
				continue
			}
			jobs = append(jobs, job{memorySuite, works[0].name, c.name, c.role, func(_ int, record func(string, sample)) error {
				return memoryTurn(c, works, keys, record)
			}})
		}
	}
	return jobs
}

func memoryTurn(c contender, works []work, keys []string, record func(string, sample)) error {
	take, done, err := c.open("", works[0].limit)
	if err != nil {
		return err
	}
	defer done()
	before := heap()
	if err := fill(take, keys, 2); err != nil {
		return err
	}
	perKey := (heap() - before) / float64(len(keys))
	for _, w := range works {
		s := w.run(take, keys)
		s.heap = perKey
		record(w.name, s)
	}
	return nil
}

// exactJobs count what each contender admits.
func exactJobs(suite, addr string, contenders []contender) (jobs []job) {
	for _, c := range contenders {
		if c.role == floor {
			continue
		}
		jobs = append(jobs, job{exactSuite, suite, c.name, c.role, func(_ int, record func(string, sample)) error {
			take, done, err := c.open(addr, small)
			if err != nil {
				return err
			}
			defer done()
			s := nothing
			s.admitted = float64(admitted(take, "exact:"+c.name, small))
			record(suite, s)
			return nil
		}})
	}
	return jobs
}

// redisJobs are the works that have an aim, and the contenders that are named in it.
func (st *stage) redisJobs(length time.Duration) []job {
	named := []string{bareGoRedis, bareRueidis, redisRate, sluiceGoRedis, sluiceDefault, sluiceRueidis}
	jobs := slices.Concat(
		st.jobs(redisSuite, st.work(manyKeys, lasting, crowd, false, length), named...),
		st.jobs(redisSuite, st.work(manyKeys, lasting, 1, false, length), named...),
		st.jobs(redisSuite, st.work(hotKey, lasting, crowd, false, length), redisRate, sluiceGoRedis, sluiceRueidis, sluiceGoRedis+swapMode, sluiceRueidis+swapMode),
	)
	for _, c := range redisContenders {
		if c.name == sluiceGoRedis+swapMode || c.name == sluiceRueidis+swapMode {
			jobs = append(jobs, job{redisSuite, inProcesses, c.name, c.role, func(_ int, record func(string, sample)) error {
				s, err := st.shares(c, length)
				record(inProcesses, s)
				return err
			}})
		}
	}
	return jobs
}

// wideJobs are all contenders at other works.
func (st *stage) wideJobs(length time.Duration) (jobs []job) {
	for _, n := range everyCount {
		jobs = append(jobs, st.jobs(wideSuite, st.work(hotKey, lasting, n, false, length))...)
	}
	jobs = append(jobs, st.jobs(wideSuite, st.work(hotKey, spent, crowd, false, length))...)
	for _, n := range everyCount {
		jobs = append(jobs, st.jobs(wideSuite, st.work(manyKeys, lasting, n, false, length))...)
	}
	jobs = append(jobs, st.jobs(wideSuite, st.work(zipfKeys, lasting, crowd, false, length))...)
	for _, n := range []int{16, crowd} {
		jobs = append(jobs, st.jobs(wideSuite, st.work(hotKey, lasting, n, true, length))...)
		jobs = append(jobs, st.jobs(wideSuite, st.work(manyKeys, lasting, n, true, length))...)
	}
	return jobs
}
