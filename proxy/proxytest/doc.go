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
// # What is covered
//
//   - Every operation, refill and strategy, alone and by many at once, from one
//     manager and from several: tokens, waits, debt, credit, reservations.
//   - What a refusal, an error and a look leave behind: nothing.
//   - Configurations that change, by versions, by Replace or by what is declared.
//   - Keys: which are created, what expires and when, and what else may be found
//     under them. Clocks that step, go back, or differ.
//   - Callers who sleep in Wait, and listeners and observers.
//   - Random traces of all operations over several keys, of which every field of
//     every answer is compared with that of a model in big integers.
//
// Each test is a subtest whose name says what must hold. Names that start with
// an id, such as C24, are of faults that rate limiters are known for.
//
//	go test -run 'TestConformance/C24'
//
// # What a backend needs
//
// Two kinds of clock. Most tests inject one and say how much later it is: it is
// honoured to the microsecond, and the skew is how far ahead of it a stored
// instant is believed, see [bucket.Moment]. With an injected clock a key may well
// outlive its time on that clock, as it does in a server that counts by its own.
// Some tests use the backend's own clock; they take a few seconds in all.
//
// No test depends on how fast the backend is, but for a call that takes 30 s. Where
// real time passes, tests only say what must not happen too early, give or take
// 5 ms between the clock of the store and that of the test.
//
// A backend with [Factory.InProcess] must be usable in a bubble of
// testing/synctest: it does no I/O, and what it starts ends with Close.
//
// Tests do not run in parallel with each other, and each one has keys of its
// own, so that the store may be shared with other tests.
//
// # When random traces fail
//
// The seed alone decides them, so that a failure comes again. It is shown as the
// shortest trace that fails, with the fields that differ and the command that
// plays it again; that is, with the seed in the environment:
//
//	SLUICE_TEST_SEED=17 go test -run 'TestConformance/random_traces'
//
// Without it the seed is 1, and with 0 there is another one each time. Answers
// that depend on the scheduling of the store may need more than one try.
//
// # Buckets without a store
//
// [RunBuckets] is the part of the suite that is about one bucket and its clock.
// It holds any implementation of [bucket.Bucket] against the contract.
package proxytest
