package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
	"credence/mixture"
)

// Density is a figure of one or more distributions of a probability: their
// densities over [0, 1], with highest-density sets shaded under the curves and,
// in rows below them, two-sided credible intervals as whiskers around the mean.
//
// Poles, and spikes that would make everything else too flat to see, are cut off
// at the top of the figure and marked. If the mass of all curves lies within a
// tenth of [0, 1], only that part is shown.
type Density struct {
	Title  string
	XLabel string // "probability" if empty
	Curves []Curve
	// Levels are those of the shaded sets and of the intervals, between 0 and 1.
	// Nil stands for 0.95; an empty slice for no sets and no intervals.
	Levels []float64
}

// Curve is one distribution in a [Density] figure.
type Curve struct {
	Label   string // the entry in the legend; none if empty
	Mixture *mixture.Beta
	// Resolution is the resolution of the intervals, see [mixture.Reported].
	Resolution float64
}

// Sizes of the parts of the figure, in pixels.
const (
	panelHeight = 190.0
	rowHeight   = 19.0
	densityCap  = 4.5 // half of the stroke that ends a whisker
)

// Draw implements [Figure]. A title and two curves take 364 pixels.
func (d Density) Draw(c *Canvas) error {
	levels, err := d.sortedLevels()
	if err != nil {
		return err
	}
	f := &densityFigure{Density: d, Frame: Frame{XLabel: cmp.Or(d.XLabel, "probability"), YLabel: "density"}, levels: levels}
	f.layOut(c.width)
	return c.Finish(f.drawAll(c), cmp.Or(d.Title, "Density of the "+f.Frame.XLabel), f.description())
}

