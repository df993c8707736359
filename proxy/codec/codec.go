// Package codec is the stored form of a bucket: a short, versioned sequence of
// MessagePack values.
//
//	0xC1      never valid MessagePack nor text: the mark of our own bytes
//	0x01      the format
//	…         the configuration, see [bucket.Configuration.Canonical]
//	last      the instant of the state, in microseconds since the Unix epoch
//	tokens remainder    for each bandwidth
//
// The configuration comes first, so that comparing a prefix tells whether a
// bucket was written under the same one.
package codec

import (
	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/internal/wire"
	"github.com/sluice-go/sluice/proxy"
)

// The first two bytes of every stored bucket.
const (
	Magic  = 0xc1
	Format = 0x01
)

// MessagePack is the codec of this release. It keeps nothing and may be used
// concurrently.
type MessagePack struct{}

var _ proxy.Codec = MessagePack{}

// Prefix is what the stored form of a bucket begins with under a configuration.
func Prefix(c bucket.Configuration) string {
	return string([]byte{Magic, Format}) + c.Canonical()
}

// AppendState appends the second part, the state.
func AppendState(dst []byte, e bucket.Entry) []byte {
	dst = wire.AppendInt(dst, e.State.Last)
	for i := range e.Config.Len() {
		dst = wire.AppendInt(dst, e.State.Levels[i].Tokens)
		dst = wire.AppendInt(dst, e.State.Levels[i].Rem)
	}
	return dst
}

// Append appends the stored form of e to dst.
func (MessagePack) Append(dst []byte, e bucket.Entry) []byte {
	dst = append(dst, Magic, Format)
	dst = append(dst, e.Config.Canonical()...)
	return AppendState(dst, e)
}

// Decode reads a stored form; see [proxy.Codec].
func (MessagePack) Decode(b []byte, like bucket.Configuration) (bucket.Entry, error) {
	switch {
	case len(b) == 0:
		return bucket.Entry{}, proxy.ErrDamagedState
	case b[0] != Magic:
		return bucket.Entry{}, proxy.ErrForeignState
	case len(b) == 1:
		return bucket.Entry{}, proxy.ErrDamagedState
	case b[1] != Format:
		return bucket.Entry{}, proxy.ErrUnknownFormat
	}
	config, rest, ok := configuration(b[2:], like)
	if !ok {
		return bucket.Entry{}, proxy.ErrDamagedState
	}
	e := bucket.Entry{Config: config}
	if !readState(&e, rest) || !e.State.Valid(config) {
		return bucket.Entry{}, proxy.ErrDamagedState
	}
	return e, nil
}

// configuration reads the first part, which mostly is the one expected.
func configuration(b []byte, like bucket.Configuration) (c bucket.Configuration, rest []byte, ok bool) {
	if n := len(like.Canonical()); n > 0 && len(b) >= n && string(b[:n]) == like.Canonical() {
		return like, b[n:], true
	}
	c, rest, err := bucket.ParseCanonical(b)
	return c, rest, err == nil
}

func readState(e *bucket.Entry, b []byte) bool {
	var ok bool
	if e.State.Last, b, ok = wire.Int(b); !ok {
		return false
	}
	for i := range e.Config.Len() {
		l := &e.State.Levels[i]
		if l.Tokens, b, ok = wire.Int(b); !ok {
			return false
		}
		if l.Rem, b, ok = wire.Int(b); !ok {
			return false
		}
	}
	return len(b) == 0
}
