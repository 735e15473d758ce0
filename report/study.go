package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/internal/words"
)

// Study is what a page needs to serve as the report of a study, in addition to that of a run: a first page for people
// who decide about the model, the methods, the TRIPOD+AI checklist and a table of all items.
type Study struct {
	Card     *Card             // nil if there is none; with one, the page has the checklist
	Features []dataset.Feature // of the model
	Model    string            // SHA-256 of the model file
	Data     string            // SHA-256 of the evaluated data
	Read     int               // number of items in the files, of which those evaluated may be a part
	Part     string            // of the run's split that was evaluated, "" for all
	Seen     int               // evaluated items that the model was trained on
	Group    string            // column by which items belong together, "" if there is none
	// Calibration and Recalibration are those of the model.
	Calibration   *calibrate.Calibration
	Recalibration *calibrate.Recalibration
}

// checklist reports whether the page has the TRIPOD+AI checklist.
func (s *Study) checklist() bool { return s != nil && s.Card != nil }

// front is the first page.
type front struct {
	Question   []string
	Data       string
	Main       []row
	Subgroups  []subgroup
	ScoreName  string // of the second score of subgroups, "" if there is none
	GroupsNote string
	Use        []statement
	Warning    string
}

// statement is a text of the card under its name; Text is nil if the card lacks it.
type statement struct {
	Name string
	Text []string
}

// subgroup is a row of the table of subgroups.
type subgroup struct{ Column, Name, Items, Score, Ratio string }

// newFront returns the first page.
func (p *page) newFront() *front {
	in, card, r := p.in, p.study.Card, p.in.Result
	f := &front{Question: card.paragraphs("question"), Data: p.methods.sizes}
	if f.Question == nil {
		f.Question = []string{question(in)}
	}
	if data := card.text("data"); data != "" {
		f.Data = data + " " + f.Data
	}
	for _, k := range []struct{ key, name string }{
		{"intended_use", "Intended use"}, {"users", "Users"}, {"population", "Population"}, {"out_of_scope", "Not for"}, {"limits", "Limits"},
	} {
		text := card.paragraphs(k.key)
		if text != nil || k.key == "intended_use" || k.key == "limits" {
			f.Use = append(f.Use, statement{k.name, text})
		}
	}
	if r != nil {
		f.Main = mainScores(r)
		f.Subgroups, f.ScoreName, f.GroupsNote = subgroups(r)
	}
	f.Warning = frontWarning(p)
	return f
}

// frontWarnings is the maximum number of warnings on the first page.
const frontWarnings = 3

// frontWarning returns the first warnings, those on the evaluation before those on training.
func frontWarning(p *page) string {
	var first []string
	if r := p.in.Result; r != nil {
		for _, w := range r.Warnings {
			first = append(first, sentence(w.String()))
		}
	}
	for _, w := range p.Warnings {
		if !slices.Contains(first, w) {
			first = append(first, w)
		}
	}
	if n := len(first); n > frontWarnings {
		first = append(first[:frontWarnings], fmt.Sprintf("(%d more below.)", n-frontWarnings))
	}
	return strings.Join(first, " ")
}

// question returns the question that an evaluation answers if the card states none.
func question(in *Input) string {
	quoted := func(c string) string { return "“" + c + "”" }
	if d := decisions(in); d != nil {
		what := "a further rater would say so"
		switch d.Reference {
		case evaluate.ReferenceMajority:
			what = "most raters say so"
		case evaluate.ReferenceGold:
			what = "the reference standard (" + cmp.Or(d.Column, "gold labels") + ") says so"
		}
		return fmt.Sprintf("How well does the model distinguish items that are %s from others, where an item is %s if %s, and are its probabilities "+
			"and intervals right?", quoted(d.Positive), quoted(d.Positive), what)
	}
	return fmt.Sprintf("How well does the model predict which of %s a further rater would choose, and are its probabilities and intervals right?",
		some(words.Each(in.Classes, quoted), 8))
}

