// Package redistest gives tests a real Redis.
//
// Most tests share one server and stay apart by their keys:
//
//	client := connect(redistest.URL(t))
//	keys := redistest.Prefix(t)
//
// A test that counts commands, flushes, or needs the server to fail has one to itself:
//
//	server := redistest.Start(t, "--appendonly", "yes")
//	server.Pause()   // silent: connections stay open, nothing is answered
//	server.Resume()
//	server.Kill()    // gone: connections are refused
//	server.Restart() // back on the same port
//
// [StartCluster] and [StartSentinel] start several that know each other.
//
// The shared server is the one that SLUICE_TEST_REDIS names (a redis:// or rediss:// URL), or else, like every
// private one, a redis-server or valkey-server found on PATH. Such a server listens on a free loopback port, keeps nothing
// on disk unless asked to, and ends with the test, or with the test process, however that ends. Where none is
// found the test fails and says how to get one; only with -short is it skipped.
//
// The package leaves no goroutine behind, so that leak checks see those of the code under test alone.
// It needs a Unix.
package redistest
