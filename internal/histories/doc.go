// Package histories checks that buckets in Redis are linearizable: that what many clients saw at the same time is what
// one after another could have seen, each operation at some instant between its call and its return.
//
//	make histories
//
// A history is a few clients on a few managers, of both client libraries in both modes, who do random operations on
// one key or several; porcupine searches for the order. An operation whose outcome is unknown may have happened at any
// time from its call on. Some histories are disturbed on the way. Where slots move from server to server nothing may be
// lost; a server that is killed and keeps nothing on disk may forget, and so may a replica that takes its primary's
// place, then and only then. How much is granted again because of a failover is counted on a bucket beside.
package histories
