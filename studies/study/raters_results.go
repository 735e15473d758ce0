package study

import (
	"fmt"
	"math"
	"strconv"

	"credence/evaluate"
	"credence/internal/plot"
)

// ratersResult has all numbers of the page.
type ratersResult struct {
	Study  *Raters
	Crowds []*poolResult
}

// poolResult has the results for a pool of raters.
type poolResult struct {
	poolDesign
	Methods []*methodResult
}

// methodResult has the results of a method, by seed.
type methodResult struct {
	Name     string
	Outcomes []*poolOutcome
}

// over summarizes a number over seeds; unknown ones are left out.
func (m *methodResult) over(of func(*poolOutcome) evaluate.Number) summary {
	var list []float64
	for _, o := range m.Outcomes {
		if x := of(o); x.Known() {
			list = append(list, float64(x))
		}
	}
	return summarize(list)
}

func (m *methodResult) RMS() summary {
	return m.over(func(o *poolOutcome) evaluate.Number { return o.RMS })
}
func (m *methodResult) Plain() summary {
	return m.over(func(o *poolOutcome) evaluate.Number { return o.Plain })
}
func (m *methodResult) NLL() summary {
	return m.over(func(o *poolOutcome) evaluate.Number { return o.NLL })
}
func (m *methodResult) Width() summary {
	return m.over(func(o *poolOutcome) evaluate.Number { return o.Width })
}
func (m *methodResult) Ratio() summary {
	return m.over(func(o *poolOutcome) evaluate.Number { return o.Ratio })
}

// Coverage is at each of adniLevels; nil for a method without intervals.
func (m *methodResult) Coverage() (list []summary) {
	for l := range m.Outcomes[0].Coverage {
		list = append(list, m.over(func(o *poolOutcome) evaluate.Number { return evaluate.Number(o.Coverage[l]) }))
	}
	return list
}

// Gap is the mean over levels of the distance of coverage from the level.
func (m *methodResult) Gap() evaluate.Number {
	at := m.Coverage()
	if at == nil {
		return notKnown
	}
	sum := 0.0
	for l, s := range at {
		sum += math.Abs(float64(s.Mean)-adniLevels[l]) / float64(len(at))
	}
	return evaluate.Number(sum)
}

// Recovered returns the recovery of the parameter in which raters of the kind differ.
func (m *methodResult) Recovered(kind string) recoveredOver {
	part := func(o *poolOutcome) recovery {
		if kind == guessers {
			return o.Guess
		}
		return o.Bias
	}
	return recoveredOver{
		RMS:         m.over(func(o *poolOutcome) evaluate.Number { return part(o).RMS }),
		Correlation: m.over(func(o *poolOutcome) evaluate.Number { return part(o).Correlation }),
		Coverage:    m.over(func(o *poolOutcome) evaluate.Number { return part(o).Coverage }),
	}
}

// recoveredOver is a recovery over seeds.
type recoveredOver struct{ RMS, Correlation, Coverage summary }

