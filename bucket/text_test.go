package bucket_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

func ExampleParse() {
	c, err := bucket.Parse("100/1m burst=120; 10/1s interval id=burst")
	fmt.Println(c.Bandwidth(0).Capacity(), c.Bandwidth(1).ID(), err)

	_, err = bucket.Parse("100/1m burst=12O")
	fmt.Println(err)
	// Output:
	// 120 burst <nil>
	// sluice: "100/1m burst=12O", at byte 13: want a number of tokens
}

func ExampleConfiguration_MarshalText() {
	c := bucket.MustConfiguration(bandwidth.Must(bandwidth.New(1000, bandwidth.Greedy(1000, 24*time.Hour))))
	text, err := json.Marshal(map[string]bucket.Configuration{"guest": bucket.Must(c.WithVersion(2, bucket.Additive))})
	fmt.Println(string(text), err)
	// Output: {"guest":"version=2 inherit=additive; 1000/1d"} <nil>
}

func TestTextRoundTrip(t *testing.T) {
	for want, c := range map[string]bucket.Configuration{
		"unlimited": bucket.Unlimited(),
		"deny-all":  bucket.DenyAll(),
		"1/1ns":     bucket.MustConfiguration(greedy(1, 1, 1)),
		"9223372036854775807/9223372036854775807ns":                                         bucket.MustConfiguration(greedy(math.MaxInt64, math.MaxInt64, math.MaxInt64)),
		"5/90s burst=9 interval initial=0 id=a.b:c/d":                                       bucket.MustConfiguration(interval(9, 5, 90*time.Second, bandwidth.WithInitialTokens(0), bandwidth.WithID("a.b:c/d"))),
		"version=7 inherit=reset; 1/1h; 2/2d aligned=1970-01-01T12:00:00Z initial=adaptive": bucket.Must(bucket.MustConfiguration(greedy(1, 1, time.Hour), aligned(2, 2, 48*time.Hour, bandwidth.WithAdaptiveInitialTokens())).WithVersion(7, bucket.Reset)),
	} {
		text, err := c.MarshalText()
		if err != nil || string(text) != want {
			t.Errorf("got %q, %v, want %q", text, err, want)
		}
		var back bucket.Configuration
		if err := back.UnmarshalText(text); err != nil || !back.Equal(c) || back.String() != want {
			t.Errorf("%q came back as %q, %v", want, back, err)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for text, want := range map[string]string{
		" \t10/1s\n":                             "10/1s",
		"10/1000ms":                              "10/1s",
		"10/1h30m":                               "10/90m",
		"10/1m burst=10":                         "10/1m",
		"1/1us;1/1µs id=b":                       "1/1us; 1/1us id=b",
		"1/1d aligned=2026-01-01T00:00:00+01:00": "1/1d aligned=1970-01-01T23:00:00Z",
		"version=3 inherit=as-is;1/1s":           "version=3; 1/1s",
		" deny-all ":                             "deny-all",
	} {
		if c, err := bucket.Parse(text); err != nil || c.String() != want {
			t.Errorf("%q: got %q, %v, want %q", text, c, err, want)
		}
	}
}

func TestParseTellsWhere(t *testing.T) {
	for text, offset := range map[string]int{
		"":                      0,
		"x":                     0,
		"10":                    2,
		"10/":                   3,
		"10/s":                  3,
		"10/1":                  4,
		"10/1x":                 4,
		"10/1.5s":               4,
		"-1/1s":                 0,
		"10/1s burst":           11,
		"10/1s burst=":          12,
		"10/1s burst=+5":        12,
		"10/1s burst=5 burst=6": 14,
		"10/1s interval aligned=2026-01-01T00:00:00Z": 15,
		"10/1s aligned=now":                           14,
		"10/1s what=1":                                6,
		"99999999999999999999/1s":                     0,
		"1/99999999999d":                              2,
		"1/1s;":                                       5,
		"1/1s; 2/":                                    8,
		"version=0; 1/1s":                             8,
		"version=1 x; 1/1s":                           10,
		"version=1 inherit=x;1/1s":                    18,
		"1/1s; version=1":                             6,
		"0/1s":                                        0,
		"1/1s; 5/1s burst=4 initial=5":                6,
		"1/1s id=é":                                   0,
		"1/1s id=a; 1/1s id=a":                        0,
		"version=1":                                   0,
	} {
		c, err := bucket.Parse(text)
		var syntax *bucket.SyntaxError
		if !errors.As(err, &syntax) || !errors.Is(err, bucket.ErrInvalidArgument) || !c.IsZero() {
			t.Errorf("%q: got %q, %v", text, c, err)
			continue
		}
		if syntax.Offset != offset || syntax.Text != text {
			t.Errorf("%q: told of byte %d in %q, want %d: %v", text, syntax.Offset, syntax.Text, offset, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"100/1m burst=120; 10/1s interval id=burst", "version=2 inherit=proportional; 1000/1h", "unlimited",
		"1/1d aligned=2026-01-01T00:00:00Z initial=adaptive", "5/1h30m initial=0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := bucket.Parse(text)
		if err != nil {
			var syntax *bucket.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		back, err := bucket.Parse(c.String())
		if err != nil || !back.Equal(c) || back.String() != c.String() {
			t.Errorf("%q is %q, which is %q, %v", text, c, back, err)
		}
	})
}
