// Package wire reads and writes the two kinds of MessagePack value that stored
// buckets consist of: whole numbers, written in their shortest form, and short strings. It
// allocates nothing, since every decision on a store passes through it; a test
// holds it against a full MessagePack library.
package wire

import (
	"encoding/binary"
	"math"
)

// The MessagePack type bytes in use.
const (
	fixStr   = 0xa0
	float32_ = 0xca
	float64_ = 0xcb
	uint8_   = 0xcc
	int8_    = 0xd0
	str8     = 0xd9
)

// AppendInt appends v in its shortest form, unsigned when it is not negative.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		return appendUint(dst, uint64(v))
	case v >= -32:
		return append(dst, byte(v))
	case v >= math.MinInt8:
		return append(dst, int8_, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, int8_+1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, int8_+2), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(dst, int8_+3), uint64(v))
	}
}

func appendUint(dst []byte, v uint64) []byte {
	switch {
	case v <= math.MaxInt8:
		return append(dst, byte(v))
	case v <= math.MaxUint8:
		return append(dst, uint8_, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, uint8_+1), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, uint8_+2), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(dst, uint8_+3), v)
	}
}

// Int reads a whole number of any form from the front of b and returns the rest.
// It reads what a Redis script would: floating-point numbers too, as far as they
// are whole and exact, and those that pass int64 as the server's library does, as
// their two's complement. It is false for another type or a cut value.
func Int(b []byte) (v int64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	head, b := b[0], b[1:]
	switch {
	case head <= math.MaxInt8 || head >= 0xe0: // a single byte holds it
		return int64(int8(head)), b, true
	case head >= uint8_ && head < int8_:
		u, rest, ok := bigEndian(b, 1<<(head-uint8_))
		return int64(u), rest, ok
	case head >= int8_ && head < int8_+4:
		size := 1 << (head - int8_)
		u, rest, ok := bigEndian(b, size)
		unused := 64 - 8*size
		return int64(u<<unused) >> unused, rest, ok
	case head == float32_:
		u, rest, ok := bigEndian(b, 4)
		v, whole := exact(float64(math.Float32frombits(uint32(u))))
		return v, rest, ok && whole
	case head == float64_:
		u, rest, ok := bigEndian(b, 8)
		v, whole := exact(math.Float64frombits(u))
		return v, rest, ok && whole
	default:
		return 0, nil, false
	}
}

// exact is a whole number that a double holds without rounding.
func exact(f float64) (v int64, ok bool) {
	const limit = 1 << 53
	if !(f > -limit && f < limit) || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

func bigEndian(b []byte, size int) (v uint64, rest []byte, ok bool) {
	if len(b) < size {
		return 0, nil, false
	}
	for _, c := range b[:size] {
		v = v<<8 | uint64(c)
	}
	return v, b[size:], true
}

// AppendString appends s, which has at most 255 bytes.
func AppendString(dst []byte, s string) []byte {
	if len(s) < 32 {
		dst = append(dst, fixStr|byte(len(s)))
	} else {
		dst = append(dst, str8, byte(len(s)))
	}
	return append(dst, s...)
}

// IsString tells whether the value at the front of b is a string that
// [String] may read.
func IsString(b []byte) bool {
	return len(b) > 0 && (b[0]&0xe0 == fixStr || b[0] == str8)
}

// String reads a string of at most 255 bytes from the front of b and returns
// the rest. The string does not share memory with b.
func String(b []byte) (s string, rest []byte, ok bool) {
	if !IsString(b) {
		return "", nil, false
	}
	head, b := b[0], b[1:]
	size := int(head &^ 0xe0)
	if head == str8 {
		if len(b) == 0 {
			return "", nil, false
		}
		size, b = int(b[0]), b[1:]
	}
	if len(b) < size {
		return "", nil, false
	}
	return string(b[:size]), b[size:], true
}
