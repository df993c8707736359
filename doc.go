// Package sluice is the front page of a token-bucket rate limiting framework.
// It has no code of its own; start with one of these:
//
//   - [github.com/sluice-go/sluice/bandwidth]: one limit, its capacity and refill
//   - [github.com/sluice-go/sluice/bucket]: configurations, probes, and the bucket in this process
//   - [github.com/sluice-go/sluice/proxy]: buckets by key whose state lives in a store
//   - [github.com/sluice-go/sluice/proxy/memory]: the store in this process
//   - [github.com/sluice-go/sluice/proxy/redis/goredis]: the store in Redis, through go-redis
//   - [github.com/sluice-go/sluice/proxy/redis]: what Redis clients have in common, and its options
//   - [github.com/sluice-go/sluice/proxy/codec]: the stored form
//   - [github.com/sluice-go/sluice/proxy/proxytest]: the tests that every store passes
//   - [github.com/sluice-go/sluice/expiration]: how long stored buckets live
package sluice
