package bandwidth

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// SyntaxError says where a text is not a bandwidth, a configuration or a part of
// one. It matches [ErrInvalidArgument].
type SyntaxError struct {
	Text   string
	Offset int // in bytes, from 0
	Want   string
	Err    error // what else was wrong, may be nil
}

// Error tells the text, the place and what was expected there.
func (e *SyntaxError) Error() string {
	msg := fmt.Sprintf("sluice: %s, at byte %d: want %s", Quote(e.Text), e.Offset, e.Want)
	if e.Err != nil {
		msg = fmt.Sprintf("sluice: %s, at byte %d: %v", Quote(e.Text), e.Offset, e.Err)
	}
	return msg
}

// Is reports whether target is [ErrInvalidArgument].
func (e *SyntaxError) Is(target error) bool { return target == ErrInvalidArgument }

// Unwrap gives what else was wrong.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse reads a bandwidth from text such as
//
//	100/1m                                 100 a minute, capacity 100
//	100/1m burst=120                       capacity 120
//	10/1s interval                         all ten at once
//	1000/1d aligned=2026-01-01T00:00:00Z   at midnight UTC
//	5/1h initial=0 id=trial                empty at first, named
//
// In full, with single spaces or more between words:
//
//	bandwidth = tokens "/" period { word }
//	word      = "burst=" tokens | "interval" | "aligned=" instant
//	          | "initial=" ( tokens | "adaptive" ) | "id=" id
//	period    = count unit { count unit }
//	unit      = "d" | "h" | "m" | "s" | "ms" | "us" | "µs" | "ns"
//
// Counts are decimal integers and instants are as in RFC 3339. A day has 24
// hours. Each word may come once. The error is a [*SyntaxError] with the place,
// and for values that New refuses also the [*ArgumentError].
func Parse(text string) (Bandwidth, error) {
	s := scanner{text: text}
	s.space()
	b, err := s.bandwidth()
	if err == nil && s.at < len(text) {
		err = s.fail("a space or the end")
	}
	if err != nil {
		return Bandwidth{}, err
	}
	return b, nil
}

// scanner reads a text from left to right.
type scanner struct {
	text string
	at   int
}

func (s *scanner) fail(want string) error {
	return &SyntaxError{Text: s.text, Offset: s.at, Want: want}
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) space() bool {
	start := s.at
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\n') {
		s.at++
	}
	return s.at > start
}

// take moves over a prefix if it is there.
func (s *scanner) take(prefix string) bool {
	if !strings.HasPrefix(s.rest(), prefix) {
		return false
	}
	s.at += len(prefix)
	return true
}

// word is what comes up to the next space.
func (s *scanner) word() string {
	w := s.rest()
	if i := strings.IndexAny(w, " \t\n"); i >= 0 {
		w = w[:i]
	}
	s.at += len(w)
	return w
}

func (s *scanner) count(want string) (int64, error) {
	digits := 0
	for digits < len(s.rest()) && s.rest()[digits] >= '0' && s.rest()[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(s.rest()[:digits], 10, 64)
	if err != nil {
		return 0, s.fail(want)
	}
	s.at += digits
	return n, nil
}

var units = []struct {
	name string
	d    time.Duration
}{
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"ms", time.Millisecond},
	{"m", time.Minute},
	{"s", time.Second},
	{"us", time.Microsecond},
	{"µs", time.Microsecond},
	{"ns", time.Nanosecond},
}

func (s *scanner) period() (time.Duration, error) {
	var sum time.Duration
	for first := true; first || s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9'; first = false {
		start := s.at
		n, err := s.count("a period such as 1m or 1h30m")
		if err != nil {
			return 0, err
		}
		unit, ok := s.unit()
		if !ok {
			return 0, s.fail("a unit: d, h, m, s, ms, us or ns")
		}
		if n > int64((math.MaxInt64-sum)/unit) {
			s.at = start
			return 0, s.fail("a period of at most 292 years")
		}
		sum += time.Duration(n) * unit
	}
	return sum, nil
}

func (s *scanner) unit() (time.Duration, bool) {
	for _, u := range units {
		if s.take(u.name) {
			return u.d, true
		}
	}
	return 0, false
}

