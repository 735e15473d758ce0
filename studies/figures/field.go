package figures

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"
	"strings"

	"credence/internal/plot"
)

// Field is a figure of quantities over a part of the plane, one panel each, all
// with the same colors: from dark blue for the lowest to yellow for the
// highest, with contour lines at the ticks of the color bar.
type Field struct {
	Title          string
	XLabel, YLabel string
	// Scale is the name and unit of the quantity that the colors show.
	Scale string
	// X and Y are the ranges of the plane that the panels show.
	X, Y   [2]float64
	Panels []FieldPanel
	// Lo and Hi are the ends of the colors, if they differ; values beyond have
	// the colors of the ends. Otherwise all values are between them.
	Lo, Hi float64
	// Columns is the number of panels side by side; 0 means up to 4.
	Columns int
}

// FieldPanel is a quantity at the nodes of a grid.
type FieldPanel struct {
	Title string
	Note  string // a line below the title
	// Values [rows][columns] go from the least y to the greatest, and from the
	// least x to the greatest.
	Values [][]float64
}

const (
	fieldGap     = 20.0 // between panels
	barWidth     = 12.0
	fieldMaxSide = 300.0
	// fieldPixels is how many pixels of a field's picture there are to a pixel of
	// the figure.
	fieldPixels = 2
)

// contourRules are the same on light and dark pages, as the fields below are.
const contourRules = `.credence .contour{fill:none;stroke:#000;stroke-opacity:.5;stroke-width:.7px;stroke-linejoin:round}
.credence .pale{stroke:#fff}
`

// Draw implements [plot.Figure].
func (d Field) Draw(c *plot.Canvas) error {
	lo, hi, err := d.check()
	if err != nil {
		return err
	}
	columns := cmp.Or(max(0, d.Columns), min(4, len(d.Panels)))
	rows := (len(d.Panels) + columns - 1) / columns

	// Room is left for the numbers at both sides, whatever they are.
	probe := plot.Vertical(d.Y[0], d.Y[1], 100, 0)
	left := probe.RoomY(d.YLabel)
	right := plot.Margin + barWidth + plot.LabelOffset + plot.TextWidth("≥ "+plot.Vertical(lo, hi, 200, 0).Label(hi), plot.TickSize) + 14
	if d.Scale != "" {
		right += plot.TextSize + 8
	}
	wide := (plot.FigureWidth - left - right - fieldGap*float64(columns-1)) / float64(columns)
	wide = min(wide, fieldMaxSide, fieldMaxSide*(d.X[1]-d.X[0])/(d.Y[1]-d.Y[0]))
	high := wide * (d.Y[1] - d.Y[0]) / (d.X[1] - d.X[0])

	c.Rules = contourRules
	head := plot.LineHeight // above each panel
	for _, p := range d.Panels {
		if p.Note != "" {
			head = 2*plot.LineHeight - 4
		}
	}
	c.Begin(d.Title, nil, 0)
	below := plot.TickSize + 5 + 4 // the numbers below each row
	rowHigh := head + high + below
	bar := plot.Vertical(lo, hi, min(float64(rows)*rowHigh-below, head+fieldMaxSide), head)
	for i, p := range d.Panels {
		x0 := left + float64(i%columns)*(wide+fieldGap)
		y0 := float64(i/columns)*rowHigh + head
		f := plot.Frame{
			X: plot.Spaced(d.X[0], d.X[1], x0, x0+wide, plot.NiceStep((d.X[1]-d.X[0])/10)),
			Y: plot.Vertical(d.Y[0], d.Y[1], y0+high, y0),
		}
		if err := d.panel(c, f, p, lo, hi, bar.Ticks()); err != nil {
			return err
		}
		c.Open("muted")
		f.X.LabelsX(c, f.Y.Start)
		if i%columns == 0 {
			f.Y.LabelsY(c, f.X.Start)
		}
		c.Close()
	}
	end := float64(rows)*rowHigh - 4
	edge := left + float64(columns)*wide + fieldGap*float64(columns-1)
	c.Open("muted")
	if d.YLabel != "" {
		c.TextUp("middle", xy(plot.Margin+0.8*plot.TextSize, end/2), plot.Fit(d.YLabel, plot.TextSize, end))
	}
	if d.XLabel != "" {
		end += plot.TextSize + 8
		c.Text("middle", xy((left+edge)/2, end), plot.Fit(d.XLabel, plot.TextSize, edge-left))
	}
	c.Close()
	if err := d.colorBar(c, edge+14, bar); err != nil {
		return err
	}
	return c.Finish(end, cmp.Or(d.Title, d.Scale), d.description())
}

// check returns the ends of the colors.
func (d Field) check() (lo, hi float64, err error) {
	if len(d.Panels) == 0 {
		return 0, 0, errors.New("no panels")
	}
	if !(d.X[0] < d.X[1] && d.Y[0] < d.Y[1]) {
		return 0, 0, fmt.Errorf("the plane from %v to %v, %v to %v is empty", d.X[0], d.X[1], d.Y[0], d.Y[1])
	}
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, p := range d.Panels {
		if len(p.Values) < 2 || len(p.Values[0]) < 2 {
			return 0, 0, fmt.Errorf("panel %q has no grid of at least 2 × 2 values", p.Title)
		}
		for _, row := range p.Values {
			if len(row) != len(p.Values[0]) {
				return 0, 0, fmt.Errorf("panel %q has rows of %d and of %d values", p.Title, len(p.Values[0]), len(row))
			}
			for _, v := range row {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return 0, 0, fmt.Errorf("panel %q: expected finite values, found %v", p.Title, v)
				}
			}
			least, greatest = min(least, slices.Min(row)), max(greatest, slices.Max(row))
		}
	}
	if d.Lo < d.Hi {
		return d.Lo, d.Hi, nil
	}
	if least == greatest {
		return least, least + 1, nil
	}
	return least, greatest, nil
}

