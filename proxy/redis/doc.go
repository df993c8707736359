// Package redis keeps the buckets of a [proxy.Manager] in Redis or Valkey. It
// holds everything in which the Redis clients do not differ; the packages below
// it, goredis and rueidis, adapt one client each and are what a program imports.
//
// By default a Lua script reads the clock and the bucket, decides, and writes
// the bucket with its time to live: one round trip for every operation. It is two
// where the script hands over to compare-and-swap (a changed configuration, an
// adaptive start, numbers beyond 2^53), and once after the server has forgotten
// its scripts. With [WithCompareAndSwap] this process decides and a script swaps the bytes: one
// round trip for a refusal, two for a grant. Both write the same bytes and may
// be used on the same keys at the same time.
//
// Operations on one key that are under way at the same time share trips, see
// [proxy.Coalesce]. They are decided in their order, except where a script hands
// one over or is not known to the server yet: that one comes later.
//
// Each bucket is one key, and no script touches another. Keys with braces go to
// the slot of what is in the first pair of them, in a Redis Cluster.
//
// It needs Redis 7.0 or Valkey, for scripts that begin with #!lua. A user needs
// the commands EVALSHA, EVAL, GET, SET, DEL and TIME on the keys of the prefix;
// TIME not with [WithClientClock]. Every key has a time to live, so a server that
// must evict should do so by volatile-ttl or not at all: an evicted bucket is
// full again.
package redis
