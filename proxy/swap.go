package proxy

import (
	"context"
	"errors"
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
// jitter and end only with the context, as ErrContended.
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
	for i := range ds {
		charge, result, ok := ds[i].Single()
		if !ok {
			continue
		}
		stored, err := s.store.Load(ctx, charge.Key)
		if err != nil {
			ds[i].Err = storeError(ErrUnavailable, charge.Key, err)
			continue
		}
		*result, ds[i].Notes, ds[i].Err = Resolve(ctx, s.store, s.codec, charge, stored)
	}
}

// Resolve carries a charge through from what was loaded: it decides, swaps, and
// starts again from what it finds when somebody else was faster. A backend
// whose script hands over calls it with what the script saw.
func Resolve(ctx context.Context, s Store, c Codec, charge *Charge, stored Stored) (bucket.Result, Notes, error) {
	var notes Notes
	for attempt := 0; ; attempt++ {
		o, lost, err := Decide(c, charge, stored)
		if err != nil {
			return bucket.Result{}, notes, &StoreError{err, charge.Key, nil}
		}
		if lost {
			notes |= StateLost
		}
		if o.Err != nil {
			return bucket.Result{}, notes, o.Err
		}
		if o.Change == bucket.Keep {
			return o.Result, notes, nil
		}
		var next []byte
		if o.Change == bucket.Write {
			next = c.Append(nil, o.Next)
		}
		life := charge.Rule.Life(o.ToFull, o.Remember).Longer(stored.At.Lead)
		now, swapped, err := s.Swap(ctx, charge.Key, stored, next, life)
		if err != nil {
			return bucket.Result{}, notes, storeError(ErrOutcomeUnknown, charge.Key, err)
		}
		if swapped {
			return o.Result, notes, nil
		}
		notes += LostSwap
		if err := backOff(ctx, attempt); err != nil {
			return bucket.Result{}, notes, &StoreError{ErrContended, charge.Key, err}
		}
		stored = now
	}
}

// Decide works out a charge on stored bytes and changes nothing. Damaged bytes
// are lost: they count as none, and are swept away by the first operation that
// may write. The error is the codec's.
func Decide(c Codec, charge *Charge, stored Stored) (o bucket.Outcome, lost bool, err error) {
	var entry bucket.Entry
	if stored.Bytes != nil {
		entry, err = c.Decode(stored.Bytes, charge.Config)
		if lost = errors.Is(err, ErrDamagedState); lost {
			entry, err = bucket.Entry{}, nil
		}
	}
	if err != nil {
		return o, false, err
	}
	stored.At.Tick = bucket.Microsecond
	o = bucket.Step(entry, charge.Request, stored.At)
	if lost && o.Err == nil && o.Change == bucket.Keep && !charge.Op.ReadOnly() {
		o.Change = bucket.Delete
	}
	return o, lost, nil
}

// Back-off after a lost swap: the first retry is at once, since what is there
// now has just been read.
const (
	firstPause   = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
)

func backOff(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return ctx.Err()
	}
	longest := min(firstPause<<min(attempt, 10), longestPause)
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
