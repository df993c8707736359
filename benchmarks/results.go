package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"time"
)

// settings are what the command line says.
type settings struct {
	rounds int
	length time.Duration
	only   *regexp.Regexp
}

// id names a measurement: which suite of tables, what work, by whom.
type id struct{ suite, work, contender string }

// results are the samples of a run in the order in which they first came.
type results struct {
	order   []id
	samples map[id][]sample
	roles   map[id]role
	servers []string // on which costs were measured
}

func newResults() *results {
	return &results{samples: map[id][]sample{}, roles: map[id]role{}}
}

func (r *results) add(of id, as role, s sample) {
	if r.samples[of] == nil {
		r.order = append(r.order, of)
		r.roles[of] = as
	}
	r.samples[of] = append(r.samples[of], s)
}

// figure is the median of one field over the rounds; not a number if it was never measured.
func (r *results) figure(of id, field func(sample) float64) float64 {
	var all []float64
	for _, s := range r.samples[of] {
		if v := field(s); v == v {
			all = append(all, v)
		}
	}
	return median(all)
}

// ratio is the median over the rounds of one contender's figure divided by another's of the same round.
func (r *results) ratio(of, beside id, field func(sample) float64) float64 {
	var all []float64
	for i := range min(len(r.samples[of]), len(r.samples[beside])) {
		all = append(all, field(r.samples[of][i])/field(r.samples[beside][i]))
	}
	return median(all)
}

// total is the sum of one field over the rounds.
func (r *results) total(of id, field func(sample) float64) float64 {
	sum := 0.0
	for _, s := range r.samples[of] {
		sum += field(s)
	}
	return sum
}

// wrongOutcomes names the rows in which a token was granted that should have been refused, or the other way round.
func (r *results) wrongOutcomes() error {
	var errs []error
	for _, of := range r.order {
		n := r.total(of, func(s sample) float64 { return math.Abs(s.wrong) })
		if n > 0 { // not if it was not counted
			errs = append(errs, fmt.Errorf("%s: %s: %s: %.0f wrong outcomes", of.suite, of.work, of.contender, n))
		}
	}
	return errors.Join(errs...)
}

// works are those of a suite, in order.
func (r *results) works(suite string) (works []string) {
	for _, of := range r.order {
		if of.suite == suite && !slices.Contains(works, of.work) {
			works = append(works, of.work)
		}
	}
	return works
}

// contenders are those who did a work, in order.
func (r *results) contenders(suite, work string) (all []id) {
	for _, of := range r.order {
		if of.suite == suite && of.work == work {
			all = append(all, of)
		}
	}
	return all
}

// job is one turn of one contender: it may measure several works.
type job struct {
	suite, work, contender string
	role                   role
	measure                func(round int, record func(work string, s sample)) error
}

// wanted are the jobs that were asked for.
func (s settings) wanted(jobs []job) []job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j job) bool {
		return !s.only.MatchString(j.suite + ": " + j.work + ": " + j.contender)
	})
}

// interleave gives every job a turn in each round, from another one on each time, so that what changes on the machine
// in the meantime changes for all.
func (s settings) interleave(rounds int, jobs []job, into *results) error {
	jobs = s.wanted(jobs)
	for round := range rounds {
		for i := range jobs {
			j := jobs[(i+round)%len(jobs)]
			err := j.measure(round, func(work string, got sample) {
				into.add(id{j.suite, work, j.contender}, j.role, got)
			})
			if err != nil {
				return fmt.Errorf("%s, %s, %s: %w", j.suite, j.work, j.contender, err)
			}
		}
		if len(jobs) > 0 {
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", jobs[0].suite, round+1, rounds)
		}
	}
	return nil
}