// panel draws a field with its contour lines, its title and its note.
func (d Field) panel(c *plot.Canvas, f plot.Frame, p FieldPanel, lo, hi float64, levels []float64) error {
	file, err := fieldPicture(p.Values, int(fieldPixels*(f.X.End-f.X.Start)),
		int(fieldPixels*(f.Y.Start-f.Y.End)), lo, hi)
	if err != nil {
		return err
	}
	wide := f.X.End - f.X.Start
	c.Picture(file, f.X.Start, f.Y.End, wide, f.Y.Start-f.Y.End)
	rows, columns := float64(len(p.Values)-1), float64(len(p.Values[0])-1)
	for _, level := range levels {
		if level <= lo || level >= hi {
			continue
		}
		var lines [][]plot.Point
		for _, line := range contours(p.Values, level) {
			for k, at := range line {
				line[k] = xy(f.X.Start+wide*at.X/columns, f.Y.Start+(f.Y.End-f.Y.Start)*at.Y/rows)
			}
			if line = plot.Simplify(line, 0.1); len(line) > 1 {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			class := "contour pale" // on dark colors
			if level > lo+0.55*(hi-lo) {
				class = "contour"
			}
			c.Curve(class, lines...)
		}
	}
	c.Line("rule", xy(f.X.Start, f.Y.Start), xy(f.X.End, f.Y.Start))
	y := f.Y.End - 7
	if p.Note != "" {
		c.Open("muted")
		c.Text("tick", xy(f.X.Start, y), plot.Fit(p.Note, plot.TickSize, wide))
		c.Close()
		y -= plot.LineHeight - 5
	}
	c.Text("key", xy(f.X.Start, y), plot.Fit(p.Title, plot.TextSize, wide))
	return nil
}

// fieldPicture returns a field as a PNG file of the given size.
func fieldPicture(values [][]float64, wide, high int, lo, hi float64) ([]byte, error) {
	img := image.NewPaletted(image.Rect(0, 0, wide, high), palette())
	rows, columns := float64(len(values)-1), float64(len(values[0])-1)
	for py := range high {
		y := rows * (1 - (float64(py)+0.5)/float64(high))
		for px := range wide {
			x := columns * (float64(px) + 0.5) / float64(wide)
			img.Pix[py*img.Stride+px] = colorStep(bilinear(values, x, y), lo, hi)
		}
	}
	var file bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&file, img); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// colorBar draws the scale of the colors at x.
func (d Field) colorBar(c *plot.Canvas, x float64, a plot.Axis) error {
	lo, hi := a.Lo, a.Hi
	file, err := fieldPicture([][]float64{{lo, lo}, {hi, hi}}, 1, colorSteps, lo, hi)
	if err != nil {
		return err
	}
	c.Picture(file, x, a.End, barWidth, a.Start-a.End)
	below, above := false, false // values outside the scale
	for _, p := range d.Panels {
		for _, row := range p.Values {
			below, above = below || slices.Min(row) < lo, above || slices.Max(row) > hi
		}
	}
	c.Open("muted")
	defer c.Close()
	for _, v := range a.Ticks() {
		label := a.Label(v)
		switch {
		case math.Abs(v-hi) < 1e-9*(hi-lo) && above:
			label = "≥ " + label
		case math.Abs(v-lo) < 1e-9*(hi-lo) && below:
			label = "≤ " + label
		}
		c.Line("rule", xy(x+barWidth, a.Pixel(v)), xy(x+barWidth+4, a.Pixel(v)))
		c.Text("tick", xy(x+barWidth+plot.LabelOffset, a.Pixel(v)+0.36*plot.TickSize), label)
	}
	if d.Scale != "" {
		right := x + barWidth + plot.LabelOffset + plot.TextWidth("≥ "+a.Label(hi), plot.TickSize) + plot.TextSize
		c.TextUp("middle", xy(right, (a.Start+a.End)/2), plot.Fit(d.Scale, plot.TextSize, a.Start-a.End+30))
	}
	return nil
}

// description puts the panels into words: where each is highest.
func (d Field) description() string {
	var sentences []string
	for _, p := range d.Panels {
		rows, columns := len(p.Values), len(p.Values[0])
		row, column := 0, 0
		least := math.Inf(1)
		for i := range p.Values {
			for j, v := range p.Values[i] {
				if v > p.Values[row][column] {
					row, column = i, j
				}
				least = min(least, v)
			}
		}
		x := d.X[0] + (d.X[1]-d.X[0])*float64(column)/float64(columns-1)
		y := d.Y[0] + (d.Y[1]-d.Y[0])*float64(row)/float64(rows-1)
		sentences = append(sentences, fmt.Sprintf("%s: from %.3g to %.3g, highest at (%.3g, %.3g).",
			p.Title, least, p.Values[row][column], x, y))
	}
	return strings.Join(sentences, " ")
}
