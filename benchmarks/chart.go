package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart shows one figure of all who did a work, as horizontal bars.
type chart struct {
	file, title string
	suite, work string
	field       func(sample) float64
	format      string // of a figure
}

var colours = map[role]color.Color{
	floor: color.Gray{170},
	rival: color.RGBA{224, 148, 72, 255},
	ours:  color.RGBA{52, 110, 180, 255},
}

// draw writes the charts beside the page.
func (r *results) charts(page string) error {
	dir := filepath.Join(filepath.Dir(page), "img", "benchmarks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range chapters() {
		for _, chart := range c.charts {
			if err := r.bars(chart, filepath.Join(dir, chart.file+".svg")); err != nil {
				return fmt.Errorf("%s: %w", chart.file, err)
			}
		}
	}
	return nil
}

const (
	barHeight = 14 // points
	// fixed is the one kind of font whose letters are as wide on whatever machine the picture is looked at.
	fixed = "Mono"
)

func (r *results) bars(c chart, file string) error {
	rows := r.contenders(c.suite, c.work)
	p := plot.New()
	p.Title.Text = c.title
	p.Title.Padding = 8
	p.BackgroundColor = color.White
	names := make([]string, len(rows))
	var ends plotter.XYLabels
	most := 0.0
	for i, of := range rows {
		place := len(rows) - 1 - i // the first is at the top
		names[place] = of.contender
		value := r.figure(of, c.field)
		if math.IsNaN(value) {
			continue
		}
		most = max(most, value)
		bar, err := plotter.NewBarChart(plotter.Values{value}, barHeight)
		if err != nil {
			return err
		}
		bar.Horizontal, bar.XMin, bar.Color, bar.LineStyle.Width = true, float64(place), colours[r.roles[of]], 0
		p.Add(bar)
		ends.XYs = append(ends.XYs, plotter.XY{X: value, Y: float64(place)})
		ends.Labels = append(ends.Labels, fmt.Sprintf(" "+c.format, value))
	}
	if len(ends.Labels) > 0 {
		labels, err := plotter.NewLabels(ends)
		if err != nil {
			return err
		}
		for i := range labels.TextStyle {
			labels.TextStyle[i].YAlign = draw.YCenter
			labels.TextStyle[i].Font.Variant = fixed
		}
		p.Add(labels)
	}
	p.NominalY(names...)
	p.X.Min, p.X.Max = 0, most*1.12
	p.HideX()
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.Y.Tick.Label.Font} {
		f.Variant = fixed
	}
	return save(p, 22*vg.Centimeter, vg.Length(len(rows))*(barHeight+8)+60, file)
}

// save writes a picture with a margin, since texts may come out a little larger than they were reckoned.
func save(p *plot.Plot, width, height vg.Length, file string) error {
	const margin = 10
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, margin, -margin, margin, -margin))
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(to)
	return errors.Join(err, to.Close())
}
