// Package proxytest is the conformance suite of Sluice. Whoever writes a
// [proxy.Backend], or a [proxy.Store] for [proxy.CompareAndSwap], calls one
// function and gets every test.
//
//	func TestConformance(t *testing.T) {
//		db := connect(t)
//		proxytest.Run(t, proxytest.Factory{
//			Open: func(t *testing.T, c proxytest.Clock) proxy.Backend {
//				if c.Now == nil {
//					return mystore.New(db)
//				}
//				return mystore.New(db, mystore.WithClientClock(c.Now, c.Skew))
//			},
//		})
//	}
//
// Each test is a subtest whose name says what must hold. Names that start with
// an id, such as C24, are of faults that rate limiters are known for.
//
//	go test -run 'TestConformance/C24'
//
// # What a backend needs
//
// An injected clock, since most tests say how much later it is. It is honoured
// to the microsecond, and the skew is how far ahead of it a stored instant is
// believed, see [bucket.Moment]. A few tests use the backend's own clock and
// take some tenths of a second. No test depends on how fast the backend is.
//
// Tests do not run in parallel with each other, and each one has keys of its
// own, so that the store may be shared with other tests.
//
// # Buckets without a store
//
// [RunBuckets] is the part of the suite that is about one bucket and its clock.
// It holds any implementation of [bucket.Bucket] against the contract.
package proxytest