func (s *scanner) bandwidth() (Bandwidth, error) {
	start := s.at
	tokens, err := s.count("a number of tokens")
	if err != nil {
		return Bandwidth{}, err
	}
	if !s.take("/") {
		return Bandwidth{}, s.fail(`"/"`)
	}
	period, err := s.period()
	if err != nil {
		return Bandwidth{}, err
	}
	w := words{capacity: tokens, refill: Greedy(tokens, period)}
	for s.space() && s.at < len(s.text) {
		if err := w.read(s); err != nil {
			return Bandwidth{}, err
		}
	}
	b, err := New(w.capacity, w.refill, w.opts...)
	if err != nil {
		return Bandwidth{}, &SyntaxError{Text: s.text, Offset: start, Want: "a valid bandwidth", Err: err}
	}
	return b, nil
}

// words collects what the words of a bandwidth say.
type words struct {
	capacity int64
	refill   Refill
	opts     []Option
	seen     map[string]bool
}

func (w *words) read(s *scanner) error {
	start := s.at
	name, value, _ := strings.Cut(s.word(), "=")
	again := w.seen[name] || name == "interval" && w.seen["aligned"] || name == "aligned" && w.seen["interval"]
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[name] = true
	end := s.at
	s.at = start // where an error is, unless the value is at fault
	if again {
		return s.fail("each word once, and interval or aligned")
	}
	at := min(start+len(name)+1, end)
	switch name {
	case "burst", "initial":
		if name == "initial" && value == "adaptive" {
			w.opts = append(w.opts, WithAdaptiveInitialTokens())
			break
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || value[0] == '+' {
			s.at = at
			return s.fail("a number of tokens")
		}
		if name == "burst" {
			w.capacity = n
		} else {
			w.opts = append(w.opts, WithInitialTokens(n))
		}
	case "interval":
		w.refill = Interval(w.refill.tokens, w.refill.period)
	case "aligned":
		first, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			s.at = at
			return s.fail("an instant such as 2026-01-01T00:00:00Z")
		}
		w.refill = Aligned(w.refill.tokens, w.refill.period, first)
	case "id":
		w.opts = append(w.opts, WithID(value))
	default:
		return s.fail("burst=, interval, aligned=, initial= or id=")
	}
	s.at = end
	return nil
}

// String is the text of the bandwidth, which [Parse] reads. The zero value is
// told as such.
func (b Bandwidth) String() string {
	text, err := b.AppendText(nil)
	if err != nil {
		return "no bandwidth"
	}
	return string(text)
}

var errZero = errors.New("sluice: the zero Bandwidth has no text")

// AppendText appends the text of the bandwidth; see [Parse]. The first instant
// of an aligned refill comes back as the first of its grid after the Unix epoch.
func (b Bandwidth) AppendText(dst []byte) ([]byte, error) {
	if b.capacity == 0 {
		return dst, errZero
	}
	r := b.refill
	dst = fmt.Appendf(dst, "%d/%s", r.tokens, periodText(r.period))
	if b.capacity != r.tokens {
		dst = fmt.Appendf(dst, " burst=%d", b.capacity)
	}
	switch r.kind {
	case KindInterval:
		dst = append(dst, " interval"...)
	case KindAligned:
		dst = append(dst, " aligned="...)
		dst = time.Unix(0, int64(r.phase)).UTC().AppendFormat(dst, time.RFC3339Nano)
	}
	switch b.initial.kind {
	case initialFixed:
		dst = fmt.Appendf(dst, " initial=%d", b.initial.tokens)
	case initialAdaptive:
		dst = append(dst, " initial=adaptive"...)
	}
	if b.id != "" {
		dst = append(append(dst, " id="...), b.id...)
	}
	return dst, nil
}

// periodText is the period in the longest unit that divides it.
func periodText(d time.Duration) string {
	longest := units[len(units)-1]
	for _, u := range units {
		if d%u.d == 0 && u.d > longest.d {
			longest = u
		}
	}
	return fmt.Sprint(int64(d/longest.d), longest.name)
}

// MarshalText is [Bandwidth.AppendText] for JSON, YAML and the like.
func (b Bandwidth) MarshalText() ([]byte, error) { return b.AppendText(nil) }

// UnmarshalText is [Parse].
func (b *Bandwidth) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*b = parsed
	}
	return err
}
