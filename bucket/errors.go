package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bandwidth"
)

// ErrInvalidArgument is [bandwidth.ErrInvalidArgument]: bad input, refused
// before anything was charged.
var ErrInvalidArgument = bandwidth.ErrInvalidArgument

// ArgumentError is [bandwidth.ArgumentError].
type ArgumentError = bandwidth.ArgumentError

// What reserving and waiting can end with, for errors.Is. Nothing is then
// charged.
var (
	// ErrNever means that the cost is above what the bucket can ever hold.
	ErrNever = errors.New("sluice: cost can never be met")
	// ErrTooLate means that the tokens will not be there in time, see
	// [*TooLateError].
	ErrTooLate = errors.New("sluice: deadline cannot be met")
	// ErrTooManyWaiters means that as many callers are waiting as may.
	ErrTooManyWaiters = errors.New("sluice: too many waiters")
)

// ErrOlderConfiguration means that a stored configuration of the same or a newer
// version forbids the replacement.
var ErrOlderConfiguration = errors.New("sluice: a stored configuration of the same or a newer version rules")

// TooLateError tells how long the tokens would have taken. It matches ErrTooLate
// and context.DeadlineExceeded.
type TooLateError struct {
	Wait, Longest time.Duration
}

func (e *TooLateError) Error() string {
	return fmt.Sprintf("%v: the tokens are there in %v, the longest wait is %v", ErrTooLate, e.Wait, e.Longest)
}

// Is reports whether target is [ErrTooLate] or context.DeadlineExceeded.
func (e *TooLateError) Is(target error) bool {
	return target == ErrTooLate || target == context.DeadlineExceeded
}
