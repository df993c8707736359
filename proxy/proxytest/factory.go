package proxytest

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// Factory makes the backends that are tested.
type Factory struct {
	// Open returns a backend that takes the time from the clock. All backends
	// that it returns share their buckets, as those of several processes do. The
	// suite closes the backend; what else was opened for it, such as a client,
	// is left to t.Cleanup.
	Open func(t *testing.T, c Clock) proxy.Backend

	// InProcess says that each backend keeps its buckets to itself instead and
	// does no I/O. Tests of several processes then use one backend from several
	// managers, those of clocks that differ are left out, and those of callers who
	// sleep run in a bubble of testing/synctest, in which that takes no time.
	InProcess bool

	// Put stores bytes under a key behind the back of every backend; the key is
	// as stored, with its prefix. It is optional, for stores that keep the bytes
	// of package codec: it adds the tests of bytes that are foreign, damaged or
	// of another release.
	Put func(t *testing.T, key string, bytes []byte)
}

// Clock says where a backend takes the time from.
type Clock struct {
	// Now is the clock; nil for the backend's own, as in production.
	Now func() time.Time
	// Skew is how far the clocks of several processes may differ. A backend with
	// InProcess has no use for it.
	Skew time.Duration
}

// Run holds the backends of a factory against the contract, one subtest for
// each thing that must hold.
func Run(t *testing.T, f Factory) {
	t.Helper()
	if f.Open == nil {
		t.Fatal("proxytest: Factory.Open is nil")
	}
	for _, test := range bucketTests() {
		t.Run(test.name, func(t *testing.T) { test.run(newStore(t, f).scene) })
	}
	for _, test := range storeTests() {
		t.Run(test.name, func(t *testing.T) { test.run(newStore(t, f)) })
	}
	for _, test := range slices.Concat(onStores(sleepTests), sleepStoreTests) {
		t.Run(test.name, func(t *testing.T) {
			sleeping(t, f.InProcess, func(t *testing.T) { test.run(newStore(t, f).running()) })
		})
	}
}

// RunBuckets holds buckets that need no store against the part of the contract
// that is about one bucket. The function makes a bucket that takes the time from
// the clock, in ticks of the given length; the bucket is made at the clock's
// present. It does no I/O: the tests of callers who sleep run in a bubble of
// testing/synctest, on a clock that is time.Now.
func RunBuckets(t *testing.T, tick bucket.Tick, create func(c bucket.Configuration, clock func() time.Time) bucket.Bucket) {
	t.Helper()
	for _, test := range slices.Concat(bucketTests(), randomBucketTests) {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t, tick)
			s.create = func(_ *testing.T, c bucket.Configuration) bucket.Bucket { return create(c, s.clock.Now) }
			test.run(s)
		})
	}
	for _, test := range sleepTests {
		t.Run(test.name, func(t *testing.T) {
			sleeping(t, true, func(t *testing.T) {
				s := newScene(t, tick)
				s.create = func(_ *testing.T, c bucket.Configuration) bucket.Bucket { return create(c, time.Now) }
				test.run(s)
			})
		})
	}
}

// A bucketTest is about one bucket and its clock.
type bucketTest struct {
	name string
	run  func(*scene)
}

// onStores are the tests as ones of a store.
func onStores(tests []bucketTest) (all []storeTest) {
	for _, test := range tests {
		all = append(all, storeTest{test.name, func(s *store) { test.run(s.scene) }})
	}
	return all
}

// A storeTest is about keys and those who share them.
type storeTest struct {
	name string
	run  func(*store)
}

func bucketTests() []bucketTest {
	return slices.Concat(
		operationTests, greedyTests, intervalTests, alignedTests, waitTests, limitTests, debtTests, creditTests,
		reservationTests, replacementTests, clockTests, magnitudeTests, argumentTests, parallelBucketTests,
	)
}

func storeTests() []storeTest {
	return slices.Concat(
		traceTests, changeTests, versionTests, ruleTests, declaredTests, replacedTests, reservedTests, keyTests, callTests, batchTests,
		listenerTests, parallelTests, skewTests, expiryTests, foreignTests, randomTests,
	)
}
