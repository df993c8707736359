package bucket_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func greedy(capacity, tokens int64, period time.Duration, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, bandwidth.Greedy(tokens, period), opts...))
}

func interval(capacity, tokens int64, period time.Duration, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, bandwidth.Interval(tokens, period), opts...))
}

func aligned(capacity, tokens int64, period time.Duration, opts ...bandwidth.Option) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, bandwidth.Aligned(tokens, period, noon), opts...))
}

func TestNewConfigurationRefusesBadArguments(t *testing.T) {
	b := greedy(1, 1, time.Second)
	named := greedy(1, 1, time.Second, bandwidth.WithID("a"))
	for name, tc := range map[string]struct {
		bandwidths []bandwidth.Bandwidth
		field      string
	}{
		"none":       {nil, "configuration"},
		"nine":       {[]bandwidth.Bandwidth{b, b, b, b, b, b, b, b, b}, "configuration"},
		"zero value": {[]bandwidth.Bandwidth{b, {}}, "bandwidth 1"},
		"same id":    {[]bandwidth.Bandwidth{named, b, named}, "id"},
	} {
		c, err := bucket.NewConfiguration(tc.bandwidths...)
		var arg *bucket.ArgumentError
		if !errors.As(err, &arg) || arg.Field != tc.field || !errors.Is(err, bucket.ErrInvalidArgument) {
			t.Errorf("%s: got %v, want one naming %q", name, err, tc.field)
		}
		if !c.IsZero() {
			t.Errorf("%s: got a configuration beside the error", name)
		}
	}
}

