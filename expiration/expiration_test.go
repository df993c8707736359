package expiration_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/expiration"
)

func ExampleTimeToFull() {
	rule := expiration.TimeToFull(10 * time.Second)
	halfMinute := int64(30 * time.Second / time.Microsecond)
	fmt.Println(rule.Life(halfMinute, false), rule.Life(halfMinute, true))
	// Output: 40000000 86440000000
}

// A jitter only ever lengthens a life.
func ExampleRule_Jittered() {
	rule := expiration.Rule{Jitter: time.Minute}
	halfMinute := int64(30 * time.Second / time.Microsecond)
	bounded := true
	for range 1000 {
		life := int64(rule.Jittered().Life(halfMinute, false))
		bounded = bounded && life >= halfMinute && life <= 3*halfMinute
	}
	fmt.Println(bounded)
	// Output: true
}

func TestValidate(t *testing.T) {
	for _, r := range []expiration.Rule{
		{Keep: -1}, {Retention: -1}, {Keep: expiration.Longest + 1}, {Retention: math.MaxInt64},
	} {
		if err := r.Validate(); !errors.Is(err, bandwidth.ErrInvalidArgument) {
			t.Errorf("%+v: got %v", r, err)
		}
	}
	for _, r := range []expiration.Rule{{}, {Keep: expiration.Longest, Retention: expiration.Longest}} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestLifeRoundsUpAndSaturates(t *testing.T) {
	for _, tc := range []struct {
		rule     expiration.Rule
		toFull   int64
		remember bool
		want     expiration.Life
	}{
		{expiration.Rule{}, 5, false, 5},
		{expiration.Rule{Keep: 1}, 5, false, 6}, // a nanosecond is a microsecond
		{expiration.Rule{Keep: 2, Retention: 3}, 5, true, 7},
		{expiration.Rule{Retention: time.Second}, 5, true, 1_000_005},
		{expiration.Rule{Retention: time.Second}, math.MaxInt64 - 1, true, math.MaxInt64},
		{expiration.Rule{Keep: time.Second}, math.MaxInt64, false, math.MaxInt64},
	} {
		if got := tc.rule.Life(tc.toFull, tc.remember); got != tc.want {
			t.Errorf("%+v of %d, %v: got %d, want %d", tc.rule, tc.toFull, tc.remember, got, tc.want)
		}
	}
	if got := expiration.Life(math.MaxInt64 - 1).Longer(2); got != math.MaxInt64 {
		t.Errorf("a life too long is %d", got)
	}
}

func TestExpiryIsNeverEarly(t *testing.T) {
	for _, now := range []int64{0, 1, 999, 1000, 1_700_000_000_000_001, -1, -1000, -1001} {
		for _, life := range []expiration.Life{1, 2, 998, 999, 1000, 1001, 333_333, 1_500} {
			until := life.Until(now)
			if until < now+int64(life) || until >= now+int64(life)+1000 || until%1000 != 0 {
				t.Errorf("now %d, life %d: forgotten at %d", now, life, until)
			}
			if got := life.Millis() * 1000; got < int64(life) || got >= int64(life)+1000 {
				t.Errorf("life %d: %d µs in whole milliseconds", life, got)
			}
		}
	}
	if got := expiration.Life(0).Millis(); got != 1 {
		t.Errorf("a life of nothing has %d ms", got)
	}
	if got := expiration.Life(math.MaxInt64).Until(5); got != math.MaxInt64 {
		t.Errorf("the longest life ends at %d", got)
	}
}

func TestC72JitterIsOnlyEverAdded(t *testing.T) {
	rule := expiration.Rule{Keep: 10 * time.Second, Jitter: 2 * time.Second}
	shortest, longest := time.Duration(math.MaxInt64), time.Duration(0)
	for range 1000 {
		r := rule.Jittered()
		if r.Jitter != 0 || r.Keep < rule.Keep || r.Keep > rule.Keep+rule.Jitter {
			t.Fatalf("got %+v", r)
		}
		shortest, longest = min(shortest, r.Keep), max(longest, r.Keep)
	}
	if longest-shortest < time.Second {
		t.Errorf("all between %v and %v", shortest, longest)
	}
	if plain := expiration.TimeToFull(time.Second); plain.Jittered() != plain {
		t.Error("a rule without jitter changes")
	}
}
