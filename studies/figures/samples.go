package figures

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"credence/internal/plot"
)

// Samples is a figure of items in the plane, in groups that differ in color
// and in the shape of their marks. Both axes have the same scale.
type Samples struct {
	Title          string
	XLabel, YLabel string
	X, Y           [2]float64 // the range of the plane to show; items outside are counted in a note
	Groups         []plot.ScatterGroup
}

const (
	samplesSide   = 420.0
	samplesLegend = 240.0
	sampleSize    = 2.6 // half the width of a mark
)

// Draw implements [plot.Figure].
func (d Samples) Draw(c *plot.Canvas) error {
	if !(d.X[0] < d.X[1] && d.Y[0] < d.Y[1]) {
		return fmt.Errorf("the plane from %v to %v, %v to %v is empty", d.X[0], d.X[1], d.Y[0], d.Y[1])
	}
	off := func(p [2]float64) bool {
		return !(p[0] >= d.X[0] && p[0] <= d.X[1] && p[1] >= d.Y[0] && p[1] <= d.Y[1])
	}
	shown, total, outside := slices.Clone(d.Groups), 0, 0
	type entry struct {
		text   string
		symbol func(at plot.Point)
	}
	var legend []entry
	var words []string
	for i, g := range d.Groups {
		shown[i].Points = slices.DeleteFunc(slices.Clone(g.Points), off)
		total += len(shown[i].Points)
		outside += len(g.Points) - len(shown[i].Points)
		text := fmt.Sprintf("%s (%d)", g.Label, len(g.Points))
		words = append(words, text)
		legend = append(legend, entry{text, func(at plot.Point) {
			drawSample(c, i, xy(at.X+plot.SymbolWidth/2, at.Y), 1.6*sampleSize)
		}})
	}
	if total == 0 {
		return errors.New("no points")
	}
	if outside > 0 {
		legend = append(legend, entry{fmt.Sprintf("outside: %d", outside), func(plot.Point) {}})
	}
	f := d.frame()
	c.Begin(d.Title, nil, plot.HeaderGap)
	end := f.Draw(c)
	for i, k := range legend { // next to the panel, which is square
		at := xy(f.X.End+plot.KeyGap, plot.LineHeight*(float64(i)+0.5))
		k.symbol(at)
		at.X += plot.SymbolWidth + plot.SymbolGap
		c.Text("key", xy(at.X, at.Y+0.36*plot.TextSize), plot.Fit(k.text, plot.TextSize, plot.FigureWidth-plot.Margin-at.X))
	}
	end = max(end, plot.LineHeight*float64(len(legend)))
	for group, p := range plot.Shuffled(shown) {
		drawSample(c, group, f.Place(p[0], p[1]), sampleSize)
	}
	return c.Finish(end, cmp.Or(d.Title, "Items in the plane"), "Items: "+strings.Join(words, ", ")+".")
}

// frame lays the panel out with one scale for both axes, as large as the legend
// next to it allows.
func (d Samples) frame() plot.Frame {
	f := plot.Frame{XLabel: d.XLabel, YLabel: d.YLabel}
	high, wide := samplesSide, samplesSide*(d.X[1]-d.X[0])/(d.Y[1]-d.Y[0])
	f.Y = plot.Vertical(d.Y[0], d.Y[1], high, 0)
	if room := plot.FigureWidth - f.Y.RoomY(d.YLabel) - samplesLegend; wide > room {
		high, wide = high*room/wide, room
		f.Y = plot.Vertical(d.Y[0], d.Y[1], high, 0)
	}
	left := f.Y.RoomY(d.YLabel)
	f.X = plot.Horizontal(d.X[0], d.X[1], left, left+wide)
	return f
}

// drawSample draws the mark of a group: a dot, a triangle, a square, in turn.
func drawSample(c *plot.Canvas, group int, at plot.Point, size float64) {
	class := plot.Series(group) + " solid"
	switch group % 3 {
	case 0:
		c.Dot(class, at, size)
	case 1:
		up, side := 1.3*size, 1.15*size
		c.Polygon(class, []plot.Point{xy(at.X, at.Y-up), xy(at.X+side, at.Y+0.7*up), xy(at.X-side, at.Y+0.7*up)})
	default:
		s := 0.9 * size
		c.Rect(class, at.X-s, at.Y-s, 2*s, 2*s)
	}
}