func TestWithVersionRefusesBadArguments(t *testing.T) {
	c := bucket.MustConfiguration(greedy(1, 1, time.Second))
	for name, err := range map[string]error{
		"version 0":        second(c.WithVersion(0, bucket.AsIs)),
		"version below 0":  second(c.WithVersion(-1, bucket.AsIs)),
		"unknown strategy": second(c.WithVersion(1, bucket.Inheritance(9))),
		"unlimited":        second(bucket.Unlimited().WithVersion(1, bucket.AsIs)),
		"zero":             second(bucket.Configuration{}.WithVersion(1, bucket.AsIs)),
	} {
		if !errors.Is(err, bucket.ErrInvalidArgument) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func second(_ bucket.Configuration, err error) error { return err }

func TestEqual(t *testing.T) {
	c := bucket.MustConfiguration(greedy(120, 100, time.Minute), interval(5, 5, time.Second, bandwidth.WithID("x")))
	v1 := bucket.Must(c.WithVersion(1, bucket.AsIs))
	for name, tc := range map[string]struct {
		other bucket.Configuration
		want  bool
	}{
		"itself":            {c, true},
		"same rate":         {bucket.MustConfiguration(greedy(120, 5, 3*time.Second), interval(5, 5, time.Second, bandwidth.WithID("x"))), true},
		"other start":       {bucket.MustConfiguration(greedy(120, 100, time.Minute, bandwidth.WithInitialTokens(1)), interval(5, 5, time.Second, bandwidth.WithID("x"))), true},
		"other id":          {bucket.MustConfiguration(greedy(120, 100, time.Minute), interval(5, 5, time.Second, bandwidth.WithID("y"))), false},
		"other order":       {bucket.MustConfiguration(interval(5, 5, time.Second, bandwidth.WithID("x")), greedy(120, 100, time.Minute)), false},
		"other kind":        {bucket.MustConfiguration(greedy(120, 100, time.Minute), greedy(5, 5, time.Second, bandwidth.WithID("x"))), false},
		"aligned":           {bucket.MustConfiguration(greedy(120, 100, time.Minute), aligned(5, 5, time.Second, bandwidth.WithID("x"))), false},
		"a version":         {v1, false},
		"unlimited":         {bucket.Unlimited(), false},
		"no configuration":  {bucket.Configuration{}, false},
		"one of the limits": {bucket.MustConfiguration(greedy(120, 100, time.Minute)), false},
	} {
		if c.Equal(tc.other) != tc.want || tc.other.Equal(c) != tc.want {
			t.Errorf("%s: Equal is not %v both ways", name, tc.want)
		}
	}
	if bucket.Unlimited().Equal(bucket.DenyAll()) {
		t.Error("unlimited equals deny all")
	}
}

func TestCanonicalBytes(t *testing.T) {
	for name, tc := range map[string]struct {
		c    bucket.Configuration
		want string
	}{
		// 1 bandwidth, capacity 10, 1 token in 100,000 µs
		"10 a second": {bucket.MustConfiguration(greedy(10, 10, time.Second)), "\x01\x0a\x01\xce\x00\x01\x86\xa0"},
		// 1 bandwidth, version 300, capacity 3, interval of 2 tokens, 1,000 µs
		"version": {bucket.Must(bucket.MustConfiguration(interval(3, 2, time.Millisecond)).WithVersion(300, bucket.Reset)), "\xff\xcd\x01\x2c\x03\xfe\xcd\x03\xe8"},
		// 2 bandwidths: the first aligned, 7 µs at phase 5 (noon modulo 7 µs), with id "ab"
		"aligned and id": {
			bucket.MustConfiguration(aligned(1, 1, 7*time.Microsecond, bandwidth.WithID("ab")), greedy(1, 1, time.Microsecond)),
			"\x02\xa2ab\x01\xff\xf9" + string([]byte{byte(noon.UnixMicro() % 7)}) + "\x01\x01\x01",
		},
	} {
		if got := tc.c.Canonical(); got != tc.want {
			t.Errorf("%s: got % x, want % x", name, got, tc.want)
		}
	}
}

// A comparison of a prefix tells which configuration a state was written under,
// so no configuration's bytes may begin another's.
func TestCanonicalBytesBeginNoOther(t *testing.T) {
	var all []bucket.Configuration
	for _, opts := range [][]bandwidth.Option{nil, {bandwidth.WithID("a")}, {bandwidth.WithID("ab")}} {
		for _, b := range []bandwidth.Bandwidth{
			greedy(3, 1, time.Microsecond, opts...), interval(3, 1, time.Microsecond, opts...), aligned(3, 1, time.Microsecond, opts...),
			greedy(3, 1, time.Second, opts...),
		} {
			c := bucket.MustConfiguration(b)
			all = append(all, c, bucket.MustConfiguration(b, greedy(1, 1, time.Second)), bucket.Must(c.WithVersion(1, bucket.AsIs)))
		}
	}
	for _, a := range all {
		for _, b := range all {
			if a != b && strings.HasPrefix(a.Canonical(), b.Canonical()) {
				t.Errorf("% x begins % x", b.Canonical(), a.Canonical())
			}
		}
	}
}

func TestCanonicalRoundTrip(t *testing.T) {
	for _, c := range []bucket.Configuration{
		bucket.MustConfiguration(greedy(math.MaxInt64, math.MaxInt64, math.MaxInt64)),
		bucket.MustConfiguration(greedy(1, 1, math.MaxInt64), greedy(7, 3, 7*time.Nanosecond)),
		bucket.MustConfiguration(interval(1, math.MaxInt64/1000, math.MaxInt64/1000*1000), aligned(2, 3, 24*time.Hour)),
		bucket.Must(bucket.MustConfiguration(greedy(5, 1, time.Hour, bandwidth.WithID(strings.Repeat("z", 64)))).WithVersion(math.MaxInt64, bucket.Additive)),
	} {
		got, rest, err := bucket.ParseCanonical([]byte(c.Canonical() + "rest"))
		if err != nil || string(rest) != "rest" || !got.Equal(c) {
			t.Errorf("% x: got %v, rest %q, %v", c.Canonical(), got.Bandwidths(), rest, err)
		}
	}
}

func TestParseCanonicalRefusesWhatWasNeverWritten(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":               "",
		"no bandwidths":         "\x00",
		"nine":                  "\x09",
		"cut":                   "\x01\x0a\x01\xce\x00\x01",
		"capacity 0":            "\x01\x00\x01\x01",
		"capacity below 0":      "\x01\xff\x01\x01",
		"rate 0":                "\x01\x01\x00\x01",
		"period 0":              "\x01\x01\x01\x00",
		"not in lowest terms":   "\x01\x01\x02\x02",
		"not the shortest form": "\x01\xcc\x01\x01\x01",
		"above one a ns":        "\x01\x01\xcd\x03\xe9\x01",
		"phase beyond period":   "\x01\x01\xff\xfe\x02",
		"float":                 "\x01\xca\x3f\x80\x00\x00\x01\x01",
		"version 0":             "\xff\x00\x01\x01\x01",
		"least int64":           "\x01\x01\xd3\x80\x00\x00\x00\x00\x00\x00\x00\x01",
		"id empty":              "\x01\xa0\x01\x01\x01",
		"above int64":           "\x01\xcf\x80\x00\x00\x00\x00\x00\x00\x00\x01\x01",
	} {
		if c, _, err := bucket.ParseCanonical([]byte(b)); !errors.Is(err, bucket.ErrMalformed) {
			t.Errorf("%s: got %v, %v", name, c.Bandwidths(), err)
		}
	}
}

func FuzzParseCanonical(f *testing.F) {
	f.Add([]byte(bucket.MustConfiguration(greedy(10, 10, time.Second), aligned(5, 5, time.Hour, bandwidth.WithID("id"))).Canonical()))
	f.Add([]byte(bucket.Must(bucket.MustConfiguration(interval(3, 2, time.Millisecond)).WithVersion(300, bucket.Reset)).Canonical()))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, err := bucket.ParseCanonical(b)
		if err == nil && c.Canonical()+string(rest) != string(b) {
			t.Errorf("% x became % x and % x", b, c.Canonical(), rest)
		}
	})
}
