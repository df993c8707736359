package bucket

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/bandwidth"
)

// SyntaxError is [bandwidth.SyntaxError].
type SyntaxError = bandwidth.SyntaxError

// The texts of the two extremes.
const (
	unlimitedText = "unlimited"
	denyAllText   = "deny-all"
)

var strategyNames = []string{AsIs: "as-is", Proportional: "proportional", Additive: "additive", Reset: "reset"}

// Parse reads a configuration from text: bandwidths as [bandwidth.Parse] reads
// them, with semicolons between, and before them a version if there is one.
//
//	100/1m burst=120; 10/1s interval id=burst
//	version=2 inherit=proportional; 1000/1h
//	unlimited
//
// In full:
//
//	configuration = "unlimited" | "deny-all" | [ version ";" ] bandwidth { ";" bandwidth }
//	version       = "version=" number [ "inherit=" strategy ]
//	strategy      = "as-is" | "proportional" | "additive" | "reset"
//
// The strategy is as-is if none is given. Errors are as with [bandwidth.Parse].
func Parse(text string) (Configuration, error) {
	switch strings.TrimSpace(text) {
	case unlimitedText:
		return Unlimited(), nil
	case denyAllText:
		return DenyAll(), nil
	}
	var bandwidths []bandwidth.Bandwidth
	var version int64
	var strategy Inheritance
	at := 0
	for i, part := range strings.Split(text, ";") {
		if len(bandwidths) == MaxBandwidths {
			return Configuration{}, &SyntaxError{Text: text, Offset: at, Want: fmt.Sprint("at most ", MaxBandwidths, " bandwidths")}
		}
		var err error
		if i == 0 && strings.HasPrefix(strings.TrimSpace(part), "version=") {
			version, strategy, err = parseVersion(part)
		} else {
			var b bandwidth.Bandwidth
			b, err = bandwidth.Parse(part)
			bandwidths = append(bandwidths, b)
		}
		if err != nil {
			return Configuration{}, within(text, at, err)
		}
		at += len(part) + len(";")
	}
	c, err := NewConfiguration(bandwidths...)
	if err == nil && version > 0 {
		c, err = c.WithVersion(version, strategy)
	}
	if err != nil {
		return Configuration{}, &SyntaxError{Text: text, Want: "a valid configuration", Err: err}
	}
	return c, nil
}

// within tells an error in a part as one in the whole text.
func within(text string, at int, err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		syntax.Text, syntax.Offset = text, at+syntax.Offset
	}
	return err
}

func parseVersion(part string) (version int64, strategy Inheritance, err error) {
	for _, word := range strings.Fields(part) {
		name, value, _ := strings.Cut(word, "=")
		fail := &SyntaxError{Text: part, Offset: strings.Index(part, word) + min(len(name)+1, len(word))}
		switch {
		case name == "version" && version == 0:
			version, err = strconv.ParseInt(value, 10, 64)
			if err != nil || version < 1 || value[0] == '+' {
				fail.Want = "a version, 1 or more"
				return 0, 0, fail
			}
		case name == "inherit":
			strategy, err = parseStrategy(value)
			if err != nil {
				fail.Want = "as-is, proportional, additive or reset"
				return 0, 0, fail
			}
		default:
			fail.Offset = strings.LastIndex(part, word)
			fail.Want = `inherit= or ";"`
			return 0, 0, fail
		}
	}
	return version, strategy, nil
}

func parseStrategy(name string) (Inheritance, error) {
	for s, known := range strategyNames {
		if known == name {
			return Inheritance(s), nil
		}
	}
	return 0, &ArgumentError{Field: "inheritance", Value: name, Allowed: "one of the strategies"}
}

// String is the name of the strategy in texts.
func (s Inheritance) String() string {
	if s.valid() {
		return strategyNames[s]
	}
	return fmt.Sprintf("inheritance %d", uint8(s))
}

// String is the text of the configuration, which [Parse] reads.
func (c Configuration) String() string {
	text, err := c.AppendText(nil)
	if err != nil {
		return "no configuration"
	}
	return string(text)
}

// AppendText appends the text of the configuration; see [Parse]. The zero
// Configuration has none.
func (c Configuration) AppendText(dst []byte) ([]byte, error) {
	switch {
	case c.IsZero():
		return dst, &ArgumentError{Field: "configuration", Value: "zero value", Allowed: "one made by NewConfiguration"}
	case c.IsUnlimited():
		return append(dst, unlimitedText...), nil
	case c.IsDenyAll():
		return append(dst, denyAllText...), nil
	}
	if c.Version() > 0 {
		dst = fmt.Appendf(dst, "version=%d", c.Version())
		if c.c.inheritance != AsIs {
			dst = fmt.Appendf(dst, " inherit=%v", c.c.inheritance)
		}
		dst = append(dst, "; "...)
	}
	for i, b := range c.c.bandwidths {
		if i > 0 {
			dst = append(dst, "; "...)
		}
		dst = fmt.Append(dst, b)
	}
	return dst, nil
}

// MarshalText is [Configuration.AppendText] for JSON, YAML and the like.
func (c Configuration) MarshalText() ([]byte, error) { return c.AppendText(nil) }

// UnmarshalText is [Parse].
func (c *Configuration) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*c = parsed
	}
	return err
}
