package report

import (
	"fmt"
	"slices"

	"credence/evaluate"
	"credence/mixture"
)

// scaleRow is a row of the table of scores: an item, its expected score, and the probability of each class but the
// lowest, or a higher one.
type scaleRow struct {
	Item, Kind, Score string
	Tails             []string
}

// scaleTable returns the scores of the items that the figures of examples show, and the heads of the columns of
// probabilities. Both are nil if classes are not ordered.
func scaleTable(in *Input, items []item, level float64) (rows []scaleRow, heads []string) {
	if in.Scale == nil || len(items) == 0 {
		return nil, nil
	}
	for _, class := range in.Classes[1:] {
		heads = append(heads, "P(≥ "+class+")")
	}
	text := func(b *mixture.Beta, resolution float64, at func(x float64) float64) string {
		x := b.Reported(resolution).Interval(mixture.TwoSided, level)
		value := func(x float64) string { return number(evaluate.Number(at(x)), 2) }
		return fmt.Sprintf("%s (%s to %s)", value(b.Mean()), value(x.Lo), value(x.Hi))
	}
	const each = 3 // items of each kind
	for _, kind := range []struct {
		name  string
		items []item
	}{{"most certain", certain(items)}, {"most contested", contested(items, each)}, {"most typical", typical(items, each)}} {
		for _, x := range kind.items[:min(each, len(kind.items))] {
			score := x.m.NewScaleScore(in.Scale)
			row := scaleRow{Item: x.id, Kind: kind.name, Score: text(score.Share, x.resolution, score.At)}
			for k := range heads {
				row.Tails = append(row.Tails, text(x.m.Cumulative(k).Reflect(), x.resolution, func(x float64) float64 { return x }))
			}
			rows = append(rows, row)
		}
	}
	return rows, heads
}

// shownClasses returns the n most probable classes, in the order of the scale if there is one.
func shownClasses(in *Input, mean []float64, n int) []int {
	list := mostProbable(mean, n)
	if in.Scale != nil {
		slices.Sort(list)
	}
	return list
}