// decisions returns the scores of decisions, or nil.
func decisions(in *Input) *evaluate.Decisions {
	if in.Result == nil {
		return nil
	}
	return in.Result.Decisions
}

// mainScores returns the scores of the first page.
func mainScores(r *evaluate.Result) []row {
	var rows []row
	if d := r.Decisions; d != nil {
		rows = frontDecisions(d)
	} else {
		rows = append(rows, further(r)[0])
	}
	better := row{Name: "Loss per vote", Value: withError(r.NLL, 3), Meaning: "Mean negative log-likelihood of a vote; lower is better."}
	if d := r.LessLogisticDM; d != nil && d.Value.Known() {
		better.Meaning += fmt.Sprintf(" Logistic regression: %s; difference %s [%s, %s].", number(r.LogisticDMNLL.Value, 3),
			number(d.Value, 3), number(d.Lo, 3), number(d.Hi, 3))
	}
	rows = append(rows, better)
	for _, x := range further(r) {
		if x.Name == "Calibration error" && r.Decisions == nil || x.Name == "Dispersion ratio" {
			rows = append(rows, x)
		}
	}
	return rows
}

// frontDecisions returns the main scores of decisions.
func frontDecisions(d *evaluate.Decisions) []row {
	rows := []row{
		{Name: "Prevalence", Value: ranged(d.Prevalence, 3), Meaning: fmt.Sprintf("Share of %s in the reference.", d.Positive)},
		{Name: "AUC", Value: ranged(d.AUC, 3), Meaning: fmt.Sprintf("Probability that an item with a vote for %s is ranked above one with another.", d.Positive)},
	}
	if d.Reference == evaluate.ReferenceGold {
		rows[1].Meaning = fmt.Sprintf("Probability that an item that is %s is ranked above one that is not.", d.Positive)
	}
	for _, t := range d.Thresholds {
		at := fmt.Sprintf(" from %.3g", t.Threshold)
		rows = append(rows,
			row{Name: "Sensitivity" + at, Value: ranged(t.Sensitivity, 3), Meaning: "Specificity " + ranged(t.Specificity, 3) + "."},
			row{Name: "PPV" + at, Value: ranged(t.PPV, 3), Meaning: "NPV " + ranged(t.NPV, 3) + "; net benefit " + ranged(t.NetBenefit, 3) + "."})
	}
	return append(rows, row{Name: "Calibration slope", Value: ranged(d.Slope, 2),
		Meaning: "1 is best; observed over expected " + ranged(d.OE, 2) + ", average error of the curve (ICI) " + withError(d.Smooth.ICI, 3) + "."})
}

// frontLevels is the maximum number of levels of a column on the first page.
const frontLevels = 6

// subgroups returns the table of subgroups by the levels of columns: the dispersion ratio and, if decisions are scored,
// the AUC. Levels are those of decisions if there are any: the ratio needs items with two votes.
func subgroups(r *evaluate.Result) (rows []subgroup, score, note string) {
	var tests []string
	ratios := map[[2]string]string{}
	cut := false
	add := func(column string, i int, row subgroup) {
		if cut = cut || i == frontLevels; i < frontLevels {
			if i == 0 {
				row.Column = column
			}
			rows = append(rows, row)
		}
	}
	for _, c := range r.DispersionBy {
		if c.Column == "spread" {
			continue
		}
		for i, l := range c.Levels {
			ratios[[2]string{c.Column, l.Name}] = ranged(l.Ratio, 2)
			if r.Decisions == nil {
				add(c.Column, i, subgroup{Name: l.Name, Items: count(float64(l.Items)), Ratio: ranged(l.Ratio, 2)})
			}
		}
		if len(c.Levels) > 1 {
			tests = append(tests, fmt.Sprintf("equal ratios for all levels of %s: p-value %s", c.Column, pValue(c.PValue)))
		}
	}
	if r.Decisions != nil {
		score = "AUC"
		for _, c := range r.Decisions.By {
			for i, l := range c.Levels {
				ratio := cmp.Or(ratios[[2]string{c.Column, l.Name}], dash)
				add(c.Column, i, subgroup{Name: l.Name, Items: count(float64(l.Items)), Score: ranged(l.AUC, 3), Ratio: ratio})
			}
			for _, h := range c.Heterogeneity {
				if h.Score == "auc" && h.PValue.Known() {
					tests = append(tests, fmt.Sprintf("equal AUC for all levels of %s: p-value %s", c.Column, pValue(h.PValue)))
				}
			}
		}
	}
	note = sentence(strings.Join(tests, "; "))
	if cut {
		note += fmt.Sprintf(" The first %d levels of a column are shown here, further ones in the figures.", frontLevels)
	}
	return rows, score, note
}

