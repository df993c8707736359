package main

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// spread empties the timings and sums them up.
func (t *timings) spread() spread {
	t.mu.Lock()
	all := t.all
	t.all = make([]time.Duration, 0, len(all))
	t.mu.Unlock()
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{all[len(all)/2], all[len(all)*99/100], all[len(all)*999/1000]}
}

// table is the run in a few lines, in Markdown.
func (s *soak) table() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| time | keys held | heap, MiB | goroutines | takes a second | p50 | p99 | p99.9 |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|---|")
	interval := s.length / time.Duration(len(s.samples))
	for i, x := range s.samples {
		if (i+1)%(len(s.samples)/10) == 0 {
			rate := float64(x.takes) / interval.Seconds()
			fmt.Fprintf(&b, "| %v | %d | %.1f | %d | %.0f | %v | %v | %v |\n", x.at.Round(time.Second), x.held, mebi(x.heap), x.goroutines,
				rate, x.spread.half, x.spread.most, x.spread.nearlyAll)
		}
	}
	return b.String()
}

func mebi(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// line is one of a panel's.
type line struct {
	name   string
	colour color.Color
	value  func(sample) float64
}

var (
	blue   = color.RGBA{52, 110, 180, 255}
	orange = color.RGBA{224, 148, 72, 255}
	grey   = color.Gray{140}
)

// draw writes the chart: memory above, times below.
func (s *soak) draw(file string) error {
	memory, err := s.panel("Keys and memory",
		line{"keys held, ten thousands", orange, func(x sample) float64 { return float64(x.held) / 10_000 }},
		line{"heap in use, MiB", blue, func(x sample) float64 { return mebi(x.heap) }},
		line{"goroutines", grey, func(x sample) float64 { return float64(x.goroutines) }},
	)
	if err != nil {
		return err
	}
	micros := func(d time.Duration) float64 { return max(float64(d)/1000, 0.01) }
	times, err := s.panel("How long a take takes, microseconds",
		line{"99.9 % of them at most", orange, func(x sample) float64 { return micros(x.spread.nearlyAll) }},
		line{"99 %", blue, func(x sample) float64 { return micros(x.spread.most) }},
		line{"half of them", grey, func(x sample) float64 { return micros(x.spread.half) }},
	)
	if err != nil {
		return err
	}
	times.Y.Scale, times.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	times.Y.Min, times.Y.Max = 0.1, times.Y.Max*10
	times.X.Label.Text = "seconds"

	canvas := vgsvg.New(20*vg.Centimeter, 15*vg.Centimeter)
	panels := [][]*plot.Plot{{memory}, {times}}
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadX: 8, PadY: 8, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 16}
	for i, row := range plot.Align(panels, tiles, draw.New(canvas)) {
		panels[i][0].Draw(row[0])
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(out); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

func (s *soak) panel(title string, lines ...line) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.BackgroundColor = title, color.White
	p.Title.Padding = 6
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding, p.Legend.TextStyle.Font.Size = vg.Points(2), vg.Points(9)
	p.X.Min, p.X.Max, p.Y.Min = 0, s.length.Seconds(), 0
	p.Add(plotter.NewGrid())
	most := 0.0
	for _, l := range lines {
		points := make(plotter.XYs, len(s.samples))
		for i, x := range s.samples {
			points[i] = plotter.XY{X: x.at.Seconds(), Y: l.value(x)}
			most = max(most, points[i].Y)
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		drawn.Color, drawn.Width = l.colour, vg.Points(1.2)
		p.Add(drawn)
		p.Legend.Add(l.name, drawn)
	}
	p.X.Max, p.Y.Max = s.length.Seconds(), most*1.4 // room for the legend
	return p, nil
}
