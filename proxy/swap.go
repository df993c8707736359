package proxy

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/bucket"
	"github.com/sluice-go/sluice/expiration"
)

// Store is what a store author writes: two methods, and Close, that make every operation
// of a bucket work, through [CompareAndSwap]. Both are safe for concurrent use
// and return within the context's deadline. Their errors are [*StoreError]s:
// ErrUnavailable where the request did nothing, ErrOutcomeUnknown where a swap may
// have been carried out. Another error of Load counts as the former, and of Swap
// as the latter.
type Store interface {
	// Load reads a key and the store's clock in one trip. A key whose life is
	// over is absent.
	Load(ctx context.Context, key string) (Stored, error)
	// Swap replaces what was loaded by next, which lives as long as life says
	// from was.At.Now on; a nil next deletes the key. If something else is
	// there by now it changes nothing and returns that, so that a retry costs
	// one trip; otherwise what it returns is not looked at. It must not keep
	// next.
	Swap(ctx context.Context, key string, was Stored, next []byte, life expiration.Life) (now Stored, swapped bool, err error)
	// Close ends what the store has started; see Backend.
	Close() error
}

// Stored is what a store holds under a key at one instant. It belongs to the
// caller once returned.
type Stored struct {
	// Bytes is what was written, nil if the key is absent.
	Bytes []byte
	// Revision is for a store that compares a mark of its own instead of the
	// bytes; others leave it nil.
	Revision any
	// At is the store's clock in microseconds since the Unix epoch. Its tick need
	// not be set.
	At bucket.Moment
}

// CompareAndSwap is the backend that works out decisions in this process and
// keeps them in a store: one trip for what changes nothing, two for what does,
// one more for each time that somebody else was faster. Retries back off with
// jitter, up to a number of pauses, and end only with the context, as ErrContended.
// A nil store or codec is reported by NewManager.
func CompareAndSwap(s Store, c Codec) Backend { return &swapper{s, c} }

type swapper struct {
	store Store
	codec Codec
}

func (s *swapper) Close() error { return s.store.Close() }

// Validate reports arguments that are missing.
func (s *swapper) Validate() error {
	if isNil(s.store) {
		return &bucket.ArgumentError{Field: "store", Value: "nil", Allowed: "a store"}
	}
	if isNil(s.codec) {
		return &bucket.ArgumentError{Field: "codec", Value: "nil", Allowed: "a codec"}
	}
	if v, ok := s.store.(Validator); ok {
		return v.Validate()
	}
	return nil
}

func (s *swapper) Do(ctx context.Context, ds []Decision) {
	for group := range Groups(ds) {
		stored, err := s.store.Load(ctx, group[0].Charges[0].Key)
		if err != nil {
			Fail(group, ErrUnavailable, err)
			continue
		}
		Resolve(ctx, s.store, s.codec, group, stored)
	}
}

// Groups goes through decisions as far as they belong together: neighbours on
// one key, which can share a trip. Sets are left out and noted as
// errors.ErrUnsupported.
func Groups(ds []Decision) iter.Seq[[]Decision] {
	return func(yield func([]Decision) bool) {
		for len(ds) > 0 {
			n := 0
			for n < len(ds) && len(ds[n].Charges) == 1 && ds[n].Charges[0].Key == ds[0].Charges[0].Key {
				n++
			}
			if n == 0 {
				ds[0].Err = errors.ErrUnsupported
				ds = ds[1:]
				continue
			}
			if !yield(ds[:n:n]) {
				return
			}
			ds = ds[n:]
		}
	}
}

// Fail gives decisions on one key an error: the given one, if it is a
// [*StoreError] already, or else one of the given kind. Of a read the outcome is
// never unknown: it changed nothing.
func Fail(ds []Decision, kind, err error) {
	if len(ds) == 0 {
		return
	}
	key := ds[0].Charges[0].Key
	var known *StoreError
	if !errors.As(err, &known) {
		known = &StoreError{kind, key, err}
		err = known
	}
	for i := range ds {
		ds[i].Err = err
		if known.Kind == ErrOutcomeUnknown && ds[i].Charges[0].Op.ReadOnly() {
			ds[i].Err = &StoreError{ErrUnavailable, key, known.Cause}
		}
	}
}

