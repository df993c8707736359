// Package redis keeps the buckets of a [proxy.Manager] in Redis or Valkey. It
// holds everything in which the Redis clients do not differ; the packages below
// it, such as goredis, adapt one client each and are what a program imports.
//
// By default a Lua script reads the clock and the bucket, decides, and writes
// the bucket with its time to live: one round trip for every operation. With
// [WithCompareAndSwap] this process decides and a script swaps the bytes: one
// round trip for a refusal, two for a grant. Both write the same bytes and may
// be used on the same keys at the same time.
//
// Each bucket is one key, and no script touches another.
package redis
