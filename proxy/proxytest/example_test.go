package proxytest_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/memory"
	"github.com/sluice-go/sluice/proxy/proxytest"
)

// The test of a backend that keeps its buckets in the process.
func ExampleRun() {
	TestConformance := func(t *testing.T) {
		proxytest.Run(t, proxytest.Factory{
			InProcess: true,
			Open: func(_ *testing.T, c proxytest.Clock) proxy.Backend {
				if c.Now == nil {
					return memory.New()
				}
				return memory.New(memory.WithClock(c.Now))
			},
		})
	}
	_ = TestConformance // which go test finds if it is a function of the package
}

// The test of another implementation of a bucket.
func ExampleRunBuckets() {
	TestBucket := func(t *testing.T) {
		proxytest.RunBuckets(t, bucket.Nanosecond, func(c bucket.Configuration, clock func() time.Time) bucket.Bucket {
			return bucket.New(c, bucket.WithClock(clock)).Bucket()
		})
	}
	_ = TestBucket
}
