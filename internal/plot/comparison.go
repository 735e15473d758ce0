package plot

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// Comparison is a figure of predictions (x) against observations (y),
// with the line on which both are equal: a reliability diagram, dispersion by
// bin, nominal against empirical coverage.
type Comparison struct {
	Title          string
	XLabel, YLabel string
	// Equal is the entry of the diagonal in the legend; "seen as predicted" if
	// empty.
	Equal  string
	Series []PointSeries
	// Unit makes both axes go from 0 to 1, Same makes them show the same range.
	Unit, Same bool
}

// PointSeries are points of one color.
type PointSeries struct {
	Label  string // the entry in the legend; none if empty
	Points []IntervalPoint
}

// IntervalPoint is a point with an interval of its y. Points that are not
// finite are left out, and so are intervals whose ends are not, or are equal.
type IntervalPoint struct{ X, Y, Lo, Hi float64 }

func (p IntervalPoint) unknown() bool     { return !finite(p.X) || !finite(p.Y) }
func (p IntervalPoint) hasInterval() bool { return finite(p.Lo) && finite(p.Hi) && p.Lo < p.Hi }

const comparisonHeight = 320.0

// Draw implements [Figure].
func (d Comparison) Draw(c *Canvas) error {
	intervals, outside := false, false
	x, y := emptySpan(), emptySpan()
	d.Series = slices.Clone(d.Series)
	for i, s := range d.Series {
		d.Series[i].Points = slices.DeleteFunc(slices.Clone(s.Points), IntervalPoint.unknown)
		for _, p := range d.Series[i].Points {
			outside = outside || p.X < 0 || p.X > 1 || p.Y < 0 || p.Y > 1
			x.add(p.X)
			y.add(p.Y)
			if p.hasInterval() {
				intervals = true
				y.add(p.Lo, p.Hi)
			}
		}
	}
	if x == emptySpan() {
		return errors.New("no points")
	}
	if d.Same {
		x.add(y.lo, y.hi)
		y.add(x.lo, x.hi)
	}
	x, y = x.padded(), y.padded()
	if d.Unit {
		if outside {
			return errors.New("points outside of 0 to 1")
		}
		x, y = span{0, 1}, span{0, 1}
	}
	f := newFrame(c, x, y, d.XLabel, d.YLabel, comparisonHeight)
	c.Begin(d.Title, d.legend(intervals), HeaderGap)
	end := f.Draw(c)
	f.diagonal(c)
	for i, s := range d.Series {
		// Whiskers of several series at one x stand side by side.
		shift := 5 * (float64(i) - float64(len(d.Series)-1)/2)
		if !intervals {
			shift = 0
		}
		c.Open(Series(i))
		for _, p := range s.Points {
			at := f.Place(p.X, p.Y)
			at.X = min(max(at.X+shift, f.X.Start), f.X.End)
			if p.hasInterval() {
				drawUpright(c, at.X, f.Y.Pixel(min(p.Hi, f.Y.Hi)), f.Y.Pixel(max(p.Lo, f.Y.Lo)))
			}
			c.Dot("dot", at, dotRadius)
		}
		c.Close()
	}
	return c.Finish(end, cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), d.description(f))
}

func (d Comparison) legend(intervals bool) []key {
	var keys []key
	for i, s := range d.Series {
		if s.Label != "" {
			keys = append(keys, dotKey(s.Label, Series(i), false))
		}
	}
	if intervals {
		keys = append(keys, dotKey("95% interval", "muted", true))
	}
	return append(keys, lineKey(cmp.Or(d.Equal, "seen as predicted"), "muted dashed"))
}

