package codec_test

import (
	"errors"
	"testing"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// sound checks what must hold of any bytes at all.
func sound(t testing.TB, b []byte, like bucket.Configuration) {
	t.Helper()
	e, err := codec.MessagePack{}.Decode(b, like)
	if err != nil {
		if !errors.Is(err, proxy.ErrForeignState) && !errors.Is(err, proxy.ErrUnknownFormat) && !errors.Is(err, proxy.ErrDamagedState) {
			t.Fatalf("% x: %v", b, err)
		}
		if e != (bucket.Entry{}) {
			t.Fatalf("% x: %+v beside %v", b, e, err)
		}
		return
	}
	if !e.State.Valid(e.Config) || e.Config.Stateless() {
		t.Fatalf("% x: read as %+v, which no bucket can be", b, e)
	}
	again := codec.MessagePack{}.Append(nil, e)
	if len(again) > len(b) {
		t.Fatalf("% x: written longer: % x", b, again)
	}
	back, err := codec.MessagePack{}.Decode(again, e.Config)
	if err != nil || back != e {
		t.Fatalf("% x: read as %+v, then as %+v, %v", b, e, back, err)
	}
	if third := (codec.MessagePack{}).Append(nil, back); string(third) != string(again) {
		t.Fatalf("% x: written as % x, then as % x", b, again, third)
	}
}

func TestCutBytesAreDamaged(t *testing.T) {
	for _, tt := range golden {
		whole := joined(tt.parts)
		for n := range whole {
			for _, like := range []bucket.Configuration{{}, tt.entry.Config} {
				sound(t, whole[:n], like)
				if _, err := (codec.MessagePack{}).Decode(whole[:n], like); !errors.Is(err, proxy.ErrDamagedState) {
					t.Errorf("%s, cut after %d bytes: %v", tt.name, n, err)
				}
			}
		}
		if _, err := (codec.MessagePack{}).Decode(append(whole, 0), tt.entry.Config); !errors.Is(err, proxy.ErrDamagedState) {
			t.Errorf("%s, a byte longer: %v", tt.name, err)
		}
	}
}

func TestChangedBytesAreTold(t *testing.T) {
	for _, tt := range golden {
		whole := joined(tt.parts)
		damaged, valid := 0, 0
		for i := range whole {
			for v := range 256 {
				if whole[i] == byte(v) {
					continue
				}
				b := append([]byte(nil), whole...)
				b[i] = byte(v)
				sound(t, b, bucket.Configuration{})
				sound(t, b, tt.entry.Config)
				_, err := codec.MessagePack{}.Decode(b, tt.entry.Config)
				switch {
				case i == 0 && err != proxy.ErrForeignState, i == 1 && err != proxy.ErrUnknownFormat:
					t.Errorf("%s, byte %d is %#02x: %v", tt.name, i, v, err)
				case err != nil:
					damaged++
				default:
					valid++
				}
			}
		}
		t.Logf("%s: %d of the changed are damaged, %d are buckets", tt.name, damaged, valid)
	}
}

func TestWhoseBytes(t *testing.T) {
	for _, tt := range []struct {
		bytes string
		want  error
	}{
		{"", proxy.ErrDamagedState},
		{"\xc1", proxy.ErrDamagedState},
		{"\xc1\x01", proxy.ErrDamagedState},
		{"\xc1\x02", proxy.ErrUnknownFormat},
		{"\xc1\x00", proxy.ErrUnknownFormat},
		{"\xc1\xc1", proxy.ErrUnknownFormat},
		{"\x00", proxy.ErrForeignState},
		{"42", proxy.ErrForeignState},
		{"hello", proxy.ErrForeignState},
		{"\xc2\xc1\x01", proxy.ErrForeignState},
	} {
		e, err := codec.MessagePack{}.Decode([]byte(tt.bytes), golden[0].entry.Config)
		if err != tt.want || e != (bucket.Entry{}) {
			t.Errorf("%q: %+v, %v; want %v", tt.bytes, e, err, tt.want)
		}
	}
}

// No configuration's bytes begin another's, or else one would be taken for the
// other.
func TestPrefixesAreDistinct(t *testing.T) {
	var all []string
	for _, tt := range golden {
		all = append(all, codec.Prefix(tt.entry.Config))
	}
	for i, a := range all {
		for j, b := range all {
			if i != j && len(a) <= len(b) && b[:len(a)] == a {
				t.Errorf("% x begins % x", a, b)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, tt := range golden {
		b := joined(tt.parts)
		f.Add(b, uint8(i))
		f.Add(b[:len(b)-1], uint8(i))
		f.Add(append(b, b...), uint8(i+1))
	}
	state := codec.Prefix(golden[0].entry.Config) + "\x05"
	f.Add([]byte(state+"\x07\xff"), uint8(0))                 // a remainder below 0
	f.Add([]byte(state+"\x07\xce\x00\x01\x86\xa0"), uint8(0)) // of a whole token
	f.Add([]byte("hello"), uint8(0))
	f.Add([]byte("\xc1\x01\x08"), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, like uint8) {
		var expected bucket.Configuration
		if int(like) < len(golden) {
			expected = golden[like].entry.Config
		}
		sound(t, b, expected)
	})
}
