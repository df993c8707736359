package proxytest

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// sleeping runs a test in which callers sleep. If no call leaves the process it
// has a bubble of its own, in which that takes no time and all times are exact;
// else they are those of the backend's own clock, and a test only says what is
// not too early.
func sleeping(t *testing.T, inProcess bool, run func(*testing.T)) {
	t.Helper()
	if inProcess {
		synctest.Test(t, run)
	} else {
		run(t)
	}
}

// running has the scene's buckets on the backend's own clock.
func (s *store) running() *store {
	s.heard = newLedger()
	m := sync.OnceValue(func() *proxy.Manager { return s.real(proxy.WithListener(s.heard)) })
	made := 0
	s.create = func(_ *testing.T, c bucket.Configuration) bucket.Bucket {
		made++
		return m().Bucket(fmt.Sprint("bucket ", made), c)
	}
	return s
}

// unit is what sleeps are counted in.
func (s *scene) unit() time.Duration {
	if s.remote {
		return 25 * time.Millisecond
	}
	return time.Second
}

// slept tells how many units have passed since an instant: exactly so many, or
// among real clocks not fewer.
func (s *scene) slept(begun time.Time, units int) {
	s.Helper()
	want, got := time.Duration(units)*s.unit(), time.Since(begun)
	if got < want-drift || got != want && !s.remote {
		s.Errorf("slept %v, want %v", got, want)
	}
}

// until waits for what others are about to bring about.
func (s *scene) until(what string, there func() bool) {
	s.Helper()
	for deadline := time.Now().Add(patience); !there(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// asleep waits until another caller has reserved tokens that are not there, and
// sleeps. Whoever is cancelled before it has its answer cannot know whether it
// reserved them.
func (s *scene) asleep(b *checked) {
	s.Helper()
	s.until("somebody sleeps", func() bool {
		left, err := b.Available(s.ctx)
		b.ok("Available", err)
		return left < 0 && (s.heard == nil || s.heard.count(bucket.Reserved) > 0)
	})
}
