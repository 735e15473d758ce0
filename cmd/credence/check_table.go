package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
)

func (r *checkReport) print(w *printout.Page) {
	w.Sections(r.heading, r.verdict, r.designs, r.agreement, r.numbers, r.use, r.disagreement, r.raters, r.apart, r.warn)
}

func (r *checkReport) heading(w *printout.Page) { w.Paragraph("Read as  ", r.ReadAs) }

func (r *checkReport) verdict(w *printout.Page) {
	answer := map[string]string{"yes": "Yes", "weak": "Weakly", "no": "No"}[r.Support.Intervals]
	w.Heading("Can these votes support intervals?  %s", answer)
	for _, reason := range r.Support.Reasons {
		w.Paragraph("  - ", reason.String())
	}
}

func (r *checkReport) agreement(w *printout.Page) {
	if r.Support.PairedItems == 0 {
		return
	}
	w.Heading("Agreement between votes on the same item")
	t := printout.NewTable(0, 2)
	t.Add("", "", "95% interval")
	for _, a := range []struct {
		name   string
		of     evaluate.IntervalEstimate
		always bool
	}{
		{"pairs of votes that agree", r.PairAgreement, true},
		{"Krippendorff's α, nominal", r.AlphaNominal, true},
		{"Krippendorff's α, ordinal", r.AlphaOrdinal, false},
		{"Krippendorff's α, interval", r.AlphaInterval, false},
		{"Fleiss's κ", r.FleissKappa, true},
	} {
		if a.always || a.of.Value.Known() {
			t.Add("  "+a.name, decimal(a.of.Value, 3), between(a.of, 3))
		}
	}
	w.Table(t)
	if r.AlphaInterval.Value.Known() {
		w.Note("(ordinal and interval mean something if the classes' numbers are a scale)")
	}
}

// mostRows is how many rows a list has at most.
const mostRows = 12

// numbers shows how many items have how many votes.
func (r *checkReport) numbers(w *printout.Page) {
	per := r.VotesPerItem
	inBands := len(per) > mostRows
	if inBands {
		per = bands(per)
	}
	w.Heading("Votes per item")
	t := printout.NewTable(2)
	t.Add("  votes", "items", "")
	for i, p := range per {
		votes, last := words.Count(float64(p.Votes)), r.VotesPerItem[len(r.VotesPerItem)-1].Votes
		if i+1 < len(per) {
			last = per[i+1].Votes - 1
		}
		if inBands && last > p.Votes {
			votes += "–" + words.Count(float64(last))
		}
		t.Add(votes, words.Thousands(p.Items), shareBar(float64(p.Items)/float64(r.Items), 30))
	}
	w.Table(t)
}

// bands puts numbers of votes together: each band begins with the number of
// votes it is listed under.
func bands(per []evaluate.VotesPerItem) []evaluate.VotesPerItem {
	least, most := per[0].Votes, per[len(per)-1].Votes
	step := evaluate.Number(math.Ceil(float64(most-least+1) / mostRows))
	var out []evaluate.VotesPerItem
	for from := least; from <= most; from += step {
		out = append(out, evaluate.VotesPerItem{Votes: from})
	}
	for _, p := range per {
		out[int((p.Votes-least)/step)].Items += p.Items
	}
	return out
}

// use shows how often classes are voted for.
func (r *checkReport) use(w *printout.Page) {
	w.Heading("Classes, and the chance that another vote on the item agrees")
	t := printout.NewTable(0, 3, 5)
	t.Add("  class", "votes", "share", "", "agrees", "95% interval")
	for _, c := range r.Classes[:min(len(r.Classes), 2*mostRows)] {
		t.Add("  "+printout.Ellipsis(c.Class, 24), words.Count(float64(c.Votes)), percent(c.Share, 1), shareBar(float64(c.Share), 15),
			decimal(c.Agreement.Value, 3), between(c.Agreement, 3))
	}
	w.Table(t)
	if more := len(r.Classes) - 2*mostRows; more > 0 {
		w.Note("and %d more: --json lists all", more)
	}
}

// disagreement shows between which classes, and on which items, votes differ.
func (r *checkReport) disagreement(w *printout.Page) {
	if len(r.Contested) == 0 {
		return
	}
	if len(r.classes) > 2 {
		w.Heading("Where disagreement sits: between the classes")
		t := printout.NewTable(0, 3)
		t.Add("", "share", "by chance", "")
		for _, c := range r.Confusions {
			t.Add("  "+printout.Ellipsis(c.First, 20)+" and "+printout.Ellipsis(c.Second, 20), percent(c.Share, 1), percent(c.Chance, 1), shareBar(float64(c.Share), 20))
		}
		w.Table(t)
		w.WriteByte('\n')
	}
	w.Heading("Where disagreement sits: the most contested items")
	t := printout.NewTable(0, 2)
	t.Add("  item", "pairs agree", "votes")
	for _, c := range r.Contested[:min(len(r.Contested), 5)] {
		var order []int
		for i, m := range c.Votes {
			if m > 0 {
				order = append(order, i)
			}
		}
		if len(order) > 5 { // they may not all be shown
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Votes[b], c.Votes[a]) })
		}
		var votes []string
		for _, i := range order {
			votes = append(votes, printout.Ellipsis(r.classes[i], 16)+": "+words.Count(c.Votes[i]))
		}
		t.Add("  "+printout.Ellipsis(c.Item, 30), percent(c.Agreement, 1), printout.Ellipsis(strings.Join(votes, ", "), 40))
	}
	w.Table(t)
}