// sortedLevels returns the levels in decreasing order, if the figure can be drawn.
func (d Density) sortedLevels() ([]float64, error) {
	if len(d.Curves) == 0 {
		return nil, errors.New("no curves")
	}
	for i, c := range d.Curves {
		if c.Mixture == nil || c.Mixture.K() == 0 {
			return nil, fmt.Errorf("curve %d (%q) has no mixture", i, c.Label)
		}
	}
	levels := slices.Clone(d.Levels)
	if levels == nil {
		levels = []float64{0.95}
	}
	for _, level := range levels {
		if !(level > 0 && level < 1) {
			return nil, fmt.Errorf("level is %v: it lies between 0 and 1", level)
		}
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	slices.Reverse(levels)
	return levels, nil
}

// densityFigure is a Density with its layout, in which y counts from the top of
// the panel with the curves.
type densityFigure struct {
	Density
	Frame
	levels []float64 // decreasing
	lines  [][]Point // one a curve
	pieces [][][]Point
	gaps   [][]float64 // where a curve is higher than the panel
}

// layOut finds the axes and traces the curves.
func (f *densityFigure) layOut(width float64) {
	tail := 0.001
	if len(f.levels) > 0 {
		tail = min(tail, (1-f.levels[0])/2)
	}
	lo, hi := probabilities(f.Curves, tail, f.levels)
	const headroom = 1.04 // so that the stroke of the highest peak is not cut
	f.Y = Vertical(0, headroom*densities(f.Curves, lo, hi), panelHeight, 0)

	f.layOutX(span{lo, hi}, width, f.sideRoom)

	for _, c := range f.Curves {
		line := trace(c.Mixture.PDF, f.X, f.Y, features(c.Mixture))
		pieces, gaps := below(line, f.Y.End)
		f.lines = append(f.lines, line)
		f.pieces = append(f.pieces, pieces)
		f.gaps = append(f.gaps, gaps)
	}
}

// sideRoom returns the distances from the edges of the card at which x must begin and
// end for its labels, and the numbers next to whiskers, to stay on it.
func (f *densityFigure) sideRoom() (left, right float64) {
	left, right = f.labelRoom()
	if len(f.levels) == 0 {
		return left, right
	}
	for _, c := range f.Curves {
		i := c.interval(f.levels[0])
		room := func(end float64) float64 {
			return Margin + LabelOffset + TextWidth(f.X.probability(end), TickSize)
		}
		left = max(left, room(i.Lo)-(f.X.Pixel(i.Lo)-f.X.Start))
		right = max(right, room(i.Hi)-(f.X.End-f.X.Pixel(i.Hi)))
	}
	return left, right
}

// drawAll returns the y at which the figure ends.
func (f *densityFigure) drawAll(c *Canvas) float64 {
	room := float64(HeaderGap)
	if f.cut() {
		room += 6 // for the arrows
	}
	c.Begin(f.Title, f.legend(), room)
	end := f.X.drawX(c, f.Frame.XLabel, f.Y.End, f.Y.Start+float64(len(f.Curves))*rowHeight+8)
	f.Y.drawY(c, f.YLabel, f.X.Start, f.X.End)
	c.Line("rule", Point{f.X.Start, f.Y.Start}, Point{f.X.End, f.Y.Start})
	for i := range f.Curves { // below all curves
		c.Open(Series(i))
		f.drawShades(c, i)
		c.Close()
	}
	for i := range f.Curves {
		c.Open(Series(i))
		c.Curve("curve", f.pieces[i]...)
		f.drawRow(c, i, f.Y.Start+4+rowHeight*(float64(i)+0.5))
		c.Close()
	}
	f.drawArrows(c)
	return end
}

// cut reports whether some curve is higher than the panel.
func (f *densityFigure) cut() bool {
	return slices.ContainsFunc(f.gaps, func(g []float64) bool { return len(g) > 0 })
}

// drawShades shades the highest-density sets of curve i. The sets of lower
// levels lie within those of higher ones, and so become darker.
func (f *densityFigure) drawShades(c *Canvas, i int) {
	for _, level := range f.levels {
		for _, set := range f.Curves[i].Mixture.HighestDensity(level) {
			area := between(f.lines[i], f.X.Pixel(set.Lo), f.X.Pixel(set.Hi))
			if len(area) < 2 {
				continue
			}
			for j := range area {
				area[j].Y = max(area[j].Y, f.Y.End)
			}
			area = Simplify(area, traceError)
			area = append(area, Point{area[len(area)-1].X, f.Y.Start}, Point{area[0].X, f.Y.Start})
			c.Polygon("shade", area)
		}
	}
}

// drawArrows marks where curves leave the panel, side by side if several leave
// at one place.
func (f *densityFigure) drawArrows(c *Canvas) {
	const width = 11
	var taken []float64
	for i, gaps := range f.gaps {
		c.Open(Series(i))
		for _, x := range gaps {
			step := float64(width)
			if x > (f.X.Start+f.X.End)/2 {
				step = -width
			}
			x = free(taken, x, step)
			if x >= f.X.Start && x <= f.X.End {
				taken = append(taken, x)
				drawArrow(c, Point{x, f.Y.End - 8})
			}
		}
		c.Close()
	}
}

// free returns the first place from x on, in steps, that is a step away from all
// that are taken.
func free(taken []float64, x, step float64) float64 {
	// A step away is not always a full step in floating-point numbers.
	least := math.Abs(step) * (1 - 1e-9)
	near := func(t float64) bool { return math.Abs(t-x) < least }
	for i := slices.IndexFunc(taken, near); i >= 0; i = slices.IndexFunc(taken, near) {
		x = taken[i] + step
	}
	return x
}

// drawArrow draws a triangle that points upwards.
func drawArrow(c *Canvas, at Point) {
	c.Polygon("solid", []Point{{at.X, at.Y - 4}, {at.X + 4.5, at.Y + 4}, {at.X - 4.5, at.Y + 4}})
}

// drawRow draws the intervals and the mean of curve i at the height y, and
// the ends of the widest interval in numbers.
func (f *densityFigure) drawRow(c *Canvas, i int, y float64) {
	spans := make([][2]float64, len(f.levels))
	for j, level := range f.levels {
		in := f.Curves[i].interval(level)
		spans[j] = [2]float64{f.X.Pixel(in.Lo), f.X.Pixel(in.Hi)}
		if j == 0 {
			c.Text("tick end halo", Point{spans[0][0] - LabelOffset, y + 0.36*TickSize}, f.X.probability(in.Lo))
			c.Text("tick halo", Point{spans[0][1] + LabelOffset, y + 0.36*TickSize}, f.X.probability(in.Hi))
		}
	}
	drawWhiskers(c, spans, y, densityCap)
	c.Dot("dot", Point{f.X.Pixel(f.Curves[i].Mixture.Mean()), y}, dotRadius)
}

// interval returns the two-sided credible interval. Its ends lie between 0 and
// 1, and are written as bounds if they round to them.
func (c *Curve) interval(level float64) mixture.Interval {
	i := c.Mixture.Reported(c.Resolution).Interval(mixture.TwoSided, level).Interval
	if c.Resolution > 0 {
		return i
	}
	inside := func(x float64) float64 { return min(max(x, math.SmallestNonzeroFloat64), 1-0x1p-53) }
	return mixture.Interval{Lo: inside(i.Lo), Hi: inside(i.Hi)}
}

// drawWhiskers draws intervals, the widest first, as lines of which each is
// thicker than the one before; the first has its ends marked with strokes of twice halfCap.
func drawWhiskers(c *Canvas, spans [][2]float64, y, halfCap float64) {
	for j, s := range spans {
		half := 0.75 + 1.5*float64(j)
		c.Rect("solid", s[0], y-half, max(0, s[1]-s[0]), 2*half)
		if j == 0 {
			c.Rect("solid", s[0]-half, y-halfCap, 2*half, 2*halfCap)
			c.Rect("solid", s[1]-half, y-halfCap, 2*half, 2*halfCap)
		}
	}
}

// legend returns an entry for each curve, then for the marks that all curves have.
func (f *densityFigure) legend() []key {
	var keys []key
	for i, curve := range f.Curves {
		if curve.Label != "" {
			keys = append(keys, lineKey(curve.Label, Series(i)))
		}
	}
	if len(f.levels) > 0 {
		keys = append(keys, key{f.each("highest-density set"), "muted", func(c *Canvas, at Point) {
			for j := range f.levels {
				inset := 5 * float64(j)
				c.Rect("shade", at.X+inset, at.Y-6, max(0, SymbolWidth-2*inset), 12)
			}
		}})
	}
	rows := "mean"
	if len(f.levels) > 0 {
		rows = f.each("two-sided interval") + ", mean"
	}
	keys = append(keys, key{rows, "muted", func(c *Canvas, at Point) {
		var spans [][2]float64
		for j := range f.levels {
			inset := 1 + 5*float64(j)
			spans = append(spans, [2]float64{at.X + inset, at.X + SymbolWidth - inset})
		}
		drawWhiskers(c, spans, at.Y, densityCap)
		c.Dot("dot", Point{at.X + SymbolWidth/2, at.Y}, dotRadius)
	}})
	if f.cut() {
		keys = append(keys, key{"higher than shown", "muted", func(c *Canvas, at Point) {
			drawArrow(c, Point{at.X + SymbolWidth/2, at.Y})
		}})
	}
	return keys
}

// each names a thing that is drawn at each level: "95% interval", or "50% and
// 95% intervals".
func (f *densityFigure) each(thing string) string {
	list := words.Each(f.levels, percent)
	slices.Reverse(list)
	if len(list) > 1 {
		thing += "s"
	}
	return words.List(list, "and") + " " + thing
}

// percent writes a level with as many digits as keep it below 100%.
func percent(level float64) string {
	s := strconv.FormatFloat(100*level, 'g', 6, 64)
	if s == "100" {
		s = strconv.FormatFloat(100*level, 'g', -1, 64)
	}
	return s + "%"
}

// description puts the figure into words.
func (f *densityFigure) description() string {
	var sentences []string
	for i, c := range f.Curves {
		label := cmp.Or(c.Label, fmt.Sprintf("curve %d", i+1))
		parts := []string{"mean " + f.X.probability(c.Mixture.Mean()),
			"median " + f.X.probability(c.Mixture.Quantile(0.5))}
		for _, level := range f.levels {
			parts = append(parts, percent(level)+" two-sided interval "+f.span(c.interval(level)))
			pieces := words.Each(c.Mixture.HighestDensity(level), f.span)
			parts = append(parts, percent(level)+" highest-density set "+strings.Join(pieces, " and "))
		}
		sentences = append(sentences, label+": "+strings.Join(parts, ", ")+".")
	}
	return strings.Join(sentences, " ")
}

func (f *densityFigure) span(i mixture.Interval) string {
	return f.X.probability(i.Lo) + " to " + f.X.probability(i.Hi)
}
