package plot

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"
)

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
