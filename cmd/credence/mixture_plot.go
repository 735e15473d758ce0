package main

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"credence/internal/atomicfile"
	"credence/internal/plot"
	"credence/mixture"
)

// writePlot draws the densities to a file: of two classes the first, before and
// after the votes; of more, each class after the votes.
func (o *mixtureOptions) writePlot(classes []string, before, after *mixture.Dirichlet) error {
	if ext := strings.ToLower(filepath.Ext(o.plot)); ext != ".svg" {
		return usagef("--plot %s: expected a file name that ends in .svg", o.plot)
	}
	figure := plot.Density{Levels: o.levels.values}
	switch {
	case before.Classes() > 2:
		m := before
		if after != nil {
			m = after
		}
		for i, name := range classes {
			figure.Curves = append(figure.Curves, plot.Curve{Label: name, Mixture: m.Marginal(i)})
		}
		figure.XLabel = "probability of the class"
	case after == nil:
		figure.Curves = []plot.Curve{{Mixture: before.Marginal(0)}}
		figure.XLabel = "probability of class " + classes[0]
	default:
		figure.Curves = []plot.Curve{
			{Label: "before", Mixture: before.Marginal(0)},
			{Label: "after " + o.votesLabel(classes), Mixture: after.Marginal(0)},
		}
		figure.XLabel = "probability of class " + classes[0]
	}
	return atomicfile.Write(o.plot, func(w io.Writer) error { return plot.WriteSVG(w, figure) })
}

// votesLabel tells the votes in words.
func (o *mixtureOptions) votesLabel(classes []string) string {
	var parts []string
	for i, v := range o.votes.values {
		if v > 0 {
			noun := " votes for "
			if v == 1 {
				noun = " vote for "
			}
			parts = append(parts, strconv.FormatFloat(v, 'g', -1, 64)+noun+classes[i])
		}
	}
	if len(parts) == 0 {
		return "no votes"
	}
	return strings.Join(parts, ", ")
}
