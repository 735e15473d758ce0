package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
	"credence/report"
	"credence/run"
)

// ratersOptions is the command line of credence raters.
type ratersOptions struct {
	out        outputFlags
	plot       string
	pseudonyms bool
	seed       uint64
}

func newRaters() *cobra.Command {
	var o ratersOptions
	cmd := newVerb("raters RUN", "Show the raters: votes, bias, guess rate, agreement", "a run or a model file", o.run)
	f := cmd.Flags()
	o.out.declare(f, "table", "md", "csv", "json")
	f.StringVar(&o.plot, "plot", "", "also write bias and guess rate with their intervals to this `file`, .svg")
	f.BoolVar(&o.pseudonyms, "pseudonyms", false, "replace rater names with pseudonyms")
	f.Uint64Var(&o.seed, "seed", run.DefaultPseudonyms, "`seed` of the pseudonyms")
	return cmd
}

func (o *ratersOptions) run(cmd *cobra.Command, args []string) error {
	path := args[0]
	if err := o.out.begin(cmd, runFiles(path), o.plot); err != nil {
		return err
	}
	m, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	r, err := run.Raters(m, path)
	if errors.Is(err, run.ErrNoRaters) {
		return withHint(fmt.Errorf("%w: its votes did not name them", err),
			"train on votes with a column of raters (long form), or with one column per rater (wide form)")
	}
	if err != nil {
		return err
	}
	if o.plot != "" && !r.Modelled {
		return withHint(fmt.Errorf("--plot %s: raters are not modelled in %s, so there are no biases and guess rates to draw", o.plot, path),
			"train with --raters on")
	}
	if o.pseudonyms {
		r.UsePseudonyms(o.seed)
	}
	warnAlike(cmd.ErrOrStderr(), r)
	if err := o.out.write(cmd, r, ratersReport{r}.print, ratersReport{r}.writeRows); err != nil {
		return err
	}
	if o.plot == "" {
		return nil
	}
	return atomicfile.Write(o.plot, func(w io.Writer) error { return report.WriteRaters(w, r) })
}

// warnAlike warns about names that may be different spellings of one rater.
func warnAlike(w io.Writer, r *evaluate.RaterReport) {
	var pairs []string
	for _, x := range r.Raters {
		if x.Like != "" {
			pairs = append(pairs, fmt.Sprintf("%+q and %+q", x.Like, x.Name))
		}
	}
	if len(pairs) > 0 {
		fmt.Fprintf(w, "credence: warning: %v: %s\n", dataset.ErrRaterNames, words.Few(pairs))
	}
}

// ratersReport is the report of credence raters.
type ratersReport struct{ *evaluate.RaterReport }

func (r ratersReport) print(w *printout.Page) { w.Sections(r.heading, r.table, r.notes) }

func (r ratersReport) heading(w *printout.Page) {
	text := words.Plural(len(r.Raters), "rater") + ", not modelled: shown is how they vote compared with the others"
	if r.Modelled {
		text = words.Plural(len(r.Raters), "rater") + ", modelled"
		average := func(x evaluate.RaterEstimate) bool { return x.Average }
		if modelled := slices.DeleteFunc(slices.Clone(r.Raters), average); len(modelled) < len(r.Raters) {
			text = fmt.Sprintf("%s, %s of them modelled", words.Plural(len(r.Raters), "rater"), words.Thousands(len(modelled)))
		}
		if r.BiasSD.Known() {
			text += fmt.Sprintf("; biases have a standard deviation of %s", decimal(r.BiasSD, 2))
		}
	}
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	w.Paragraph("", text+".")
}

// ratersShown is the largest number of raters in the table.
const ratersShown = 60

