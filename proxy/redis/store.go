package redis

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice/expiration"
	"github.com/sluice-go/sluice/proxy"
	"github.com/sluice-go/sluice/proxy/codec"
)

// ownBytes begins every bucket of a format that this release writes.
var ownBytes = string([]byte{codec.Magic, codec.Format})

// store is the same keys under compare-and-swap.
type store struct{ *Backend }

var _ proxy.Store = store{}

// Load reads a key and the clock in one trip.
func (s store) Load(ctx context.Context, key string) (proxy.Stored, error) {
	call, _ := s.clock.call(s.clock.script("read.lua"), key)
	calls := []Call{call}
	s.run(ctx, calls)
	if calls[0].Err != nil {
		return proxy.Stored{}, storeError(&calls[0], true)
	}
	return s.clock.stored(&calls[0]), nil
}

// Swap replaces bytes that are still there.
func (s store) Swap(ctx context.Context, key string, was proxy.Stored, next []byte, life expiration.Life) (proxy.Stored, bool, error) {
	present := "0"
	if was.Bytes != nil {
		present = "1"
	}
	call, _ := s.clock.call(s.clock.script("swap.lua"), key,
		present, string(was.Bytes), string(next), decimal(s.clock.expires(life, was.At.Now)))
	calls := []Call{call}
	s.run(ctx, calls)
	if calls[0].Err != nil {
		return proxy.Stored{}, false, storeError(&calls[0], false)
	}
	return s.clock.stored(&calls[0]), calls[0].Reply.Done != Undone, nil
}

// storeError tells what an error means for the caller. After a read nothing is
// unknown: it changed nothing.
func storeError(c *Call, readOnly bool) error {
	kind := proxy.ErrOutcomeUnknown
	var reply *ServerError
	switch {
	case isServerError(c.Err, "WRONGTYPE"):
		kind = proxy.ErrForeignState
	case errors.As(c.Err, &reply), errors.Is(c.Err, ErrNotSent), readOnly:
		kind = proxy.ErrUnavailable
	}
	return &proxy.StoreError{Kind: kind, Key: c.Key, Cause: c.Err}
}