// method returns the numbers of a method.
func (c *poolResult) method(name string) *methodResult {
	for _, m := range c.Methods {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// less returns the relative reduction of the error of p by the first method compared with the second.
func (c *poolResult) less(first, second string) evaluate.Number {
	return 1 - c.method(first).Plain().Mean/c.method(second).Plain().Mean
}

// bars are the targets of the study that its designs can show.
func (r *ratersResult) bars() (list []Bar) {
	add := func(name string, value evaluate.Number, wanted string, pass bool, places int) {
		list = append(list, Bar{name, value, notKnown, wanted, pass, places})
	}
	for _, c := range r.Crowds {
		m := c.method(ratersModelled)
		switch {
		case c.Kind == biased && c.Raters == 3 && c.Votes >= 300:
			who := fmt.Sprintf("three leaners, %d votes each", c.Votes)
			ratio, gap, held := m.Ratio().Mean, 100*m.Gap(), 100*m.Recovered(biased).Coverage.Mean
			add(who+": leans held by 95% intervals, %", held, "at least 90", held >= 90, 1)
			add(who+": squared error over predicted variance", ratio, "1 ± 0.12", math.Abs(float64(ratio)-1) <= 0.12, 3)
			add(who+": mean |coverage − nominal|, points", gap, "at most 3", gap <= 3, 2)
		case c.Kind == guessers && c.Raters == 30 && c.Votes >= 100:
			less := c.less(ratersModelled, ratersIgnored)
			share := less / c.less(othersOnly, ratersIgnored)
			add("one guesser in five, 30 raters: error of p lower by, %", 100*less, "at least 10", less >= 0.1, 1)
			add("one guesser in five, 30 raters: share of the gain of knowing them", share, "at least 0.67", share >= 2./3, 2)
		case c.Kind == alike && c.Votes >= 30 && c.Raters > 3:
			worse := m.NLL().Mean - c.method(ratersIgnored).NLL().Mean
			add(fmt.Sprintf("%d exchangeable raters, %d votes each: loss per vote added", c.Raters, c.Votes), worse,
				"at most 0.001", worse <= 0.001, 4)
		}
	}
	return list
}

// WriteTables implements [Results].
func (r *ratersResult) WriteTables(f *Folder) error { return f.writeCSV("raters.csv", r.table()) }

// Numbers implements [Results].
func (r *ratersResult) Numbers() any {
	return struct {
		Study *Raters `json:"study"`
		Bars  []Bar   `json:"bars"`
	}{r.Study, r.bars()}
}

// WriteFigures implements [Results].
func (r *ratersResult) WriteFigures(f *Folder) error {
	for _, of := range r.kinds() {
		if err := f.writeFigure(of.Kind, of.figure()); err != nil {
			return err
		}
	}
	return nil
}

// Page implements [Results].
func (r *ratersResult) Page(*Folder) (any, error) {
	page := ratersPage{Study: r.Study, Bars: r.bars(), Kinds: r.kinds()}
	for _, l := range adniLevels {
		page.Levels = append(page.Levels, fmt.Sprintf("%.0f%%", 100*l))
	}
	return page, nil
}

// kinds returns the results by kind of raters.
func (r *ratersResult) kinds() (list []ratersKindPage) {
	for _, kind := range poolKinds {
		of := ratersKindPage{Kind: kind}
		for _, c := range r.Crowds {
			if c.Kind == kind {
				of.Crowds = append(of.Crowds, c)
			}
		}
		of.Most = of.Crowds[len(of.Crowds)-1].Raters
		list = append(list, of)
	}
	return list
}

// table has a row for each pool of raters, method and seed.
func (r *ratersResult) table() [][]string {
	rows := [][]string{{"kind", "raters", "votes_each", "items", "method", "seed", "rms_average", "rms_p", "nll_per_vote", "width_95", "error_over_variance",
		"coverage_75", "coverage_80", "coverage_85", "coverage_90", "coverage_95",
		"lean_rms", "lean_correlation", "lean_coverage", "guess_rms", "guess_correlation", "guess_coverage"}}
	for _, c := range r.Crowds {
		for _, m := range c.Methods {
			for i, o := range m.Outcomes {
				row := []string{c.Kind, strconv.Itoa(c.Raters), strconv.Itoa(c.Votes), strconv.Itoa(c.Items()), m.Name,
					strconv.FormatUint(r.Study.Seed+uint64(i), 10), digits(o.RMS, 5), digits(o.Plain, 5), digits(o.NLL, 5), digits(o.Width, 4), digits(o.Ratio, 4)}
				for l := range adniLevels {
					x := notKnown
					if o.Coverage != nil {
						x = evaluate.Number(o.Coverage[l])
					}
					row = append(row, digits(x, 4))
				}
				for _, v := range []recovery{o.Bias, o.Guess} {
					row = append(row, digits(v.RMS, 4), digits(v.Correlation, 4), digits(v.Coverage, 4))
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// ratersPage are the numbers of the page.
type ratersPage struct {
	Study  *Raters
	Bars   []Bar
	Levels []string
	Kinds  []ratersKindPage
}

// LeastItems returns the smallest number of items of a pool of raters.
func (ratersPage) LeastItems() int { return leastItems }

// ratersKindPage has the numbers of the section on a kind of raters.
type ratersKindPage struct {
	Kind   string
	Crowds []*poolResult
	Most   int // the most raters
}

// Who describes the raters in words.
func (k ratersKindPage) Who() string {
	switch k.Kind {
	case biased:
		return fmt.Sprintf("%d raters who lean", k.Most)
	case guessers:
		return fmt.Sprintf("%d raters, one in five of whom guesses", k.Most)
	}
	return fmt.Sprintf("%d exchangeable raters", k.Most)
}

// Of returns the quantity whose error the figure shows: p̄, or p where raters guess, since methods that
// discount guesses estimate p.
func (k ratersKindPage) Of() string {
	if k.Kind == guessers {
		return "p"
	}
	return "p̄"
}

// figure shows the error by votes per rater of the largest number of raters.
func (k ratersKindPage) figure() plot.Figure {
	d := plot.Lines{Title: fmt.Sprintf("Error of the mean of %s on new items: %s", k.Of(), k.Who()), XLabel: "items trained on, thousands",
		YLabel: "root mean square error"}
	for _, method := range poolMethods(k.Kind) {
		s := plot.LineSeries{Label: method}
		for _, c := range k.Crowds {
			if c.Raters != k.Most {
				continue
			}
			x := c.method(method).RMS()
			if k.Kind == guessers {
				x = c.method(method).Plain()
			}
			s.X, s.Y, s.SE = append(s.X, float64(c.Items())/1000), append(s.Y, float64(x.Mean)), append(s.SE, float64(x.SE))
		}
		d.Series = append(d.Series, s)
	}
	return d
}
