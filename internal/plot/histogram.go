package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
)

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

// draw implements [Figure].
func (d Histogram) draw(c *canvas) error {
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
			legend = append(legend, entry(s.Label, series(i)))
		}
	}
	legend = append(legend, areaKey("19 times out of 20 all stay here if predictions are right", "muted"),
		lineKey("equal shares", "muted dashed"))
	c.begin(d.Title, legend, headerGap)
	end := f.draw(c)
	c.open("muted")
	c.rect("shade", f.x.start, f.y.pixel(band.hi), f.x.end-f.x.start, f.y.pixel(band.lo)-f.y.pixel(band.hi))
	c.close()
	for i, h := range heights {
		if h == nil {
			continue
		}
		outline := []point{f.place(0, 0)}
		for b, v := range h {
			outline = append(outline, f.place(float64(b)/histogramBins, v), f.place(float64(b+1)/histogramBins, v))
		}
		outline = append(outline, f.place(1, 0))
		c.open(series(i))
		if len(d.Series) == 1 {
			c.polygon("shade", outline)
		}
		c.curve("curve", outline)
		c.close()
	}
	f.level(c, 1)
	return c.finish(end, cmp.Or(d.Title, "Histogram of the "+d.XLabel), d.description(heights, band))
}

// heights returns the relative frequencies of the bins of each series, nil for one
// without values, and how many values the smallest of the others has.
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

// bandOf returns how far from 1 the relative frequencies of n uniform numbers
// may be in all bins at once: the normal approximation to the binomial, at
// 1 − 0.05/bins each (Bonferroni).
func bandOf(bins int, n float64) float64 {
	b := float64(bins)
	z := math.Sqrt2 * math.Erfinv(1-0.05/b)
	return z * math.Sqrt((b-1)/n)
}

// description says how many bins of each series lie outside the band.
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
