package redis

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
	"sync"
	"text/template"

	"github.com/sluice-go/sluice/bandwidth"
	"github.com/sluice-go/sluice/bucket"
)

//go:embed scripts/*.lua
var files embed.FS

var templates = template.Must(template.ParseFS(files, "scripts/*.lua"))

// Script is a Lua script with one key.
type Script struct {
	Source string
	SHA1   string // in hex, as EVALSHA wants it
}

// shape is all that a script's text depends on. Few differ within a program,
// and each is made once.
type shape struct {
	file        string
	clientClock bool
	versioned   bool
	start       start
	runs        bool   // several takes at once
	bandwidths  string // a letter each, see letter
}

// start is how a script gets at a new bucket.
type start uint8

const (
	startsFull  start = iota
	startsGiven       // its bytes are an argument
	startsInGo        // what it holds depends on the clock in a way that only Go knows
)

var rendered sync.Map // shape -> *Script

// script renders the script of a shape.
func (s shape) script() *Script {
	if known, ok := rendered.Load(s); ok {
		return known.(*Script)
	}
	data := scriptData{
		ClientClock: s.clientClock, Versioned: s.versioned, Runs: s.runs,
		Full: s.start == startsFull, Given: s.start == startsGiven, Unborn: s.start == startsInGo,
		Numbers: 1, Next: 2,
	}
	data.Bare = data.Full && !s.versioned
	if data.Given {
		data.Next++
	}
	if s.versioned {
		data.Numbers++
	}
	for i, letter := range s.bandwidths {
		kind := strings.ToLower(string(letter))
		b := scriptBandwidth{I: i + 1, Interval: kind != "g", Aligned: kind == "a", Named: kind != string(letter)}
		data.Bandwidths = append(data.Bandwidths, b)
		data.Numbers += b.numbers()
	}
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, s.file, data); err != nil {
		panic(err) // the templates are part of the program
	}
	sum := sha1.Sum([]byte(text.String()))
	known, _ := rendered.LoadOrStore(s, &Script{text.String(), hex.EncodeToString(sum[:])})
	return known.(*Script)
}

type scriptData struct {
	ClientClock         bool
	Versioned           bool
	Runs                bool
	Full, Given, Unborn bool // see start
	Bare                bool // a full bucket says no more than an absent key
	Next                int  // what in ARGV comes after the bytes
	Numbers             int  // how many values follow the count of bandwidths, last and ids included
	Bandwidths          []scriptBandwidth
}

type scriptBandwidth struct {
	I                        int
	Interval, Aligned, Named bool
}

// numbers is how many values a bandwidth and its level take: capacity, rate and
// den, tokens and rem, and perhaps id and phase.
func (b scriptBandwidth) numbers() int {
	n := 5
	if b.Aligned {
		n++
	}
	if b.Named {
		n++
	}
	return n
}

// letter is the shape of one bandwidth: its kind, a capital if it has an id.
func letter(b bandwidth.Bandwidth) string {
	l := map[bandwidth.Kind]string{
		bandwidth.KindGreedy: "g", bandwidth.KindInterval: "i", bandwidth.KindAligned: "a",
	}[b.Refill().Kind()]
	if b.ID() != "" {
		return strings.ToUpper(l)
	}
	return l
}

// letters is the shape of a configuration.
func letters(c bucket.Configuration) string {
	var s strings.Builder
	for _, b := range c.Bandwidths() {
		s.WriteString(letter(b))
	}
	return s.String()
}
