package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
	"credence/mixture"
)

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
