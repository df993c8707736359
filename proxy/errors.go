package proxy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice-go/sluice/bandwidth"
)

// What can go wrong with a store, for errors.Is. Each but ErrClosed comes inside
// a [*StoreError] with its key and cause. None of them is a refusal, and except
// for ErrOutcomeUnknown nothing was charged.
var (
	// ErrUnavailable means that the store gave no answer and did not do what
	// was asked.
	ErrUnavailable = errors.New("sluice: store unavailable")
	// ErrOutcomeUnknown means that the request was sent and no answer came in
	// time: it may or may not have been carried out, at most once.
	ErrOutcomeUnknown = errors.New("sluice: outcome unknown")
	// ErrContended means that others kept changing the bucket until the
	// deadline.
	ErrContended = errors.New("sluice: contended")
	// ErrForeignState means that the key holds something that Sluice did not
	// write. It is never touched, unless it is empty: that counts as a damaged
	// state.
	ErrForeignState = errors.New("sluice: foreign state")
	// ErrUnknownFormat means that the key was written by another release in a
	// format that this one cannot read. It is never touched.
	ErrUnknownFormat = errors.New("sluice: unknown state format")
	// ErrDamagedState means that the key is ours but cannot be read. Callers
	// never see it: such a state is taken for a new bucket, and an observer hears
	// of it as BucketLost.
	ErrDamagedState = errors.New("sluice: damaged state")
	// ErrClosed means that the manager was closed.
	ErrClosed = errors.New("sluice: closed")
)

// StoreError is why there is no answer for a key: one of the errors above and
// what caused it, both found by errors.Is and errors.As.
type StoreError struct {
	Kind  error
	Key   string // as stored
	Cause error  // may be nil
}

// Error tells kind, key and cause on one short line, whatever the key.
func (e *StoreError) Error() string {
	key := bandwidth.Quote(e.Key)
	if e.Cause == nil {
		return fmt.Sprintf("%v: key %s", e.Kind, key)
	}
	return fmt.Sprintf("%v: key %s: %s", e.Kind, key, oneLine(e.Cause.Error()))
}

// oneLine is text of a server made fit for a log.
func oneLine(text string) string {
	const longest = 300
	printable := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}
	return strings.Map(printable, text[:min(len(text), longest)])
}

// Unwrap gives kind and cause.
func (e *StoreError) Unwrap() []error { return []error{e.Kind, e.Cause} }
