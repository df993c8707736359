package bandwidth_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestNewRefusesBadArguments(t *testing.T) {
	second := bandwidth.Greedy(1, time.Second)
	for name, tc := range map[string]struct {
		capacity int64
		refill   bandwidth.Refill
		opts     []bandwidth.Option
		field    string
	}{
		"capacity 0":             {0, second, nil, "capacity"},
		"capacity below 0":       {-1, second, nil, "capacity"},
		"no refill":              {1, bandwidth.Refill{}, nil, "refill"},
		"tokens 0":               {1, bandwidth.Greedy(0, time.Second), nil, "refill tokens"},
		"tokens below 0":         {1, bandwidth.Interval(math.MinInt64, time.Second), nil, "refill tokens"},
		"period 0":               {1, bandwidth.Greedy(1, 0), nil, "refill period"},
		"period below 0":         {1, bandwidth.Aligned(1, -time.Second, noon), nil, "refill period"},
		"more than one a ns":     {1, bandwidth.Greedy(1_000_000_001, time.Second), nil, "refill rate"},
		"interval above 1 a ns":  {1, bandwidth.Interval(1001, time.Microsecond), nil, "refill rate"},
		"interval of a part µs":  {1, bandwidth.Interval(1, 1500*time.Nanosecond), nil, "refill period"},
		"aligned to a part µs":   {1, bandwidth.Aligned(1, time.Second, noon.Add(1)), nil, "first refill"},
		"aligned to no time":     {1, bandwidth.Aligned(1, time.Second, time.Time{}), nil, "first refill"},
		"aligned too far":        {1, bandwidth.Aligned(1, time.Second, time.Unix(math.MaxInt64/2, 0)), nil, "first refill"},
		"rate finer than int64":  {1, bandwidth.Greedy(math.MaxInt64-1, math.MaxInt64), nil, "refill tokens"},
		"initial below 0":        {5, second, opts(bandwidth.WithInitialTokens(-1)), "initial tokens"},
		"initial above capacity": {5, second, opts(bandwidth.WithInitialTokens(6)), "initial tokens"},
		"adaptive, not aligned":  {5, second, opts(bandwidth.WithAdaptiveInitialTokens()), "initial tokens"},
		"id empty":               {5, second, opts(bandwidth.WithID("")), "id"},
		"id with a space":        {5, second, opts(bandwidth.WithID("a b")), "id"},
		"id not ASCII":           {5, second, opts(bandwidth.WithID("é")), "id"},
		"id too long":            {5, second, opts(bandwidth.WithID(strings.Repeat("a", 65))), "id"},
		"nil option":             {5, second, opts(nil), "option"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bandwidth.New(tc.capacity, tc.refill, tc.opts...)
			var arg *bandwidth.ArgumentError
			if !errors.As(err, &arg) || !errors.Is(err, bandwidth.ErrInvalidArgument) {
				t.Fatalf("got %v, want an ArgumentError", err)
			}
			if arg.Field != tc.field {
				t.Errorf("the error names %q, want %q: %v", arg.Field, tc.field, err)
			}
			if b != (bandwidth.Bandwidth{}) {
				t.Errorf("got %v beside the error", b)
			}
		})
	}
}

func opts(o ...bandwidth.Option) []bandwidth.Option { return o }

func TestNewReportsEveryFault(t *testing.T) {
	_, err := bandwidth.New(0, bandwidth.Greedy(0, 0), bandwidth.WithID("\n"))
	for _, word := range []string{"capacity 0", "refill tokens 0", "refill period 0s", `id "\n"`} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not tell of %s", err, word)
		}
	}
}

func TestNewAcceptsTheExtremes(t *testing.T) {
	for name, refill := range map[string]bandwidth.Refill{
		"one token a nanosecond": bandwidth.Greedy(math.MaxInt64, math.MaxInt64),
		"one token in 292 years": bandwidth.Greedy(1, math.MaxInt64),
		"shortest interval":      bandwidth.Interval(1000, time.Microsecond),
		"aligned before 1970":    bandwidth.Aligned(1, 24*time.Hour, time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		if _, err := bandwidth.New(math.MaxInt64, refill); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRateIsInLowestTerms(t *testing.T) {
	for _, tc := range []struct {
		refill         bandwidth.Refill
		tick           time.Duration
		tokens, within int64
	}{
		{bandwidth.Greedy(10, time.Second), time.Microsecond, 1, 100_000},
		{bandwidth.Greedy(10, time.Second), time.Nanosecond, 1, 100_000_000},
		{bandwidth.Greedy(700, time.Minute), time.Microsecond, 7, 600_000},
		{bandwidth.Greedy(1, 1500*time.Nanosecond), time.Microsecond, 2, 3},
		{bandwidth.Greedy(3, 7*time.Nanosecond), time.Microsecond, 3000, 7},
		{bandwidth.Greedy(1, time.Nanosecond), time.Microsecond, 1000, 1},
	} {
		if tokens, within := tc.refill.Rate(tc.tick); tokens != tc.tokens || within != tc.within {
			t.Errorf("%d per %v: got %d in %d ticks of %v, want %d in %d",
				tc.refill.Tokens(), tc.refill.Period(), tokens, within, tc.tick, tc.tokens, tc.within)
		}
	}
}

func TestAlignedKeepsOnlyThePhase(t *testing.T) {
	want := bandwidth.Aligned(1, time.Hour, noon.Add(20*time.Minute))
	for _, first := range []time.Time{noon.Add(-100*time.Hour + 20*time.Minute), time.Unix(-2400, 0)} {
		if got := bandwidth.Aligned(1, time.Hour, first); got != want {
			t.Errorf("first refill at %v: phase %v, want %v", first, got.Phase(), want.Phase())
		}
	}
}

func TestHostileTextStaysOnOneShortLine(t *testing.T) {
	_, err := bandwidth.New(1, bandwidth.Greedy(1, time.Second), bandwidth.WithID(strings.Repeat("\x00\n", 1<<20)))
	if msg := err.Error(); len(msg) > 500 || strings.ContainsAny(msg, "\x00\n") {
		t.Errorf("got %d bytes: %.100q", len(msg), msg)
	}
}

func TestMustPanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, bandwidth.ErrInvalidArgument) {
			t.Errorf("recovered %v", err)
		}
	}()
	bandwidth.Must(bandwidth.New(0, bandwidth.Greedy(1, time.Second)))
}
