package study

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"credence/internal/plot"
	"credence/internal/words"
	"credence/train"
)

// SizeResult is what came out for a contender that was trained on some number of
// items, as means over seeds.
type SizeResult struct {
	Design      Design  `json:"design"`
	Items       int     `json:"items"`
	Method      string  `json:"method"`
	Label       string  `json:"label"`
	Networks    int     `json:"networks"`
	Correlation Summary `json:"correlation"`
	SDError     Summary `json:"sd_error"`
}

// sized are the contenders whose variance could be taken for that of p: the
// mixtures, those that look at how far networks differ, and evidential, as
// ensembles where they can be one.
func (c Comparison) sized() []contender {
	return slices.DeleteFunc(contenders(c.Ensemble), func(who contender) bool {
		several := who.networks > 1 || who.method.key == "dropout"
		return !several || !slices.Contains([]string{"mixture10", "mixture1", "softmax", "dropout", "evidential"}, who.method.key)
	})
}

// sizes trains those contenders on other numbers of items, with the settings
// that they chose, and sets what they have on the study's own number among them.
func (c Comparison) sizes(ctx context.Context, f *Folder, d *DesignResult, chosen map[string]train.Options) ([]SizeResult, error) {
	small := c
	small.Fresh, small.Grid = c.Covered, 2
	var out []SizeResult
	for _, who := range c.sized() {
		add := func(items int, got []Outcome) {
			all := ContenderResult{Seeds: got}
			out = append(out, SizeResult{Design: d.Design, Items: items, Method: who.method.key, Label: who.label, Networks: who.networks,
				Correlation: all.correlation(), SDError: all.sdError()})
		}
		for _, n := range c.Sizes {
			small.Items = map[Design]int{d.Design: n}
			var got []Outcome
			for _, seed := range c.Seeds {
				key := fmt.Sprintf("%s, seed %d, %d items: %s [%s] × %d", d.Design, seed, n, who.method.key, settingsText(chosen[who.method.key]), who.networks)
				o, err := piece(ctx, f, key, func(ctx context.Context) (Outcome, error) {
					s, err := small.sample(d.Design, seed)
					if err != nil {
						return Outcome{}, err
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
		i := slices.IndexFunc(d.Contenders, func(r ContenderResult) bool { return r.Label == who.label })
		add(c.Items[d.Design], d.Contenders[i].Seeds)
	}
	slices.SortStableFunc(out, func(a, b SizeResult) int { return a.Items - b.Items })
	return out, nil
}

// ofSize returns the results of a design, by contender in their order, each from
// the least number of items to the greatest.
func (r *ComparisonResult) ofSize(d Design) [][]SizeResult {
	var out [][]SizeResult
	for _, who := range r.Study.sized() {
		var line []SizeResult
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
func (r *ComparisonResult) sizeCurves(d Design) plot.Figure {
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
	constant := r.design(d).overTruth(func(t Truth) float64 { return t.ConstantItems })
	figure.Target, figure.TargetLabel = float64(constant.Mean), "best constant"
	return figure
}

// sizeTable is sizes.csv.
func (r *ComparisonResult) sizeTable() [][]string {
	rows := [][]string{{"design", "items", "method", "networks", "correlation", "correlation_se", "sd_error", "sd_error_se"}}
	for _, s := range r.Sizes {
		rows = append(rows, []string{string(s.Design), strconv.Itoa(s.Items), s.Method, strconv.Itoa(s.Networks),
			digits(s.Correlation.Mean, 4), digits(s.Correlation.SE, 5), digits(s.SDError.Mean, 5), digits(s.SDError.SE, 6)})
	}
	return rows
}

// sizeSection tells how the methods fare with fewer and with more items.
func (r *ComparisonResult) sizeSection(p *page, d *DesignResult) {
	lines := r.ofSize(d.Design)
	if len(lines) == 0 {
		return
	}
	p.figure(string(d.Design)+"-sizes.svg", `Error of the standard deviation of p on fresh items, by the number of items trained on; mean over the seeds.`)
	header := []string{"error of sd, by items"}
	for _, at := range lines[0] {
		header = append(header, words.Thousands(at.Items))
	}
	rows := [][]string{header}
	for _, line := range lines {
		row := []string{line[0].Label}
		for _, at := range line {
			row = append(row, plusMinus(at.SDError, 4))
		}
		rows = append(rows, row)
	}
	p.table(rows)
	if d.Design != Paper {
		p.paragraph(`What the rivals miss here is not a matter of the number of items.`)
		return
	}
	p.paragraph(`**More items help who estimates the spread, and not who does not.** The paper does not say how many it trained on; its figure shows 1,000. Deep ensemble and dropout measure how far networks
		disagree, which is not how much p varies. With few items the ensemble's error is small all the same: nine items in ten lie inside a quadrant, where the true standard deviation is next to zero and so
		is the disagreement, and along the axes, where little is known, networks happen to disagree about as much as p varies. More items bring networks closer to each other and p no closer to its mean,
		so that the ensemble's error does not fall. That of the mixture does: it learns the spread from votes on the same item, and needs enough items whose votes differ. The evidential network gains too.`)
	if fewer := r.aheadWithFewer(lines); fewer != "" {
		p.paragraph("%s", fewer)
	}
}

// aheadWithFewer says where a rival is closer than the mixture.
func (r *ComparisonResult) aheadWithFewer(lines [][]SizeResult) string {
	text := ""
	for i, ours := range lines[0] {
		best := ours
		for _, line := range lines {
			if line[0].Method != "mixture1" && line[i].SDError.Mean < best.SDError.Mean {
				best = line[i]
			}
		}
		if best.Label != ours.Label {
			text += fmt.Sprintf(" With %s items the %s has an error of %s, the mixture one of %s.", words.Thousands(ours.Items), best.Label,
				plusMinus(best.SDError, 4), plusMinus(ours.SDError, 4))
		}
	}
	return text
}
