package codec_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy/codec"
)

// part is some bytes of a stored bucket, decoded by hand.
type part struct {
	bytes string
	value any // what a MessagePack library reads from them; nil for our own mark
	what  string
}

// golden are buckets and the bytes that every release of this format writes for
// them. Never change one: add another.
var golden = []struct {
	name  string
	entry bucket.Entry
	parts []part
}{
	{
		"10 a second",
		entry(limits(limit(10, bandwidth.Greedy(10, time.Second))), bucket.Level{Tokens: 7, Rem: 12_345}),
		[]part{
			{"\xc1", nil, "magic"},
			{"\x01", nil, "format"},
			{"\x01", int64(1), "bandwidths, no version"},
			{"\x0a", int64(10), "capacity"},
			{"\x01", int64(1), "token"},
			{"\xce\x00\x01\x86\xa0", int64(100_000), "in so many microseconds"},
			{"\xcf\x00\x06\x0a\x24\x18\x20\x22\x40", int64(1_700_000_000_123_456), "last"},
			{"\x07", int64(7), "tokens"},
			{"\xcd\x30\x39", int64(12_345), "remainder"},
		},
	},
	{
		"100 a minute, 120 at once, at most",
		entry(limits(limit(120, bandwidth.Greedy(100, time.Minute))), bucket.Level{Tokens: 119, Rem: 599_999}),
		[]part{
			{"\xc1", nil, "magic"},
			{"\x01", nil, "format"},
			{"\x01", int64(1), "bandwidths, no version"},
			{"\x78", int64(120), "capacity"},
			{"\x01", int64(1), "token"},
			{"\xce\x00\x09\x27\xc0", int64(600_000), "in so many microseconds"},
			{"\xcf\x00\x06\x0a\x24\x18\x20\x22\x40", int64(1_700_000_000_123_456), "last"},
			{"\x77", int64(119), "tokens"},
			{"\xce\x00\x09\x27\xbf", int64(599_999), "remainder"},
		},
	},
	{
		"a version, an id, an interval in debt",
		entry(
			bucket.Must(limits(
				limit(10_000, bandwidth.Greedy(10_000, 24*time.Hour), bandwidth.WithID("day")),
				limit(10, bandwidth.Interval(10, time.Second)),
			).WithVersion(300, bucket.Additive)),
			bucket.Level{Tokens: 9999, Rem: 1}, bucket.Level{Tokens: -5},
		),
		[]part{
			{"\xc1", nil, "magic"},
			{"\x01", nil, "format"},
			{"\xfe", int64(-2), "bandwidths, a version follows"},
			{"\xcd\x01\x2c", int64(300), "version"},
			{"\xa3day", "day", "id"},
			{"\xcd\x27\x10", int64(10_000), "capacity"},
			{"\x01", int64(1), "token"},
			{"\xce\x00\x83\xd6\x00", int64(8_640_000), "in so many microseconds"},
			{"\x0a", int64(10), "capacity"},
			{"\xf6", int64(-10), "tokens of an interval"},
			{"\xce\x00\x0f\x42\x40", int64(1_000_000), "of so many microseconds"},
			{"\xcf\x00\x06\x0a\x24\x18\x20\x22\x40", int64(1_700_000_000_123_456), "last"},
			{"\xcd\x27\x0f", int64(9999), "tokens"},
			{"\x01", int64(1), "remainder"},
			{"\xfb", int64(-5), "tokens: debt"},
			{"\x00", int64(0), "remainder"},
		},
	},
	{
		"an aligned interval with credit above its capacity",
		entry(
			limits(limit(400, bandwidth.Aligned(100, time.Hour, time.Unix(1200, 0)), bandwidth.WithAdaptiveInitialTokens())),
			bucket.Level{Tokens: 70_000},
		),
		[]part{
			{"\xc1", nil, "magic"},
			{"\x01", nil, "format"},
			{"\x01", int64(1), "bandwidths, no version"},
			{"\xcd\x01\x90", int64(400), "capacity"},
			{"\xd0\x9c", int64(-100), "tokens of an interval"},
			{"\xd3\xff\xff\xff\xff\x29\x6c\x5c\x00", int64(-3_600_000_000), "of so many microseconds, aligned"},
			{"\xce\x47\x86\x8c\x00", int64(1_200_000_000), "to this phase"},
			{"\xcf\x00\x06\x0a\x24\x18\x20\x22\x40", int64(1_700_000_000_123_456), "last"},
			{"\xce\x00\x01\x11\x70", int64(70_000), "tokens: credit"},
			{"\x00", int64(0), "remainder: none is kept"},
		},
	},
}

