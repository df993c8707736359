package wire_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/sluice-go/sluice/internal/wire"
)

// integers are all edges of the forms of an integer, and random ones.
func integers() (all []int64) {
	for bit := range 64 {
		for d := int64(-2); d <= 2; d++ {
			v := int64(1)<<bit + d
			all = append(all, v, -v)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		all = append(all, int64(r.Uint64())>>r.IntN(64))
	}
	return append(all, 0, math.MaxInt64, math.MinInt64)
}

// library is what a full MessagePack library makes of the same call.
func library(t *testing.T, encode func(*msgpack.Encoder) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(msgpack.NewEncoder(&b)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestIntegersAreThoseOfMessagePack(t *testing.T) {
	for _, v := range integers() {
		got := wire.AppendInt([]byte("before"), v)[len("before"):]
		if want := library(t, func(e *msgpack.Encoder) error { return e.EncodeInt(v) }); !bytes.Equal(got, want) {
			t.Fatalf("%d: got % x, want % x", v, got, want)
		}
		back, rest, ok := wire.Int(append(got, "after"...))
		if !ok || back != v || string(rest) != "after" {
			t.Fatalf("%d: read back as %d, %q, %t", v, back, rest, ok)
		}
	}
}

// Another writer may use a longer form than need be.
func TestIntegersOfEveryFormAreRead(t *testing.T) {
	for _, v := range integers() {
		for _, encode := range []func(*msgpack.Encoder) error{
			func(e *msgpack.Encoder) error { return e.EncodeInt8(int8(v)) },
			func(e *msgpack.Encoder) error { return e.EncodeInt16(int16(v)) },
			func(e *msgpack.Encoder) error { return e.EncodeInt32(int32(v)) },
			func(e *msgpack.Encoder) error { return e.EncodeInt64(v) },
			func(e *msgpack.Encoder) error { return e.EncodeUint8(uint8(v)) },
			func(e *msgpack.Encoder) error { return e.EncodeUint16(uint16(v)) },
			func(e *msgpack.Encoder) error { return e.EncodeUint32(uint32(v)) },
			func(e *msgpack.Encoder) error { return e.EncodeUint64(uint64(v) >> 1) },
		} {
			b := library(t, encode)
			want, err := msgpack.NewDecoder(bytes.NewReader(b)).DecodeInt64()
			if err != nil {
				t.Fatal(err)
			}
			if got, rest, ok := wire.Int(b); !ok || got != want || len(rest) != 0 {
				t.Fatalf("% x: got %d, %d left, %t; want %d", b, got, len(rest), ok, want)
			}
			for cut := range b {
				if _, _, ok := wire.Int(b[:cut]); ok {
					t.Fatalf("% x: cut after %d bytes it is an integer still", b, cut)
				}
			}
		}
	}
}

func TestWhatIsNoWholeNumberIsRefused(t *testing.T) {
	for head := range 256 {
		number := head < 0x80 || head >= 0xe0 || head >= 0xca && head <= 0xd3
		if _, _, ok := wire.Int(append([]byte{byte(head)}, make([]byte, 8)...)); ok != number {
			t.Errorf("first byte %#02x: read %t, want %t", head, ok, number)
		}
	}
	for _, f := range []float64{0.5, -1e-300, 1 << 53, -1 << 53, 1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		if v, _, ok := wire.Int(library(t, func(e *msgpack.Encoder) error { return e.EncodeFloat64(f) })); ok {
			t.Errorf("%v is read as %d", f, v)
		}
	}
}

func TestWholeNumbersInOtherFormsAreRead(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 4, 1<<53 - 1, 1 - 1<<53} {
		b := library(t, func(e *msgpack.Encoder) error { return e.EncodeFloat64(float64(v)) })
		if got, rest, ok := wire.Int(b); !ok || got != v || len(rest) != 0 {
			t.Errorf("% x: got %d, %d left, %t; want %d", b, got, len(rest), ok, v)
		}
		for cut := range b {
			if _, _, ok := wire.Int(b[:cut]); ok {
				t.Errorf("% x: cut after %d bytes it is a number still", b, cut)
			}
		}
	}
	short := library(t, func(e *msgpack.Encoder) error { return e.EncodeFloat32(-4) })
	if got, _, ok := wire.Int(short); !ok || got != -4 {
		t.Errorf("% x: got %d, %t", short, got, ok)
	}
	big := library(t, func(e *msgpack.Encoder) error { return e.EncodeUint64(math.MaxUint64 - 1) })
	if got, _, ok := wire.Int(big); !ok || got != -2 {
		t.Errorf("2^64-2: got %d, %t; want its two's complement", got, ok)
	}
}

func TestStringsAreThoseOfMessagePack(t *testing.T) {
	for size := range 256 {
		s := strings.Repeat("x", size)
		got := wire.AppendString(nil, s)
		if want := library(t, func(e *msgpack.Encoder) error { return e.EncodeString(s) }); !bytes.Equal(got, want) {
			t.Fatalf("length %d: got % x, want % x", size, got, want)
		}
		back, rest, ok := wire.String(append(got, "after"...))
		if !ok || back != s || string(rest) != "after" || !wire.IsString(got) {
			t.Fatalf("length %d: read back as %q, %q, %t", size, back, rest, ok)
		}
		for cut := range got {
			if _, _, ok := wire.String(got[:cut]); ok {
				t.Fatalf("length %d: cut after %d bytes it is a string still", size, cut)
			}
		}
	}
	for head := range 256 {
		text := head >= 0xa0 && head < 0xc0 || head == 0xd9
		b := append([]byte{byte(head)}, make([]byte, 64)...)
		if _, _, ok := wire.String(b); ok != text || wire.IsString(b) != text {
			t.Errorf("first byte %#02x: read %t, want %t", head, ok, text)
		}
	}
}

// Scribbling over what was read must not change a string made of it.
func TestStringsShareNoMemory(t *testing.T) {
	b := wire.AppendString(nil, "day")
	s, _, _ := wire.String(b)
	clear(b)
	if s != "day" {
		t.Errorf("it is %q now", s)
	}
}

func TestIntegersAllocateNothing(t *testing.T) {
	b := make([]byte, 0, 16)
	if n := testing.AllocsPerRun(100, func() {
		b = wire.AppendInt(b[:0], math.MinInt64)
		if _, _, ok := wire.Int(b); !ok {
			t.Error("not read back")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
