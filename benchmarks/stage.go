package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/faults"
)

// onRedis names a work of the Redis suites.
func onRedis(keys string, outcome string, roundTrip time.Duration) string {
	name := keys + ", " + outcome
	if roundTrip > 0 {
		name += fmt.Sprintf(", round trip %v longer", roundTrip)
	}
	return name
}

const (
	hotKey      = "one hot key"
	manyKeys    = "100,000 keys, uniform"
	zipfKeys    = "100,000 keys, Zipf"
	crowd       = 256
	longer      = 2 * time.Millisecond
	inProcesses = "one hot key, 16 managers on clients of their own, 16 goroutines each"
)

// stage is a Redis with the ways to it and the keys on it.
type stage struct {
	*server
	far   string              // the same server behind a longer round trip
	names map[string][]string // of each contender's keys: all are on one server, and none shares buckets
	hot   int                 // how many hot keys there have been: each turn has a fresh one
}

func newStage(own *owner) (*stage, error) {
	s, err := startServer(own)
	if err != nil {
		return nil, err
	}
	link := faults.NewLink(own, s.addr)
	link.Delay(longer)
	return &stage{s, link.Addr(), map[string][]string{}, 0}, nil
}

// redisWork is a work on the stage.
type redisWork struct {
	work
	far bool
}

func (st *stage) work(keys string, l limit, n int, far bool, length time.Duration) redisWork {
	d := drawing{keys: many, zipf: keys == zipfKeys}
	if keys == hotKey {
		d.keys = 1
	}
	outcome, roundTrip := granted(n), time.Duration(0)
	if l == spent {
		outcome = refused(n)
	}
	if far {
		roundTrip = longer
	}
	return redisWork{work{onRedis(keys, outcome, roundTrip), d, l, n, length, 1}, far}
}

// jobs are the turns of some contenders at a work.
func (st *stage) jobs(suite string, w redisWork, names ...string) (jobs []job) {
	for i, c := range redisContenders {
		if len(names) > 0 && !slices.Contains(names, c.name) || w.limit == spent && c.role == floor {
			continue
		}
		mark := fmt.Sprintf("%02d:", i)
		jobs = append(jobs, job{suite, w.name, c.name, c.role, func(round int, record func(string, sample)) error {
			s, err := st.turn(c, w, mark, round)
			record(w.name, s)
			return err
		}})
	}
	return jobs
}

func (st *stage) turn(c contender, w redisWork, mark string, round int) (sample, error) {
	addr := st.addr
	if w.far {
		addr = st.far
	}
	keys, err := st.keys(c, w, mark)
	if err != nil {
		return nothing, err
	}
	take, done, err := c.open(addr, w.limit)
	if err != nil {
		return nothing, err
	}
	defer done()

	step := w.step(take, keys)
	warm := spin(w.goroutines, w.length/5, step) // connections are made, scripts known
	before, err := st.processor()
	if err != nil {
		return nothing, err
	}
	got := spin(w.goroutines, w.length, step)
	after, err := st.processor()
	s := w.sample(warm, got)
	s.server = (after - before) / float64(got.calls)
	if err == nil && round == 0 {
		s.commands, err = st.commands(c, w.work, keys)
	}
	return s, err
}

// keys are the names of keys that have been taken from once. Those of the many stay from round to round.
func (st *stage) keys(c contender, w redisWork, mark string) ([]string, error) {
	if w.drawing.keys == 1 {
		one := st.hotKey()
		return one, st.fill(c, w.limit, one)
	}
	if st.names[c.name] == nil {
		st.names[c.name] = keyNames(mark, many)
		if err := st.fill(c, w.limit, st.names[c.name]); err != nil {
			return nil, err
		}
	}
	return st.names[c.name], nil
}

func (st *stage) hotKey() []string {
	st.hot++
	return []string{fmt.Sprintf("hot:%08d", st.hot)}
}

// fill takes one token of each key, through as many openings as make even a contender fast that does one at a time.
func (st *stage) fill(c contender, l limit, keys []string) error {
	const openings, each = 8, 8
	var wg sync.WaitGroup
	var errs [openings]error
	part := (len(keys) + openings - 1) / openings
	for i, keys := range slices.Collect(slices.Chunk(keys, part)) {
		wg.Go(func() {
			take, done, err := c.open(st.addr, l)
			if err != nil {
				errs[i] = err
				return
			}
			defer done()
			errs[i] = fill(take, keys, each)
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// commands is how many commands the server is sent for a decision.
func (st *stage) commands(c contender, w work, keys []string) (float64, error) {
	var t tally
	sent, err := st.sent(c, w.limit, func(take taker) error {
		t = spin(w.goroutines, 20*time.Millisecond, w.step(take, keys))
		return nil
	})
	return float64(len(sent)) / float64(t.calls), err
}

// shares has 16 managers, each on a client of its own as in a process of its own, take from one key.
func (st *stage) shares(c contender, length time.Duration) (sample, error) {
	const managers, each = 16, 16
	key := st.hotKey()
	steps := make([]func(int, *tally), managers)
	for i := range steps {
		take, done, err := c.open(st.addr, lasting)
		if err != nil {
			return nothing, err
		}
		defer done()
		if err := fill(take, key, 1); err != nil {
			return nothing, err
		}
		steps[i] = work{drawing: drawing{keys: 1}, goroutines: each, timed: 1}.step(take, key)
	}
	counts := make([][each]int64, managers)
	got := spin(managers*each, length, func(worker int, t *tally) {
		steps[worker/each](worker%each, t)
		counts[worker/each][worker%each]++
	})
	s := got.sample()
	s.wrong = float64(got.granted + got.errors - got.calls)
	s.leastShare, s.mostShare = managers, 0
	for _, of := range counts {
		var sum int64
		for _, n := range of {
			sum += n
		}
		share := managers * float64(sum) / float64(got.calls)
		s.leastShare, s.mostShare = min(s.leastShare, share), max(s.mostShare, share)
	}
	return s, nil
}