func (r ratersReport) table(w *printout.Page) {
	list := r.Raters
	if len(list) > ratersShown { // those with flags first
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b evaluate.RaterEstimate) int { return cmp.Compare(len(b.Flags), len(a.Flags)) })
		list = list[:ratersShown]
	}
	leans := r.BiasSD.Known()
	t := printout.NewTable(0)
	header := []string{"rater", "votes"}
	if leans {
		header = append(header, "bias", "95% interval")
	}
	scaled := slices.ContainsFunc(list, func(x evaluate.RaterEstimate) bool { return x.Scale.Value > 0 })
	if scaled {
		header = append(header, "scale", "95% interval")
	}
	if r.Modelled {
		header = append(header, "guesses", "95% interval")
	}
	t.Add(append(header, "others agree", "expected", "")...)
	t.Left(len(header) + 2)
	for _, x := range list {
		row := []string{printout.Ellipsis(x.Name, 24), words.Count(float64(x.Votes))}
		if leans {
			row = append(row, decimal(x.Bias.Value, 2), between(x.Bias, 2))
		}
		switch {
		case scaled && x.Scale.Value > 0:
			row = append(row, decimal(x.Scale.Value, 2), between(x.Scale, 2))
		case scaled:
			row = append(row, "", "")
		}
		if r.Modelled {
			row = append(row, decimal(x.Guess.Value, 2), between(x.Guess, 2))
		}
		t.Add(append(row, percent(x.Agreement, 1), percent(x.Expected, 1), strings.Join(x.Marks(), ", "))...)
	}
	w.Table(t)
	if more := len(r.Raters) - len(list); more > 0 {
		w.Note("and %s more: --json or -o raters.csv lists all", words.Thousands(more))
	}
}

func (r ratersReport) notes(w *printout.Page) {
	switch {
	case !r.Modelled:
		w.Paragraph("", "\"differs\" is a rater who agrees with others, or uses a class, unlike an exchangeable one would (5% for all together).")
	case r.BiasSD.Known():
		w.Paragraph("", fmt.Sprintf("A bias towards %s shifts the logit; the mean over votes is 0. Guesses are votes that have nothing to do with the item. "+
			"\"leans\": not 0 at 5%% for all raters together; \"guesses\": more than 5%% of the votes. What all raters have in common "+
			"cannot be seen: these are differences from an average rater.", cmp.Or(r.Class, "the second class")))
	default:
		w.Paragraph("", "Guesses are votes that have nothing to do with the item; \"guesses\": more than 5% of the votes. What all raters have "+
			"in common cannot be seen: these are differences from an average rater.")
	}
	if slices.ContainsFunc(r.Raters, func(x evaluate.RaterEstimate) bool { return x.Average }) {
		w.Paragraph("", "\"average\": not modelled, because no shared items connect the rater with enough others; the votes count as cast by an "+
			"average rater, and the interval of the bias is that of the prior.")
	}
	if r.Pseudonymous {
		w.Paragraph("", "Names are pseudonyms.")
	}
}

// writeRows writes a row per rater.
func (r ratersReport) writeRows(w io.Writer, form predict.Form) error {
	text, number := predict.Text, predict.Number
	columns := []predict.Column{{Name: "rater", Kind: text}, {Name: "votes", Kind: number}}
	for _, name := range []string{"lean", "lean_se", "lean_lower", "lean_upper", "guess", "guess_se", "guess_lower", "guess_upper", "agreement", "expected"} {
		columns = append(columns, predict.Column{Name: name, Kind: number})
	}
	columns = append(columns, predict.Column{Name: "flags", Kind: text})
	var rows [][]any
	for _, x := range r.Raters {
		rows = append(rows, []any{x.Name, known(x.Votes), known(x.Bias.Value), known(x.Bias.SE), known(x.Bias.Lo), known(x.Bias.Hi),
			known(x.Guess.Value), known(x.Guess.SE), known(x.Guess.Lo), known(x.Guess.Hi), known(x.Agreement), known(x.Expected),
			strings.Join(x.Marks(), " ")})
	}
	return predict.WriteRows(w, form, columns, rows)
}
