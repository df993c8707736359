// Package proxy hands out buckets by key whose state lives in a store: in this
// process's memory (package memory) or in Redis (package redis and the
// adapters below it).
//
// A [Manager] is made once from a [Backend]. [Manager.Bucket] then gives a
// cheap handle for a key: it does no I/O, and there is nothing to cache or
// close.
//
//	m, err := proxy.NewManager(memory.New(), proxy.WithKeyPrefix("rl:"))
//	…
//	probe, err := m.Bucket("user:42", cfg).Consume(ctx, 1)
//
// Every operation of such a bucket is one round trip to the store, except where
// the backend says otherwise; none is made for [bucket.Unlimited] and
// [bucket.DenyAll]. A refusal is a result; an error means that there is no
// answer, see [StoreError]. A key that is absent means the bucket that its
// configuration creates, so keys vanish once they are full again.
//
// # Which configuration rules
//
// What the caller declares is enforced, so that a deploy takes effect at once,
// on the tokens as they are. A configuration with a version is never overridden
// by an older one or by one without. [WithStoredRules], and a bucket made by
// [Manager.BucketFunc], leave a stored configuration in force whatever it is.
package proxy