// raters shows those who differ, the plainest cases first.
func (r *checkReport) raters(w *printout.Page) {
	if len(r.Raters) == 0 {
		return
	}
	differ := slices.DeleteFunc(slices.Clone(r.Raters), func(x evaluate.Rater) bool { return !x.Differs })
	least := func(x evaluate.Rater) float64 {
		p := 1.0
		for _, q := range []evaluate.Number{x.AgreementP, x.UsageP} {
			if q.Known() {
				p = min(p, float64(q))
			}
		}
		return p
	}
	slices.SortStableFunc(differ, func(a, b evaluate.Rater) int { return cmp.Compare(least(a), least(b)) })
	if len(differ) == 0 {
		w.Paragraph("", fmt.Sprintf("None of the %s votes unlike the others, as far as their votes can tell.", words.Plural(len(r.Raters), "rater")))
		return
	}
	w.Heading("Raters who differ: %d of %d", len(differ), len(r.Raters))
	t := printout.NewTable(0, 6)
	t.Add("  rater", "votes", "agrees", "expected", "p", "p, use", "votes more often for")
	for _, x := range differ[:min(len(differ), mostRows)] {
		t.Add("  "+printout.Ellipsis(x.Name, 20), words.Thousands(x.Votes), decimal(x.Agreement, 3), decimal(x.Expected, 3),
			pValue(x.AgreementP), pValue(x.UsageP), r.leaning(x))
	}
	w.Table(t)
	if more := len(differ) - mostRows; more > 0 {
		w.Note("and %d more: --json lists all", more)
	}
}

// apart says whether raters can be told apart by a model.
func (r *checkReport) apart(w *printout.Page) {
	g := r.RaterGraph
	if g.Votes == 0 {
		return
	}
	answer := map[bool]string{true: "Yes", false: "No"}[g.Apart]
	w.Heading("Can raters be told apart?  %s", answer)
	for _, reason := range g.Reasons {
		w.Paragraph("  - ", reason.String())
	}
	t := printout.NewTable(0, 1).Bare()
	t.Add("  votes per rater", fmt.Sprintf("mean %s, median %s, least %s, most %s", decimal(g.MeanVotes, 1), words.Count(float64(g.MedianVotes)),
		words.Thousands(g.LeastVotes), words.Thousands(g.MostVotes)))
	connected := "connected"
	if g.Components > 1 {
		connected = words.Thousands(g.Components) + " camps without a common item"
		if g.Modelled > 0 {
			connected += fmt.Sprintf("; %s of %s can be modelled", words.Thousands(g.Modelled), words.Plural(g.Raters, "rater"))
		}
	}
	t.Add("  items and raters", connected)
	if g.BiasSE.Known() {
		t.Add("  error of a lean", fmt.Sprintf("± %s expected on the logit scale, ± %s with the fewest votes", decimal(g.BiasSE, 2), decimal(g.BiasSEMost, 2)))
	}
	w.Table(t)
}

// leaning names the class that a rater uses most in excess of the others.
func (r *checkReport) leaning(x evaluate.Rater) string {
	best := 0
	for i, e := range x.Excess {
		if e > x.Excess[best] {
			best = i
		}
	}
	if len(x.Excess) == 0 || !(x.Excess[best] > 0.005) {
		return "-"
	}
	return fmt.Sprintf("%s (+%.0f%%)", printout.Ellipsis(r.classes[best], 16), 100*x.Excess[best])
}

// warn leaves out the reasons that the verdict has given.
func (r *checkReport) warn(w *printout.Page) {
	reasons := words.Each(r.Support.Reasons, evaluate.Message.String)
	given := func(text string) bool { return slices.Contains(reasons, text) }
	w.Bullets(slices.DeleteFunc(words.Each(r.Warnings, evaluate.Message.String), given))
}

// between writes the interval of an estimate.
func between(e evaluate.IntervalEstimate, decimals int) string {
	if !e.Lo.Known() || !e.Hi.Known() {
		return "-"
	}
	return decimal(e.Lo, decimals) + " to " + decimal(e.Hi, decimals)
}
