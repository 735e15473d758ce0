package study

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"credence/internal/plot"
	"credence/internal/simulation"
	"credence/train"
)

// sizeResult has the results of a contender that was trained on some number of
// items, as means over seeds.
type sizeResult struct {
	Design      simulation.Design `json:"design"`
	Items       int               `json:"items"`
	Method      string            `json:"method"`
	Label       string            `json:"label"`
	Networks    int               `json:"networks"`
	Correlation summary           `json:"correlation"`
	SDError     summary           `json:"sd_error"`
}

// sized are the contenders whose variance could be read as that of p: the
// mixtures, those based on differences between networks, and evidential, as
// ensembles where they can be one.
func (c Comparison) sized() []contender {
	return slices.DeleteFunc(contenders(c.Ensemble), func(who contender) bool {
		several := who.networks > 1 || who.method.key == "dropout"
		return !several || !slices.Contains([]string{"mixture10", "mixture1", "softmax", "dropout",
			"evidential"}, who.method.key)
	})
}

// sizes trains those contenders on other numbers of items, with the settings
// that they chose, and adds their results for the study's own number.
func (c Comparison) sizes(ctx context.Context, f *Folder, d *designResult,
	chosen map[string]train.Options) ([]sizeResult, error) {
	small := c
	small.Fresh, small.Grid = c.Covered, 2
	var out []sizeResult
	for _, who := range c.sized() {
		add := func(items int, got []outcome) {
			all := contenderResult{Seeds: got}
			out = append(out, sizeResult{Design: d.Design, Items: items, Method: who.method.key,
				Label: who.label, Networks: who.networks,
				Correlation: all.Correlation(), SDError: all.SDError()})
		}
		for _, n := range c.Sizes {
			small.Items = map[simulation.Design]int{d.Design: n}
			var got []outcome
			for _, seed := range c.Seeds {
				key := fmt.Sprintf("%s, seed %d, %d items: %s [%s] × %d", d.Design, seed, n,
					who.method.key, settingsText(chosen[who.method.key]), who.networks)
				o, err := piece(ctx, f, key, func(ctx context.Context) (outcome, error) {
					s, err := small.sample(d.Design, seed)
					if err != nil {
						return outcome{}, err
					}
					return small.fit(ctx, s, who, chosen[who.method.key], false)
				})
				if err != nil {
					return nil, err
				}
				got = append(got, o)
			}
			add(n, got)
		}
		i := slices.IndexFunc(d.Contenders, func(r contenderResult) bool { return r.Label == who.label })
		add(c.Items[d.Design], d.Contenders[i].Seeds)
	}
	slices.SortStableFunc(out, func(a, b sizeResult) int { return a.Items - b.Items })
	return out, nil
}

// ofSize returns the results of a design, by contender in their order, each from
// the least number of items to the greatest.
func (r *comparisonResult) ofSize(d simulation.Design) [][]sizeResult {
	var out [][]sizeResult
	for _, who := range r.Study.sized() {
		var line []sizeResult
		for _, s := range r.Sizes {
			if s.Design == d && s.Label == who.label {
				line = append(line, s)
			}
		}
		if len(line) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// sizeCurves draw the error of the standard deviation by the number of items.
func (r *comparisonResult) sizeCurves(d simulation.Design) plot.Figure {
	figure := plot.Lines{Title: "Error of the standard deviation by the number of items", Errors: 1,
		XLabel: "items trained on (thousands)", YLabel: "mean absolute error of the sd of p"}
	for _, line := range r.ofSize(d) {
		s := plot.LineSeries{Label: line[0].Label}
		for _, at := range line {
			s.X, s.Y = append(s.X, float64(at.Items)/1000), append(s.Y, float64(at.SDError.Mean))
			if at.SDError.SE.Known() {
				s.SE = append(s.SE, float64(at.SDError.SE))
			}
		}
		if len(s.SE) != len(s.X) {
			s.SE = nil
		}
		figure.Series = append(figure.Series, s)
	}
	constant := r.design(d).constant()
	figure.Target, figure.TargetLabel = float64(constant.Mean), "best constant"
	return figure
}

// sizeTable is sizes.csv.
func (r *comparisonResult) sizeTable() [][]string {
	rows := [][]string{{"design", "items", "method", "networks", "correlation", "correlation_se",
		"sd_error", "sd_error_se"}}
	for _, s := range r.Sizes {
		rows = append(rows, []string{string(s.Design), strconv.Itoa(s.Items), s.Method, strconv.Itoa(s.Networks),
			digits(s.Correlation.Mean, 4), digits(s.Correlation.SE, 5), digits(s.SDError.Mean, 5),
			digits(s.SDError.SE, 6)})
	}
	return rows
}

// sizePage are the numbers of the page on the results of the methods with fewer
// and with more items.
type sizePage struct {
	Items []int
	Lines [][]sizeResult // by contender and number of items
	Ahead []sizeAhead
}

// sizeAhead is a number of items at which a rival is closer than the mixture.
type sizeAhead struct{ Best, Ours sizeResult }

func (r *comparisonResult) sizePage(d simulation.Design) *sizePage {
	p := &sizePage{Lines: r.ofSize(d)}
	if len(p.Lines) == 0 {
		return nil
	}
	for i, ours := range p.Lines[0] {
		p.Items = append(p.Items, ours.Items)
		best := ours
		for _, line := range p.Lines {
			if line[0].Method != "mixture1" && line[i].SDError.Mean < best.SDError.Mean {
				best = line[i]
			}
		}
		if best.Label != ours.Label {
			p.Ahead = append(p.Ahead, sizeAhead{best, ours})
		}
	}
	return p
}
