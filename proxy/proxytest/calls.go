package proxytest

import (
	"context"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

// bucketCalls are all that can be asked of a bucket.
var bucketCalls = []struct {
	name  string
	count bool // it takes a number of tokens
	do    func(ctx context.Context, b bucket.Bucket, n int64) error
}{
	{"TryConsume", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.TryConsume(ctx, n)
		return err
	}},
	{"Consume", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.Consume(ctx, n)
		return err
	}},
	{"ConsumeUpTo", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.ConsumeUpTo(ctx, n)
		return err
	}},
	{"Estimate", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.Estimate(ctx, n)
		return err
	}},
	{"Available", false, func(ctx context.Context, b bucket.Bucket, _ int64) error {
		_, err := b.Available(ctx)
		return err
	}},
	{"Add", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.Add(ctx, n)
		return err
	}},
	{"Reset", false, func(ctx context.Context, b bucket.Bucket, _ int64) error { return b.Reset(ctx) }},
	{"Inspect", false, func(ctx context.Context, b bucket.Bucket, _ int64) error {
		_, err := b.Inspect(ctx)
		return err
	}},
}

// managerCalls are all that can be asked of a manager about a key.
var managerCalls = []struct {
	name string
	do   func(ctx context.Context, m *proxy.Manager, key string) error
}{
	{"Remove", func(ctx context.Context, m *proxy.Manager, key string) error {
		_, err := m.Remove(ctx, key)
		return err
	}},
	{"Configuration", func(ctx context.Context, m *proxy.Manager, key string) error {
		_, _, err := m.Configuration(ctx, key)
		return err
	}},
}
