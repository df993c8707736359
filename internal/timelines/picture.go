package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// picture is an SVG in the making. Its lengths are tenths of a pixel.
type picture struct{ b bytes.Buffer }

// style has both schemes; the card behind makes either readable on any page.
// No fonts are fetched.
const style = `
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.code { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12.5px }
.note, .label { fill: #59636e }
.count, .refill { font-weight: 600 }
.big { font-size: 26px; font-weight: 600 }
.middle { text-anchor: middle }
.end { text-anchor: end }
line, path { fill: none }
.card { fill: #ffffff; stroke: #d1d9e0 }
.grid { stroke: #d1d9e0 }
.tick { stroke: #eaeef2 }
.boundary { stroke: #8250df; stroke-dasharray: 4 3 }
.refill { fill: #8250df }
.rate { stroke: #59636e; stroke-dasharray: 2 3 }
.level { stroke: #0969da; stroke-width: 2; stroke-linejoin: round }
.area { fill: #ddf4ff }
.granted { stroke: #1a7f37; stroke-width: 2 }
.refused { stroke: #cf222e; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.note, .label { fill: #9198a1 }
.card { fill: #0d1117; stroke: #3d444d }
.grid { stroke: #3d444d }
.tick { stroke: #262c36 }
.boundary { stroke: #ab7df8 }
.refill { fill: #ab7df8 }
.rate { stroke: #9198a1 }
.level { stroke: #4493f8 }
.area { fill: #122d4f }
.granted { stroke: #3fb950 }
.refused { stroke: #f85149 }
}
`

func newPicture(width, height int64, title, description string) *picture {
	p := &picture{}
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %v %v" width="%v" height="%v" role="img" aria-labelledby="title desc">`+"\n",
		px(width), px(height), px(width), px(height))
	fmt.Fprintf(&p.b, "<!-- made by go run ./internal/timelines -->\n")
	fmt.Fprintf(&p.b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", escape(title), escape(description), style)
	fmt.Fprintf(&p.b, `<rect class="card" x="0.5" y="0.5" width="%v" height="%v" rx="8"/>`+"\n", px(width-10), px(height-10))
	return p
}

func (p *picture) bytes() []byte {
	p.b.WriteString("</svg>\n")
	return p.b.Bytes()
}

func (p *picture) text(x, y int64, class, text string) {
	fmt.Fprintf(&p.b, `<text class="%s" x="%v" y="%v">%s</text>`+"\n", class, px(x), px(y), escape(text))
}

func (p *picture) line(x1, y1, x2, y2 int64, class string) {
	fmt.Fprintf(&p.b, `<line class="%s" x1="%v" y1="%v" x2="%v" y2="%v"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (p *picture) path(class, d string) {
	fmt.Fprintf(&p.b, `<path class="%s" d="%s"/>`+"\n", class, d)
}

// steps draws the level: it holds from one change to the next.
func (p *picture) steps(t *timeline, x, y axis) {
	var d strings.Builder
	for i, l := range t.levels {
		if i == 0 {
			fmt.Fprintf(&d, "M%v %v", px(x.of(int64(l.at))), px(y.of(l.tokens)))
			continue
		}
		fmt.Fprintf(&d, "H%vV%v", px(x.of(int64(l.at))), px(y.of(l.tokens)))
	}
	fmt.Fprintf(&d, "H%v", px(x.of(int64(t.until))))
	p.path("area", fmt.Sprintf("%sV%vH%vZ", d.String(), px(y.of(0)), px(x.of(0))))
	p.path("level", d.String())
}

// marks draws a stroke for each try that was granted, or was not.
func (p *picture) marks(t *timeline, granted bool, x axis, top int64, class string) {
	var d strings.Builder
	for _, try := range t.tries {
		if try.granted == granted {
			fmt.Fprintf(&d, "M%v %vv%v", px(x.of(int64(try.at))), px(top), px(markHeight))
		}
	}
	p.path(class, d.String())
}

// axis maps 0 to a length onto the way between two places.
type axis struct{ from, to, length int64 }

func (a axis) of(v int64) int64 { return a.from + (a.to-a.from)*v/a.length }

// px is a length in tenths of a pixel, as SVG has it.
type px int64

func (l px) String() string {
	if l%10 == 0 {
		return fmt.Sprint(int64(l) / 10)
	}
	return fmt.Sprintf("%d.%d", l/10, l%10)
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}