// description summarizes the points in words, for screen readers.
func (d Comparison) description(f Frame) string {
	var sentences []string
	for _, s := range d.Series {
		if len(s.Points) == 0 {
			continue
		}
		worst := slices.MaxFunc(s.Points, func(p, q IntervalPoint) int {
			return cmp.Compare(math.Abs(p.Y-p.X), math.Abs(q.Y-q.X))
		})
		text := fmt.Sprintf("%d points from %s to %s; farthest from the diagonal: %s at %s.",
			len(s.Points), f.X.format(s.Points[0].X, 1), f.X.format(s.Points[len(s.Points)-1].X, 1),
			f.Y.format(worst.Y, 1), f.X.format(worst.X, 1))
		sentences = append(sentences, labeled(s.Label, text))
	}
	return strings.Join(sentences, " ")
}

// Histogram is a figure of numbers between 0 and 1 that should be uniform, as
// probability integral transforms are if predictions are right: how many fall
// into each bin, relative to equal shares, and the band in which all of them
// stay 19 times out of 20 if the numbers are uniform.
type Histogram struct {
	Title  string
	XLabel string
	Series []ValueSeries
}

// ValueSeries are the numbers of one color.
type ValueSeries struct {
	Label  string // the entry in the legend; none if empty
	Values []float64
}

const histogramHeight, histogramBins = 220.0, 10

// Draw implements [Figure].
func (d Histogram) Draw(c *Canvas) error {
	heights, fewest, err := d.heights()
	if err != nil {
		return err
	}
	y := span{0, 1}
	for _, h := range heights {
		y.add(h...)
	}
	half := bandOf(histogramBins, fewest)
	band := span{max(0, 1-half), 1 + half}
	y.add(band.hi)
	y.hi *= 1.06
	f := newFrame(c, span{0, 1}, y, d.XLabel, "relative frequency", histogramHeight)

	entry := lineKey
	if len(d.Series) == 1 {
		entry = areaKey
	}
	var legend []key
	for i, s := range d.Series {
		if s.Label != "" && heights[i] != nil {
			legend = append(legend, entry(s.Label, Series(i)))
		}
	}
	legend = append(legend, areaKey("19 times out of 20 all stay here if predictions are right", "muted"),
		lineKey("equal shares", "muted dashed"))
	c.Begin(d.Title, legend, HeaderGap)
	end := f.Draw(c)
	c.Open("muted")
	c.Rect("shade", f.X.Start, f.Y.Pixel(band.hi), f.X.End-f.X.Start, f.Y.Pixel(band.lo)-f.Y.Pixel(band.hi))
	c.Close()
	for i, h := range heights {
		if h == nil {
			continue
		}
		outline := []Point{f.Place(0, 0)}
		for b, v := range h {
			outline = append(outline, f.Place(float64(b)/histogramBins, v), f.Place(float64(b+1)/histogramBins, v))
		}
		outline = append(outline, f.Place(1, 0))
		c.Open(Series(i))
		if len(d.Series) == 1 {
			c.Polygon("shade", outline)
		}
		c.Curve("curve", outline)
		c.Close()
	}
	f.level(c, 1)
	return c.Finish(end, cmp.Or(d.Title, "Histogram of the "+d.XLabel), d.description(heights, band))
}

// heights returns the relative frequencies of the bins of each series, nil for one
// without values, and the smallest number of values among the others.
func (d Histogram) heights() (heights [][]float64, fewest float64, err error) {
	heights, fewest = make([][]float64, len(d.Series)), math.Inf(1)
	for i, s := range d.Series {
		if len(s.Values) == 0 {
			continue
		}
		fewest = min(fewest, float64(len(s.Values)))
		heights[i] = make([]float64, histogramBins)
		each := histogramBins / float64(len(s.Values))
		for _, v := range s.Values {
			if !(v >= 0 && v <= 1) {
				return nil, 0, fmt.Errorf("value %v does not lie between 0 and 1", v)
			}
			heights[i][min(histogramBins-1, int(v*histogramBins))] += each
		}
	}
	if math.IsInf(fewest, 1) {
		return nil, 0, errors.New("no values")
	}
	return heights, fewest, nil
}