// box is a box of the flow of items and votes; Out is what leaves before it.
type box struct{ Text, Out string }

var flowTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("flow").Parse(`<div class="flow">
{{- range .}}
<div><b>{{.Name}}</b>
{{- range .Boxes}}
{{- if .Out}}<p class="out">{{.Out}}</p>{{end}}<p class="box">{{.Text}}</p>
{{- end}}</div>
{{- end}}
</div>
`))
})

// flow draws how many items and votes go into training and evaluation, and how many are left out.
func (g *gallery) flow(in *Input) *figure {
	type column struct {
		Name  string
		Boxes []box
	}
	var columns []column
	if p := in.Provenance; p != nil && p.Split.Items > 0 {
		s := p.Split
		boxes := []box{{Text: words.Plural(s.Items, "item") + " given"}}
		if s.Unvoted > 0 {
			boxes = append(boxes, box{Out: words.Plural(s.Unvoted, "item") + " without votes"})
		} else {
			boxes = append(boxes, box{})
		}
		boxes[1].Text = words.Plural(s.Items-s.Unvoted, "item") + " with " + words.Plural(s.Votes, "vote")
		text := words.Plural(max(1, in.Members), "network")
		switch {
		case s.Folds > 0:
			text += fmt.Sprintf(", each without one of %d folds, on which it stops", s.Folds)
		case s.HeldOut > 0:
			text += fmt.Sprintf(", without %s, on which they stop", words.Plural(s.HeldOut, "item"))
		}
		columns = append(columns, column{"Training", append(boxes, box{Text: text})})
	}
	if r := in.Result; r != nil {
		var boxes []box
		out := ""
		if n := in.Study.Read - r.Items; n > 0 {
			boxes = append(boxes, box{Text: words.Plural(in.Study.Read, "item") + " read"})
			out = words.Plural(n, "item") + " of other parts of the split"
		}
		if n := r.Items - r.VotedItems; n > 0 {
			boxes = append(boxes, box{Text: words.Plural(r.Items, "item") + " predicted", Out: out})
			out = words.Plural(n, "item") + " without votes"
		}
		boxes = append(boxes, box{Text: words.Plural(r.VotedItems, "item") + " with " + words.Plural(float64(r.Votes), "vote"), Out: out})
		if in.Votes.Classes > 0 {
			boxes = append(boxes, box{Text: strings.Join(classVotes(in), ", ")})
		}
		columns = append(columns, column{"Evaluation", boxes})
	}
	if len(columns) == 0 {
		return nil
	}
	var b strings.Builder
	if err := flowTemplate().Execute(&b, columns); err != nil {
		g.err = cmp.Or(g.err, err)
		return nil
	}
	g.count++
	return &figure{g.count, "Items and votes in training and in this evaluation; what leaves is in italics.", template.HTML(b.String())}
}

// classVotes returns the votes for each class: "benign 213 votes".
func classVotes(in *Input) []string {
	total := make([]float64, len(in.Classes))
	for j := range in.Votes.Len() {
		for i, v := range in.Votes.Item(j) {
			total[i] += v
		}
	}
	list := words.Each(slices.Clone(in.Classes), func(c string) string { return c })
	for i := range list {
		list[i] += " " + words.Plural(total[i], "vote")
	}
	if len(list) > 6 {
		list = append(list[:6], fmt.Sprintf("%d other classes", len(list)-6))
	}
	return list
}
