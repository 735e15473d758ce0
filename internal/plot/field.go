package plot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
)

// Field is a figure of quantities over a part of the plane, one panel each, all
// with the same colors: from dark blue for the lowest to yellow for the
// highest, with contour lines at the ticks of the color bar.
type Field struct {
	Title          string
	XLabel, YLabel string
	// Scale is the name and unit of what the colors stand for.
	Scale string
	// X and Y are the ranges of the plane that the panels show.
	X, Y   [2]float64
	Panels []FieldPanel
	// Lo and Hi are the ends of the colors, if they differ; values beyond have
	// the colors of the ends. Otherwise all values are between them.
	Lo, Hi float64
	// Columns is how many panels stand side by side; 0 means up to 4.
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

// draw implements [Figure].
func (d Field) draw(c *canvas) error {
	lo, hi, err := d.check()
	if err != nil {
		return err
	}
	columns := cmp.Or(max(0, d.Columns), min(4, len(d.Panels)))
	rows := (len(d.Panels) + columns - 1) / columns

	// Room is left for the numbers at both sides, whatever they are.
	probe := vertical(d.Y[0], d.Y[1], 100, 0)
	left := probe.roomY(d.YLabel)
	right := margin + barWidth + labelOffset + textWidth("≥ "+vertical(lo, hi, 200, 0).label(hi), tickSize) + 14
	if d.Scale != "" {
		right += textSize + 8
	}
	wide := (figureWidth - left - right - fieldGap*float64(columns-1)) / float64(columns)
	wide = min(wide, fieldMaxSide, fieldMaxSide*(d.X[1]-d.X[0])/(d.Y[1]-d.Y[0]))
	high := wide * (d.Y[1] - d.Y[0]) / (d.X[1] - d.X[0])

	c.rules = contourRules
	head := lineHeight // above each panel
	for _, p := range d.Panels {
		if p.Note != "" {
			head = 2*lineHeight - 4
		}
	}
	c.begin(d.Title, nil, 0)
	below := tickSize + 5 + 4 // the numbers below each row
	rowHigh := head + high + below
	bar := vertical(lo, hi, min(float64(rows)*rowHigh-below, head+fieldMaxSide), head)
	for i, p := range d.Panels {
		x0 := left + float64(i%columns)*(wide+fieldGap)
		y0 := float64(i/columns)*rowHigh + head
		f := frame{x: spaced(d.X[0], d.X[1], x0, x0+wide, niceStep((d.X[1]-d.X[0])/10)), y: vertical(d.Y[0], d.Y[1], y0+high, y0)}
		if err := d.panel(c, f, p, lo, hi, bar.ticks()); err != nil {
			return err
		}
		c.open("muted")
		f.x.labelsX(c, f.y.start)
		if i%columns == 0 {
			f.y.labelsY(c, f.x.start)
		}
		c.close()
	}
	end := float64(rows)*rowHigh - 4
	edge := left + float64(columns)*wide + fieldGap*float64(columns-1)
	c.open("muted")
	if d.YLabel != "" {
		c.textUp("middle", point{margin + 0.8*textSize, end / 2}, fit(d.YLabel, textSize, end))
	}
	if d.XLabel != "" {
		end += textSize + 8
		c.text("middle", point{(left + edge) / 2, end}, fit(d.XLabel, textSize, edge-left))
	}
	c.close()
	if err := d.colorBar(c, edge+14, bar); err != nil {
		return err
	}
	return c.finish(end, cmp.Or(d.Title, d.Scale), d.description())
}

// check returns the ends of the colors.
func (d Field) check() (lo, hi float64, err error) {
	if len(d.Panels) == 0 {
		return 0, 0, errors.New("no panels")
	}
	if !(d.X[0] < d.X[1] && d.Y[0] < d.Y[1]) {
		return 0, 0, fmt.Errorf("the plane from %v to %v, %v to %v is empty", d.X[0], d.X[1], d.Y[0], d.Y[1])
	}
	all := emptySpan()
	for _, p := range d.Panels {
		if len(p.Values) < 2 || len(p.Values[0]) < 2 {
			return 0, 0, fmt.Errorf("panel %q has no grid of at least 2 × 2 values", p.Title)
		}
		for _, row := range p.Values {
			if len(row) != len(p.Values[0]) {
				return 0, 0, fmt.Errorf("panel %q has rows of %d and of %d values", p.Title, len(p.Values[0]), len(row))
			}
			for _, v := range row {
				if !finite(v) {
					return 0, 0, fmt.Errorf("panel %q has a value %v", p.Title, v)
				}
			}
			all.add(row...)
		}
	}
	if d.Lo < d.Hi {
		return d.Lo, d.Hi, nil
	}
	if all.lo == all.hi {
		return all.lo, all.lo + 1, nil
	}
	return all.lo, all.hi, nil
}

// panel draws a field with its contour lines, its title and its note.
func (d Field) panel(c *canvas, f frame, p FieldPanel, lo, hi float64, levels []float64) error {
	file, err := fieldPicture(p.Values, int(fieldPixels*(f.x.end-f.x.start)),
		int(fieldPixels*(f.y.start-f.y.end)), lo, hi)
	if err != nil {
		return err
	}
	wide := f.x.end - f.x.start
	c.picture(file, f.x.start, f.y.end, wide, f.y.start-f.y.end)
	rows, columns := float64(len(p.Values)-1), float64(len(p.Values[0])-1)
	for _, level := range levels {
		if level <= lo || level >= hi {
			continue
		}
		var lines [][]point
		for _, line := range contours(p.Values, level) {
			for k, at := range line {
				line[k] = point{f.x.start + wide*at.x/columns, f.y.start + (f.y.end-f.y.start)*at.y/rows}
			}
			if line = simplify(line, 0.1); len(line) > 1 {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			class := "contour pale" // on dark colors
			if level > lo+0.55*(hi-lo) {
				class = "contour"
			}
			c.curve(class, lines...)
		}
	}
	c.line("rule", point{f.x.start, f.y.start}, point{f.x.end, f.y.start})
	y := f.y.end - 7
	if p.Note != "" {
		c.open("muted")
		c.text("tick", point{f.x.start, y}, fit(p.Note, tickSize, wide))
		c.close()
		y -= lineHeight - 5
	}
	c.text("key", point{f.x.start, y}, fit(p.Title, textSize, wide))
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
func (d Field) colorBar(c *canvas, x float64, a axis) error {
	lo, hi := a.lo, a.hi
	file, err := fieldPicture([][]float64{{lo, lo}, {hi, hi}}, 1, colorSteps, lo, hi)
	if err != nil {
		return err
	}
	c.picture(file, x, a.end, barWidth, a.start-a.end)
	beyond := span{lo, hi}
	for _, p := range d.Panels {
		for _, row := range p.Values {
			beyond.add(row...)
		}
	}
	c.open("muted")
	defer c.close()
	for _, v := range a.ticks() {
		label := a.label(v)
		switch {
		case math.Abs(v-hi) < 1e-9*(hi-lo) && beyond.hi > hi:
			label = "≥ " + label
		case math.Abs(v-lo) < 1e-9*(hi-lo) && beyond.lo < lo:
			label = "≤ " + label
		}
		c.line("rule", point{x + barWidth, a.pixel(v)}, point{x + barWidth + 4, a.pixel(v)})
		c.text("tick", point{x + barWidth + labelOffset, a.pixel(v) + 0.36*tickSize}, label)
	}
	if d.Scale != "" {
		right := x + barWidth + labelOffset + textWidth("≥ "+a.label(hi), tickSize) + textSize
		c.textUp("middle", point{right, (a.start + a.end) / 2}, fit(d.Scale, textSize, a.start-a.end+30))
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
