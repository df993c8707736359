package proxytest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
)

type bucketCall struct {
	name  string
	count bool // it takes a number of tokens
	do    func(ctx context.Context, b bucket.Bucket, n int64) error
}

// bucketCalls are all that can be asked of a bucket, without replacing its
// configuration. A refusal is no error, whatever the method.
var bucketCalls = []bucketCall{
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
	{"Force", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.Force(ctx, n)
		return err
	}},
	{"ForceAdd", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.ForceAdd(ctx, n)
		return err
	}},
	{"Reserve", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		_, err := b.Reserve(ctx, n, 0)
		return unlessRefused(err)
	}},
	{"Wait", true, func(ctx context.Context, b bucket.Bucket, n int64) error {
		return unlessRefused(b.Wait(ctx, n))
	}},
	{"Reset", false, func(ctx context.Context, b bucket.Bucket, _ int64) error { return b.Reset(ctx) }},
	{"Inspect", false, func(ctx context.Context, b bucket.Bucket, _ int64) error {
		_, err := b.Inspect(ctx)
		return err
	}},
}

// unlessRefused is an error that is not a refusal to reserve.
func unlessRefused(err error) error {
	if errors.Is(err, bucket.ErrNever) || errors.Is(err, bucket.ErrTooLate) {
		return nil
	}
	return err
}

// allCalls are the calls of a bucket and that which replaces its configuration.
var allCalls = append(slices.Clone(bucketCalls), bucketCall{"Replace", false, func(ctx context.Context, b bucket.Bucket, _ int64) error {
	return b.Replace(ctx, of(greedy(10, 1, time.Second)), bucket.AsIs)
}})

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
