package bandwidth

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrInvalidArgument is what every [*ArgumentError] matches with errors.Is.
var ErrInvalidArgument = errors.New("sluice: invalid argument")

// ArgumentError says which argument was refused, the value it had and what is
// allowed. Every constructor and operation of Sluice reports bad input with
// it, before anything is charged or stored. A constructor that finds several
// faults joins them, see errors.Join.
type ArgumentError struct {
	Field   string // for example "capacity" or "refill period"
	Value   any    // what was given
	Allowed string // for example "1 or more"
}

// Error tells field, value and what is allowed. A text value is quoted and
// cut, so that hostile input stays on one short line of a log.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("sluice: invalid %s %s: want %s", e.Field, printable(e.Value), e.Allowed)
}

// Is reports whether target is [ErrInvalidArgument].
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

func printable(v any) string {
	if s, ok := v.(string); ok {
		return Quote(s)
	}
	return fmt.Sprint(v)
}

// Quote makes untrusted text fit for one line of a log: quoted, in ASCII, and
// cut after 64 bytes with its length told.
func Quote(s string) string {
	const longest = 64
	if len(s) <= longest {
		return strconv.QuoteToASCII(s)
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.QuoteToASCII(s[:longest]), len(s))
}