// Resolve carries decisions on one key through from what was loaded: it works
// them out one after another, swaps once, and starts again from what it finds
// when somebody else was faster. A backend whose script hands over calls it with
// what the script saw.
func Resolve(ctx context.Context, s Store, c Codec, ds []Decision, stored Stored) {
	key := ds[0].Charges[0].Key
	for attempt := 0; ; attempt++ {
		after := Replay(c, ds, stored)
		if after.Change == bucket.Keep {
			return
		}
		var next []byte
		if after.Change == bucket.Write {
			next = c.Append(nil, after.Next)
		}
		now, swapped, err := s.Swap(ctx, key, stored, next, after.Life.Longer(stored.At.Lead))
		if attempt > 0 && errors.Is(err, ErrUnavailable) && ctx.Err() != nil {
			Fail(ds, ErrContended, ctx.Err()) // time ran out before this attempt began
			return
		}
		if err != nil {
			Fail(ds, ErrOutcomeUnknown, err)
			return
		}
		if swapped {
			return
		}
		ds[0].LostSwaps++ // once for all: it was one trip
		if err := backOff(ctx, attempt); err != nil {
			Fail(ds, ErrContended, err)
			return
		}
		stored = now
	}
}

// After is what decisions on one key leave behind.
type After struct {
	Change bucket.Change
	Next   bucket.Entry    // for bucket.Write
	Life   expiration.Life // of Next
}

// Replay works out decisions on one key, one after another at one instant, fills
// in their results and errors, and changes nothing itself. Damaged bytes count
// as none, and are swept away by the first operation that may write.
func Replay(c Codec, ds []Decision, stored Stored) After {
	var entry bucket.Entry
	var lost bool
	if stored.Bytes != nil {
		var err error
		entry, err = c.Decode(stored.Bytes, ds[0].Charges[0].Config)
		if lost = errors.Is(err, ErrDamagedState); lost {
			entry = bucket.Entry{}
		} else if err != nil {
			for i := range ds {
				ds[i].Err = &StoreError{err, ds[i].Charges[0].Key, nil}
			}
			return After{}
		}
	}
	stored.At.Tick = bucket.Microsecond
	var after After
	for i := range ds {
		d, charge := &ds[i], &ds[i].Charges[0]
		d.Notes &^= StateLost // what an earlier attempt has found
		next := entry
		var f bucket.Effect
		f, d.Err = next.Step(&d.Results[0], &charge.Request, stored.At)
		d.Conclude(&entry, stored.At, f.Change)
		if lost {
			d.Notes |= StateLost
			if d.Err == nil && f.Change == bucket.Keep && !charge.Op.ReadOnly() {
				f.Change = bucket.Delete
			}
		}
		switch f.Change {
		case bucket.Keep:
			continue
		case bucket.Write:
			entry = next
			after = After{Change: bucket.Write, Life: charge.Rule.Life(f.ToFull, f.Remember)}
		case bucket.Delete:
			entry = bucket.Entry{}
			after = After{Change: bucket.Delete}
		}
		lost = false
	}
	after.Next = entry
	if after.Change == bucket.Delete && stored.Bytes == nil {
		after.Change = bucket.Keep // born and filled again
	}
	return after
}

// Back-off after a lost swap: every other retry is at once, since what is there
// now has just been read. After a pause that is old news, and the swap mostly
// serves to read again; with pauses alone whoever has just won, and so reads
// afresh, wins again and again.
//
// Pauses grow, so that many who compete make way for each other; but whoever has
// made way so often makes way no more, or newcomers, whose pauses are short, would
// win until his deadline.
const (
	firstPause   = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
	mostPauses   = 10
)

func backOff(ctx context.Context, attempt int) error {
	pauses := attempt / 2
	if attempt%2 == 0 || pauses >= mostPauses {
		return ctx.Err()
	}
	timer := time.NewTimer(rand.N(min(firstPause<<pauses, longestPause)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
