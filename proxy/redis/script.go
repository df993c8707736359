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
	runs        bool   // several takes at once
	bandwidths  string // a letter each, see letter
}

var rendered sync.Map // shape -> *Script

// script renders the script of a shape.
func (s shape) script() *Script {
	if known, ok := rendered.Load(s); ok {
		return known.(*Script)
	}
	data := scriptData{ClientClock: s.clientClock, Versioned: s.versioned, Runs: s.runs}
	for i, letter := range s.bandwidths {
		kind := strings.ToLower(string(letter))
		data.Bandwidths = append(data.Bandwidths, scriptBandwidth{
			I: i + 1, Interval: kind != "g", Aligned: kind == "a", Named: kind != string(letter),
		})
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
	ClientClock bool
	Versioned   bool
	Runs        bool
	Bandwidths  []scriptBandwidth
}

type scriptBandwidth struct {
	I                        int
	Interval, Aligned, Named bool
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
