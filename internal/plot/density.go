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
// Poles, and spikes beside which all else would be too flat to see, are cut off
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
	// Resolution is that of the intervals, see [mixture.Reported].
	Resolution float64
}

// Sizes of the parts of the figure, in pixels.
const (
	panelHeight = 190.0
	rowHeight   = 19.0
	densityCap  = 4.5 // half of the stroke that ends a whisker
)

// draw implements [Figure]. A title and two curves take 364 pixels.
func (d Density) draw(c *canvas) error {
	levels, err := d.sortedLevels()
	if err != nil {
		return err
	}
	f := &densityFigure{Density: d, frame: frame{xLabel: cmp.Or(d.XLabel, "probability"), yLabel: "density"}, levels: levels}
	f.layOut(c.width)
	return c.finish(f.drawAll(c), cmp.Or(d.Title, "Density of the "+f.xLabel), f.description())
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
	frame
	levels []float64 // decreasing
	lines  [][]point // one a curve
	pieces [][][]point
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
	f.y = vertical(0, headroom*densities(f.Curves, lo, hi), panelHeight, 0)

	f.layOutX(span{lo, hi}, width, f.sideRoom)

	for _, c := range f.Curves {
		line := trace(c.Mixture.PDF, f.x, f.y, features(c.Mixture))
		pieces, gaps := below(line, f.y.end)
		f.lines = append(f.lines, line)
		f.pieces = append(f.pieces, pieces)
		f.gaps = append(f.gaps, gaps)
	}
}

// sideRoom returns how far from the edges of the card x must begin and end for
// its labels, and the numbers beside whiskers, to stay on it.
func (f *densityFigure) sideRoom() (left, right float64) {
	left, right = f.labelRoom()
	if len(f.levels) == 0 {
		return left, right
	}
	for _, c := range f.Curves {
		i := c.interval(f.levels[0])
		room := func(end float64) float64 {
			return margin + labelOffset + textWidth(f.x.probability(end), tickSize)
		}
		left = max(left, room(i.Lo)-(f.x.pixel(i.Lo)-f.x.start))
		right = max(right, room(i.Hi)-(f.x.end-f.x.pixel(i.Hi)))
	}
	return left, right
}

// drawAll returns the y at which the figure ends.
func (f *densityFigure) drawAll(c *canvas) float64 {
	room := float64(headerGap)
	if f.cut() {
		room += 6 // for the arrows
	}
	c.begin(f.Title, f.legend(), room)
	end := f.x.drawX(c, f.xLabel, f.y.end, f.y.start+float64(len(f.Curves))*rowHeight+8)
	f.y.drawY(c, f.yLabel, f.x.start, f.x.end)
	c.line("rule", point{f.x.start, f.y.start}, point{f.x.end, f.y.start})
	for i := range f.Curves { // below all curves
		c.open(series(i))
		f.drawShades(c, i)
		c.close()
	}
	for i := range f.Curves {
		c.open(series(i))
		c.curve("curve", f.pieces[i]...)
		f.drawRow(c, i, f.y.start+4+rowHeight*(float64(i)+0.5))
		c.close()
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
func (f *densityFigure) drawShades(c *canvas, i int) {
	for _, level := range f.levels {
		for _, set := range f.Curves[i].Mixture.HighestDensity(level) {
			area := between(f.lines[i], f.x.pixel(set.Lo), f.x.pixel(set.Hi))
			if len(area) < 2 {
				continue
			}
			for j := range area {
				area[j].y = max(area[j].y, f.y.end)
			}
			area = simplify(area, traceError)
			area = append(area, point{area[len(area)-1].x, f.y.start}, point{area[0].x, f.y.start})
			c.polygon("shade", area)
		}
	}
}

// drawArrows marks where curves leave the panel, side by side if several leave
// at one place.
func (f *densityFigure) drawArrows(c *canvas) {
	const width = 11
	var taken []float64
	for i, gaps := range f.gaps {
		c.open(series(i))
		for _, x := range gaps {
			step := float64(width)
			if x > (f.x.start+f.x.end)/2 {
				step = -width
			}
			x = free(taken, x, step)
			if x >= f.x.start && x <= f.x.end {
				taken = append(taken, x)
				drawArrow(c, point{x, f.y.end - 8})
			}
		}
		c.close()
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
func drawArrow(c *canvas, at point) {
	c.polygon("solid", []point{{at.x, at.y - 4}, {at.x + 4.5, at.y + 4}, {at.x - 4.5, at.y + 4}})
}

// drawRow draws the intervals and the mean of curve i at the height y, and
// the ends of the widest interval in numbers.
func (f *densityFigure) drawRow(c *canvas, i int, y float64) {
	spans := make([][2]float64, len(f.levels))
	for j, level := range f.levels {
		in := f.Curves[i].interval(level)
		spans[j] = [2]float64{f.x.pixel(in.Lo), f.x.pixel(in.Hi)}
		if j == 0 {
			c.text("tick end halo", point{spans[0][0] - labelOffset, y + 0.36*tickSize}, f.x.probability(in.Lo))
			c.text("tick halo", point{spans[0][1] + labelOffset, y + 0.36*tickSize}, f.x.probability(in.Hi))
		}
	}
	drawWhiskers(c, spans, y, densityCap)
	c.dot("dot", point{f.x.pixel(f.Curves[i].Mixture.Mean()), y}, dotRadius)
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
func drawWhiskers(c *canvas, spans [][2]float64, y, halfCap float64) {
	for j, s := range spans {
		half := 0.75 + 1.5*float64(j)
		c.rect("solid", s[0], y-half, max(0, s[1]-s[0]), 2*half)
		if j == 0 {
			c.rect("solid", s[0]-half, y-halfCap, 2*half, 2*halfCap)
			c.rect("solid", s[1]-half, y-halfCap, 2*half, 2*halfCap)
		}
	}
}

// legend returns an entry for each curve, then for what is drawn of all.
func (f *densityFigure) legend() []key {
	var keys []key
	for i, curve := range f.Curves {
		if curve.Label != "" {
			keys = append(keys, lineKey(curve.Label, series(i)))
		}
	}
	if len(f.levels) > 0 {
		keys = append(keys, key{f.each("highest-density set"), "muted", func(c *canvas, at point) {
			for j := range f.levels {
				inset := 5 * float64(j)
				c.rect("shade", at.x+inset, at.y-6, max(0, symbolWidth-2*inset), 12)
			}
		}})
	}
	rows := "mean"
	if len(f.levels) > 0 {
		rows = f.each("two-sided interval") + ", mean"
	}
	keys = append(keys, key{rows, "muted", func(c *canvas, at point) {
		var spans [][2]float64
		for j := range f.levels {
			inset := 1 + 5*float64(j)
			spans = append(spans, [2]float64{at.x + inset, at.x + symbolWidth - inset})
		}
		drawWhiskers(c, spans, at.y, densityCap)
		c.dot("dot", point{at.x + symbolWidth/2, at.y}, dotRadius)
	}})
	if f.cut() {
		keys = append(keys, key{"higher than shown", "muted", func(c *canvas, at point) {
			drawArrow(c, point{at.x + symbolWidth/2, at.y})
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
		parts := []string{"mean " + f.x.probability(c.Mixture.Mean()),
			"median " + f.x.probability(c.Mixture.Quantile(0.5))}
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
	return f.x.probability(i.Lo) + " to " + f.x.probability(i.Hi)
}
