package model_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/internal/model"
)

// The examples here were worked out by hand: they hold the model itself.

const second = int64(time.Second / time.Microsecond)

func one(capacity int64, r bandwidth.Refill, opts ...bandwidth.Option) bucket.Configuration {
	return bucket.MustConfiguration(bandwidth.Must(bandwidth.New(capacity, r, opts...)))
}

func keyed() *model.Bucket {
	return &model.Bucket{Tick: bucket.Microsecond, Strategies: map[bucket.Configuration]bucket.Inheritance{}}
}

func do(b *model.Bucket, c bucket.Configuration, now int64, kind bucket.Kind, n int64) model.Answer {
	req := bucket.Request{Config: c, Op: bucket.Operation{Kind: kind, Tokens: n}}
	return b.Do(req, expiration.TimeToFull(10*time.Second), now)
}

func TestPartsOfTokensAreKept(t *testing.T) {
	c := one(10, bandwidth.Greedy(10, 30*time.Second)) // one each 3 s
	b := keyed()
	do(b, c, 0, bucket.OpConsume, 10)
	granted := 0
	for now := range int64(31) {
		if do(b, c, now*second, bucket.OpConsume, 1).Consumed {
			granted++
			if now%3 != 0 {
				t.Errorf("granted at %d s", now)
			}
		}
	}
	if granted != 10 {
		t.Errorf("granted %d in 30 s, want 10", granted)
	}
}

func TestWaitsRoundUp(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    bucket.Configuration
		tick bucket.Tick
		want time.Duration
	}{
		{"whole", one(1, bandwidth.Greedy(10, 13*time.Second)), bucket.Nanosecond, 1_300_000_000},
		{"thirds of a second in nanoseconds", one(3, bandwidth.Greedy(3, time.Second)), bucket.Nanosecond, 333_333_334},
		{"thirds of a second in microseconds", one(3, bandwidth.Greedy(3, time.Second)), bucket.Microsecond, 333_334_000},
		{"interval", one(3, bandwidth.Interval(1, 15*time.Second)), bucket.Microsecond, 15 * time.Second},
		{"aligned", one(3, bandwidth.Aligned(3, time.Hour, time.Unix(600, 0))), bucket.Microsecond, 10 * time.Minute},
		{"for ever", one(math.MaxInt64, bandwidth.Greedy(1, 300*24*time.Hour)), bucket.Microsecond, 300 * 24 * time.Hour},
	} {
		b := &model.Bucket{Tick: tc.tick}
		do(b, tc.c, 0, bucket.OpConsume, tc.c.Bandwidth(0).Capacity())
		got := do(b, tc.c, 0, bucket.OpConsume, 1)
		due := int64(tc.want / tc.tick.Duration())
		before, then := do(b, tc.c, due-1, bucket.OpConsume, 1), do(b, tc.c, due, bucket.OpConsume, 1)
		if got.Wait != tc.want || before.Consumed || !then.Consumed {
			t.Errorf("%s: wait %v, want %v; granted one tick before: %v, then: %v", tc.name, got.Wait, tc.want, before.Consumed, then.Consumed)
		}
	}
	b := keyed()
	c := one(math.MaxInt64, bandwidth.Greedy(1, time.Hour))
	if got := do(b, c, 0, bucket.OpConsume, math.MaxInt64); got.TimeToFull != math.MaxInt64 || got.Never {
		t.Errorf("time to full %v, want the longest", got.TimeToFull)
	}
}

func TestAdaptiveStart(t *testing.T) {
	five := time.Date(2026, 3, 1, 17, 0, 0, 0, time.UTC)
	c := one(400, bandwidth.Aligned(100, time.Hour, five), bandwidth.WithAdaptiveInitialTokens())
	if got := do(keyed(), c, five.Add(-40*time.Minute).UnixMicro(), bucket.OpInspect, 0); got.RemainingTokens != 366 {
		t.Errorf("%d tokens at 16:20, want 366", got.RemainingTokens)
	}
	if got := do(keyed(), c, five.UnixMicro(), bucket.OpInspect, 0); got.RemainingTokens != 400 {
		t.Errorf("%d tokens at 17:00, want 400", got.RemainingTokens)
	}
}

func TestInheritance(t *testing.T) {
	hundred := one(100, bandwidth.Greedy(100, time.Minute))
	thousand := one(1000, bandwidth.Greedy(1000, time.Minute))
	ten := one(10, bandwidth.Greedy(10, time.Minute))
	for _, tc := range []struct {
		name     string
		to       bucket.Configuration
		strategy bucket.Inheritance
		want     int64
	}{
		{"as is", thousand, bucket.AsIs, 50},
		{"proportional", thousand, bucket.Proportional, 500},
		{"additive", thousand, bucket.Additive, 950},
		{"reset", thousand, bucket.Reset, 1000},
		{"as is, cut", ten, bucket.AsIs, 10},
		{"proportional, down", ten, bucket.Proportional, 5},
		{"additive, cut", ten, bucket.Additive, 10},
	} {
		b := keyed()
		to := bucket.Must(tc.to.WithVersion(1, tc.strategy))
		b.Strategies[to] = tc.strategy
		do(b, hundred, 0, bucket.OpConsume, 50)
		got := do(b, to, 0, bucket.OpInspect, 0)
		if got.RemainingTokens != tc.want || !got.Replaced {
			t.Errorf("%s: %d tokens, want %d; replaced %v", tc.name, got.RemainingTokens, tc.want, got.Replaced)
		}
	}
}

func TestKeys(t *testing.T) {
	c := one(3, bandwidth.Greedy(3, time.Second))
	b := keyed()
	if got := do(b, c, 1, bucket.OpConsume, 4); got.Change != bucket.Keep || !got.Never {
		t.Errorf("a refusal of more than there can be: %+v", got)
	}
	// Full 333,334 µs later, kept 10 s longer, to the next millisecond.
	got := do(b, c, 1, bucket.OpConsume, 1)
	if got.Change != bucket.Write || got.Life != 10_333_334 || got.ForgottenAt != 10_334_000 {
		t.Errorf("a take: %+v", got)
	}
	if got := do(b, c, 1, bucket.OpAdd, 1); got.Change != bucket.Delete {
		t.Errorf("adding what was taken: %+v", got)
	}
	empty := one(3, bandwidth.Greedy(3, time.Second), bandwidth.WithInitialTokens(0))
	if got := do(b, empty, 0, bucket.OpEstimate, 1); got.Change != bucket.Keep {
		t.Errorf("an estimate of an absent key: %+v", got)
	}
	if got := do(b, empty, 0, bucket.OpConsume, 1); got.Change != bucket.Write || got.Life != 24*3600*second+11*second {
		t.Errorf("a refusal that starts less than full: %+v", got)
	}
}

func TestClockGoesBack(t *testing.T) {
	c := one(10, bandwidth.Greedy(10, 10*time.Second))
	b := keyed()
	do(b, c, 100*second, bucket.OpConsume, 10)
	if got := do(b, c, 40*second, bucket.OpConsume, 1); got.Wait != 61*time.Second {
		t.Errorf("wait %v, want the way back and one second", got.Wait)
	}
	if got := do(b, c, 110*second, bucket.OpInspect, 0); got.RemainingTokens != 10 {
		t.Errorf("%d tokens, want 10", got.RemainingTokens)
	}
	b.Lead = second
	if got := do(b, c, 40*second, bucket.OpConsume, 1); got.Wait != 2*time.Second {
		t.Errorf("wait %v, want the lead and one second", got.Wait)
	}
}