func limit(capacity int64, refill bandwidth.Refill, options ...bandwidth.Option) bandwidth.Bandwidth {
	return bandwidth.Must(bandwidth.New(capacity, refill, options...))
}

func limits(all ...bandwidth.Bandwidth) bucket.Configuration { return bucket.MustConfiguration(all...) }

func entry(c bucket.Configuration, levels ...bucket.Level) bucket.Entry {
	e := bucket.Entry{Config: c, State: bucket.State{Last: 1_700_000_000_123_456}}
	copy(e.State.Levels[:], levels)
	return e
}

func joined(parts []part) (b []byte) {
	for _, p := range parts {
		b = append(b, p.bytes...)
	}
	return b
}

func TestGoldenBytes(t *testing.T) {
	for _, tt := range golden {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range tt.parts {
				if p.value == nil {
					continue
				}
				var got any
				err := msgpack.NewDecoder(bytes.NewReader([]byte(p.bytes))).Decode(&got)
				if err == nil && reflect.ValueOf(got).CanConvert(reflect.TypeFor[int64]()) {
					got = reflect.ValueOf(got).Convert(reflect.TypeFor[int64]()).Interface()
				}
				if err != nil || got != p.value {
					t.Errorf("%s: % x is %v, %v in MessagePack, not %v", p.what, p.bytes, got, err, p.value)
				}
			}
			want := joined(tt.parts)
			if got := (codec.MessagePack{}).Append([]byte("before"), tt.entry); string(got) != "before"+string(want) {
				t.Errorf("written\n got % x\nwant % x", got[len("before"):], want)
			}
			for _, like := range []bucket.Configuration{{}, tt.entry.Config, golden[0].entry.Config} {
				got, err := codec.MessagePack{}.Decode(want, like)
				if err != nil || got.State != tt.entry.State || !got.Config.Equal(tt.entry.Config) {
					t.Errorf("read: %+v, %v; want %+v", got, err, tt.entry)
				}
				if like == tt.entry.Config && got.Config != like {
					t.Error("read: an equal configuration is made anew")
				}
			}
			if prefix := codec.Prefix(tt.entry.Config); string(want) != prefix+string(codec.AppendState(nil, tt.entry)) {
				t.Errorf("prefix and state do not make the whole: % x", prefix)
			}
		})
	}
}

// Redis sets memory aside in steps of 28, 44 and 60 bytes.
func TestStoredBucketsAreSmall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		most   int
		config bucket.Configuration
		levels []bucket.Level // as long as they get
	}{
		{"10 a second", 28, limits(limit(10, bandwidth.Greedy(10, time.Second))), []bucket.Level{{Tokens: 9, Rem: 99_999}}},
		{"100 a minute, 120 at once", 28, limits(limit(120, bandwidth.Greedy(100, time.Minute))), []bucket.Level{{Tokens: 119, Rem: 599_999}}},
		{
			"three", 60,
			limits(
				limit(10, bandwidth.Greedy(10, time.Second)),
				limit(500, bandwidth.Greedy(500, time.Minute)),
				limit(10_000, bandwidth.Greedy(10_000, time.Hour)),
			),
			[]bucket.Level{{Tokens: 9, Rem: 99_999}, {Tokens: 499, Rem: 119_999}, {Tokens: 9999, Rem: 359_999}},
		},
	} {
		got := codec.MessagePack{}.Append(nil, entry(tt.config, tt.levels...))
		t.Logf("%s: %d bytes", tt.name, len(got))
		if len(got) > tt.most {
			t.Errorf("%s: %d bytes, want %d at most", tt.name, len(got), tt.most)
		}
	}
}

func TestReadingTheExpectedAllocatesNothing(t *testing.T) {
	for _, tt := range golden {
		b := joined(tt.parts)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := (codec.MessagePack{}).Decode(b, tt.entry.Config); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
