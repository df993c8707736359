package main

import (
	"fmt"
	"testing"
)

// owner stands in for the test that owns a server or a link: what tests use, benchmarks use as well. A failure is a
// panic, which [owned] returns as an error.
type owner struct {
	testing.TB // nil: only the methods below may be called
	cleanups   []func()
}

func (o *owner) Helper()                        {}
func (o *owner) Cleanup(f func())               { o.cleanups = append(o.cleanups, f) }
func (o *owner) Fatal(args ...any)              { panic(failed(fmt.Sprint(args...))) }
func (o *owner) Fatalf(format string, a ...any) { panic(failed(fmt.Sprintf(format, a...))) }
func (o *owner) end() {
	for len(o.cleanups) > 0 {
		last := len(o.cleanups) - 1
		cleanup := o.cleanups[last]
		o.cleanups = o.cleanups[:last]
		cleanup()
	}
}

type failed string

// owned calls do with an owner, and ends what it has started.
func owned(do func(*owner) error) (err error) {
	var o owner
	defer o.end()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failed:
			err = fmt.Errorf("%s", string(r))
		default:
			panic(r)
		}
	}()
	return do(&o)
}
