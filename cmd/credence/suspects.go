package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
	"credence/run"
)

// suspectsOptions is the command line of credence suspects.
type suspectsOptions struct {
	data       config.Settings
	most       int
	pseudonyms bool
	seed       uint64
	out        outputFlags
}

func newSuspects() *cobra.Command {
	var o suspectsOptions
	cmd := newVerb("suspects RUN [DATA...]", "List the votes that are most likely mistakes", "a run, and files of items if they are not those of training", o.run)
	f := cmd.Flags()
	f.IntVar(&o.most, "most", 20, "`votes` to list, 0 for all that are known")
	f.BoolVar(&o.pseudonyms, "pseudonyms", false, "replace rater names with pseudonyms")
	f.Uint64Var(&o.seed, "seed", run.DefaultPseudonyms, "`seed` of the pseudonyms")
	declare(f, &o.data, config.Evaluate)
	o.out.declare(f, "table", "md", "csv", "json", "jsonl", "parquet")
	return cmd
}

func (o *suspectsOptions) run(cmd *cobra.Command, args []string) error {
	path, files := args[0], args[1:]
	inputs := slices.Concat(runFiles(path), files, o.data.Load.Votes)
	if err := o.out.begin(cmd, inputs); err != nil {
		return err
	}
	if o.most < 0 {
		return usagef("--most %d: expected a number of votes, 0 for all", o.most)
	}
	if len(files) == 0 && len(o.data.Load.Votes) > 0 {
		return withHint(usagef("--votes: expected a file of items with the votes, found none"), "credence suspects RUN alone lists the votes of training")
	}
	r, err := o.suspects(cmd, path, files)
	if err != nil {
		return err
	}
	if o.most > 0 && o.most < len(r.Suspects) {
		r.Suspects = r.Suspects[:o.most]
	}
	if o.pseudonyms {
		r.UsePseudonyms(o.seed)
	}
	return o.out.write(cmd, r, suspectPage{r}.print, suspectPage{r}.writeRows)
}

// suspects returns the list that training recorded, or that of other votes.
func (o *suspectsOptions) suspects(cmd *cobra.Command, path string, files []string) (*evaluate.SuspectReport, error) {
	m, err := loadDistributions(cmd.ErrOrStderr(), path, "a list of suspect votes")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		r, err := run.FolderOf(path).Suspects()
		if errors.Is(err, run.ErrNoSuspects) {
			return nil, withHint(err, "credence suspects "+words.Quote(path)+" items.csv --votes votes.csv examines votes on other items, or train again")
		}
		return r, err
	}
	load, err := evaluationData(&o.data, files, "", cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	ds, err := run.FolderOf(path).ReadData(cmd.Context(), m, load)
	if err != nil {
		return nil, withFeatureHint(err)
	}
	defer ds.Close()
	dataWarnings(cmd.ErrOrStderr(), ds)
	if err := watchWarnings(cmd.ErrOrStderr(), m, ds); err != nil {
		return nil, err
	}
	reportAs(m, &o.data)
	in, err := run.Input(m, ds)
	if err != nil {
		return nil, err
	}
	if n, equal, err := run.FolderOf(path).Seen(m, ds); err != nil {
		return nil, err
	} else if n > 0 || equal {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: the model was trained on %s of these %s items and may have learned their mistakes: credence suspects %s lists the votes of training by networks that were not trained on them\n",
			words.Thousands(n), words.Thousands(ds.Len()), words.Quote(path))
	}
	r, err := evaluate.Suspects(cmd.Context(), in, ds, ds.Len()*len(ds.Classes)+len(ds.Ratings))
	if err != nil {
		return nil, fmt.Errorf("examining the votes on %s: %w", strings.Join(files, ", "), err)
	}
	return r, nil
}

// suspectPage is the report of credence suspects.
type suspectPage struct{ *evaluate.SuspectReport }

func (p suspectPage) print(w *printout.Page) {
	if len(p.Suspects) == 0 {
		w.Paragraph("", "There are no votes to examine.")
		return
	}
	t := w.NewTable(fmt.Sprintf("The most improbable of %s, given the other votes on the item", words.Plural(int(p.Votes), "vote")), 0, 1, 2, 4)
	t.Add("  item", "rater", "vote", "probability", "likely", "probability", "other votes")
	for _, x := range p.Suspects {
		rater := x.Rater
		if rater == "" {
			rater = "-"
		}
		t.Add("  "+printout.Ellipsis(x.Item, 24), printout.Ellipsis(rater, 20), printout.Ellipsis(x.Vote, 20), printout.Share(x.Probability),
			printout.Ellipsis(x.Likely, 20), printout.Share(x.LikelyProbability), fmt.Sprint(x.Others))
	}
	w.Table(t)
}

// writeRows writes one row per vote.
func (p suspectPage) writeRows(w io.Writer, form predict.Form) error {
	columns := []predict.Column{{Name: "item", Kind: predict.Text}, {Name: "rater", Kind: predict.Text}, {Name: "vote", Kind: predict.Text},
		{Name: "probability", Kind: predict.Number}, {Name: "likely", Kind: predict.Text}, {Name: "likely_probability", Kind: predict.Number},
		{Name: "others", Kind: predict.Number}}
	rows := make([][]any, len(p.Suspects))
	for i, x := range p.Suspects {
		rows[i] = []any{x.Item, x.Rater, x.Vote, x.Probability, x.Likely, x.LikelyProbability, x.Others}
		if x.Rater == "" {
			rows[i][1] = nil
		}
	}
	return predict.WriteRows(w, form, columns, rows)
}