// bandOf returns the largest distance from 1 of the relative frequencies of n uniform
// numbers in all bins at once: the normal approximation to the binomial, at
// 1 − 0.05/bins each (Bonferroni).
func bandOf(bins int, n float64) float64 {
	b := float64(bins)
	z := math.Sqrt2 * math.Erfinv(1-0.05/b)
	return z * math.Sqrt((b-1)/n)
}

// description reports the number of bins of each series outside the band.
func (d Histogram) description(heights [][]float64, band span) string {
	var sentences []string
	for i, h := range heights {
		if h == nil {
			continue
		}
		outside := 0
		for _, v := range h {
			if v < band.lo || v > band.hi {
				outside++
			}
		}
		text := fmt.Sprintf("%d values in %d bins, %d of them outside the band.",
			len(d.Series[i].Values), len(h), outside)
		sentences = append(sentences, labeled(d.Series[i].Label, text))
	}
	return strings.Join(sentences, " ")
}

// Scatter is a figure of items as points in groups of one color each: the
// probability of a class against the width of its interval, by how the votes
// agree, a figure of Wu et al. (2019).
type Scatter struct {
	Title          string
	XLabel, YLabel string
	Groups         []ScatterGroup
	// Threshold, if positive, is a width at which a dashed line is drawn.
	Threshold      float64
	ThresholdLabel string
}

// ScatterGroup are the items of one color, or of one mark, of a [Scatter].
type ScatterGroup struct {
	Label  string
	Points [][2]float64 // x and y, in a Scatter both from 0
}

const (
	scatterHeight = 320.0
	scatterRadius = 2.4
)

// Draw implements [Figure]. The x axis goes from 0 to 1, the y axis from 0 as far as
// there are points.
func (d Scatter) Draw(c *Canvas) error {
	n := 0
	y := span{0, 0}
	for _, g := range d.Groups {
		for _, p := range g.Points {
			if !(p[0] >= 0 && p[0] <= 1 && p[1] >= 0 && finite(p[1])) {
				return fmt.Errorf("point (%v, %v) is no probability and width", p[0], p[1])
			}
			y.add(p[1])
			n++
		}
	}
	if n == 0 {
		return errors.New("no points")
	}
	y.add(d.Threshold)
	y.hi = cmp.Or(y.hi, 0.01)
	y.hi *= 1.05
	f := newFrame(c, span{0, 1}, y, d.XLabel, d.YLabel, scatterHeight)
	var legend []key
	var words []string
	for i, g := range d.Groups {
		text := fmt.Sprintf("%s (%d)", g.Label, len(g.Points))
		legend = append(legend, dotKey(text, Series(i), false))
		words = append(words, text)
	}
	if d.Threshold > 0 && d.ThresholdLabel != "" {
		legend = append(legend, lineKey(d.ThresholdLabel, "muted dashed"))
	}
	c.Begin(d.Title, legend, HeaderGap)
	end := f.Draw(c)
	for group, p := range Shuffled(d.Groups) {
		c.Dot(Series(group)+" solid", f.Place(p[0], p[1]), scatterRadius)
	}
	if d.Threshold > 0 {
		f.level(c, d.Threshold)
	}
	return c.Finish(end, cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), "Items: "+strings.Join(words, ", ")+".")
}

// Shuffled runs through the points of all groups as cards are shuffled: those of
// each group evenly over the whole sequence, so that none is drawn on top of the
// others.
func Shuffled(groups []ScatterGroup) iter.Seq2[int, [2]float64] {
	return func(yield func(group int, p [2]float64) bool) {
		drawn := make([]int, len(groups))
		for {
			next, least := -1, 2.0
			for i, g := range groups {
				done := (float64(drawn[i]) + 0.5) / float64(len(g.Points))
				if drawn[i] < len(g.Points) && done < least {
					next, least = i, done
				}
			}
			if next < 0 || !yield(next, groups[next].Points[drawn[next]]) {
				return
			}
			drawn[next]++
		}
	}
}
