package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/evaluate"
	"credence/head"
	"credence/internal/kernel"
	"credence/internal/words"
)

// data returns the table that describes the items and votes.
func data(in *Input) []pair {
	var rows []pair
	add := func(name, value string) { rows = append(rows, pair{Name: name, Value: value}) }
	if p := in.Provenance; p != nil {
		if s := p.Split; s.Items > 0 {
			text := words.Plural(s.Items, "item") + ", " + words.Plural(s.Votes, "vote")
			if s.Unvoted > 0 {
				text += "; " + words.Plural(s.Unvoted, "item") + " without votes left out"
			}
			add("Trained on", text)
			turns := 0 // number of networks that held out some of the items
			for _, r := range p.Runs {
				turns += min(1, r.Held)
			}
			switch {
			case turns > 0 && turns < s.Folds:
				add("Held out", fmt.Sprintf("%d of %d folds, one per network: items of the other folds were never held out", turns, s.Folds))
			case s.Folds > 0:
				add("Held out", fmt.Sprintf("%d folds in turn, so that every item was held out once", s.Folds))
			case s.HeldOut > 0:
				add("Held out", words.Plural(s.HeldOut, "item")+", for early stopping")
			}
		}
		if p.Votes != "" {
			add("Vote format", p.Votes)
		}
	}
	if r := in.Result; r != nil {
		of := cmp.Or(in.Evaluated, "items")
		text := count(float64(r.Items)) + " " + of + ", " + words.Plural(float64(r.Votes), "vote")
		if n := r.Items - r.VotedItems; n > 0 {
			text += "; " + words.Plural(n, "item") + " without votes"
		}
		add("Evaluated on", text)
	}
	if n := in.Votes.Len(); n > 0 {
		totals := make([]float64, n)
		for j := range totals {
			totals[j] = in.Votes.Total(j)
		}
		slices.Sort(totals)
		text := count(totals[0])
		if totals[n-1] != totals[0] {
			text = fmt.Sprintf("%s to %s, median %s", count(totals[0]), count(totals[n-1]), count(totals[n/2]))
		}
		add("Votes per item", text)
	}
	add("Classes", strconv.Itoa(len(in.Classes)))
	return rows
}

// classTable returns the votes for each class and the mean prediction.
func classTable(in *Input, items []item) []classRow {
	if len(items) == 0 {
		return nil
	}
	voted, all := in.Votes.Classes > 0, 0.0
	total, mean := make([]float64, len(in.Classes)), make([]float64, len(in.Classes))
	for _, x := range items {
		weight := 1.0
		if voted { // weighted by votes, to be comparable with the share of votes
			weight = x.total
			kernel.Axpy64(1, x.votes, total)
		}
		kernel.Axpy64(weight, x.mean, mean)
		all += weight
	}
	var rows []classRow
	for i, name := range in.Classes {
		r := classRow{name, dash, dash, dash}
		if voted {
			r.Votes = count(total[i])
		}
		if all > 0 {
			r.Predicted = number(evaluate.Number(100*mean[i]/all), 1) + "%"
		}
		if voted && all > 0 {
			r.Share = number(evaluate.Number(100*total[i]/all), 1) + "%"
		}
		rows = append(rows, r)
	}
	return rows
}

// widths returns the table of interval widths by agreement.
func widths(r *evaluate.Result) []widthRow {
	var rows []widthRow
	for _, g := range r.Widths {
		name := map[string]string{"unanimous": "All votes agree", "mixed": "Votes differ"}[g.Group]
		if g.Class != "" {
			name = "All votes for " + g.Class
		}
		if g.Items > 0 {
			rows = append(rows, widthRow{name, count(float64(g.Items)), withError(g.Mean, 3), withError(g.Median, 3)})
		}
	}
	return rows
}

// resolved returns sentences on the intervals that carry little information.
func resolved(r *evaluate.Result, level float64) string {
	var sentences []string
	if r.AtLeast > 0 {
		sentences = append(sentences, fmt.Sprintf("For %s of %s, the %s interval ends so close to 0 or 1 that the training votes cannot resolve a narrower one: "+
			"its actual level is at least that high.", count(float64(r.AtLeast)), words.Plural(r.Items, "item"), percent(level)))
	}
	if r.Vacuous > 0 {
		sentences = append(sentences, fmt.Sprintf("For %s it is [0, 1]: nothing is known about them.", words.Plural(r.Vacuous, "item")))
	}
	return strings.Join(sentences, " ")
}

// runs returns the table of training runs.
func runs(in *Input) []runRow {
	if in.Provenance == nil {
		return nil
	}
	var rows []runRow
	for _, r := range in.Provenance.Runs {
		rows = append(rows, runRow{r.Name, r.Reason, count(float64(r.Items)), count(float64(r.Held)),
			strconv.Itoa(len(r.History)), strconv.Itoa(r.Epoch)})
	}
	return rows
}

// provenance returns the table that identifies the run.
func provenance(in *Input) []pair {
	var rows []pair
	add := func(name, value string, code bool) {
		if value != "" {
			rows = append(rows, pair{name, value, code})
		}
	}
	if p := in.Provenance; p != nil {
		add("Credence", p.Version, false)
		add("Data (SHA-256)", p.Data, true)
		add("Seed", strconv.FormatUint(p.Seed, 10), false)
		add("Instruction set", p.Kernel, false)
	}
	add("Network", in.Network, true)
	if in.Members > 0 {
		add("Networks", strconv.Itoa(in.Members), false)
	}
	if p := in.Provenance; p != nil && p.Trees != nil && p.Trees.Share > 0 {
		add("Share of trees", fmt.Sprintf("%.0f%%", 100*p.Trees.Share), false)
	}
	if m, ok := in.Method.(head.Mixture); ok {
		add("Components of each mixture", strconv.Itoa(m.Components), false)
	}
	if in.Parameters > 0 {
		add("Parameters", count(float64(in.Parameters)), false)
	}
	if r := in.Result; r != nil {
		add("Bootstrap", fmt.Sprintf("%s samples, seed %d", count(float64(r.Replicates)), r.Seed), false)
	}
	for _, f := range in.Files {
		add(f.Name+" (SHA-256)", f.SHA256, true)
	}
	return rows
}
