package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// evaluationData returns the options for loading the data to evaluate on.
func evaluationData(s *config.Settings, data []string, truth string, stdin io.Reader) (dataset.LoadOptions, error) {
	o := s.LoadOptions()
	o.Data, o.Truth = data, truth
	if len(o.Votes) > 0 {
		o.FeatureOptions.Ignore = nil
	}
	text, err := readStdin(stdin, slices.Concat(o.Data, o.Votes, []string{o.Truth})...)
	o.FeatureOptions.Stdin, o.VotesOptions.Stdin = text, text
	return o, err
}

// useRunVotes sets the votes to those that the run was trained on if --part is given
// without votes.
func (o *evaluateOptions) useRunVotes(w io.Writer, path string, load *dataset.LoadOptions) {
	if o.split == "" || len(load.Votes) > 0 || load.VotesOptions.Columns != nil || load.VotesOptions.LabelColumn != "" {
		return
	}
	if load.Votes = run.FolderOf(path).TrainedVotes(); load.Votes != nil {
		load.FeatureOptions.Ignore = nil
		fmt.Fprintf(w, "credence: votes are those of %s, as in training\n", strings.Join(load.Votes, ", "))
	}
}

// dataWarnings writes the warnings about data that a model is evaluated on, or that are only checked. Those that
// matter only for training are omitted or shortened.
func dataWarnings(w io.Writer, ds *dataset.Dataset) {
	for _, err := range ds.Warnings {
		if errors.Is(err, dataset.ErrOneVote) {
			continue
		}
		text := warningText(err)
		if n, ok := errors.AsType[dataset.Unvoted](err); ok {
			text = words.Plural(int(n), "item") + " without votes"
		}
		fmt.Fprintf(w, "credence: warning: %s\n", text)
	}
}

// watchWarnings writes warnings about features of ds that differ from those that m was
// trained on. Volumes are skipped: preparing them takes long, and it brings them to one
// scale.
func watchWarnings(w io.Writer, m *model.Model, ds *dataset.Dataset) error {
	if slices.ContainsFunc(ds.Features, func(p dataset.Feature) bool { return p.Volume != nil }) {
		return nil
	}
	watch := m.Transform.NewWatch()
	if err := watch.Add(ds, nil); err != nil {
		return err
	}
	for _, err := range watch.Warnings() {
		fmt.Fprintf(w, "credence: warning: %s\n", warningText(err))
	}
	return nil
}

// byOptions are the flags for dispersion ratios by subgroups of items.
type byOptions struct {
	by, bins []string
	columns  []evaluate.Column // values are not set
}

func (o *byOptions) declare(f *pflag.FlagSet) {
	f.StringSliceVar(&o.by, "by", nil, "report the dispersion, and decisions, by level of these `columns` of DATA")
	f.StringSliceVar(&o.bins, "bins", nil, "report the dispersion in n bins of a numeric column, `column=n`; spread=n bins the predicted spread (default spread=4)")
}

// spreadName is the name of the predicted spread in --bins.
const spreadName = "spread"

// check parses the flags.
func (o *byOptions) check() error {
	o.columns = nil
	for _, name := range o.by {
		o.columns = append(o.columns, evaluate.Column{Name: name})
	}
	for _, text := range o.bins {
		at := strings.LastIndex(text, "=")
		if at <= 0 {
			return usagef("--bins %s: expected a column and a number of bins, such as age=4", text)
		}
		n, err := strconv.Atoi(text[at+1:])
		if err != nil || n < 1 || n > 100 {
			return usagef("--bins %s: expected a number of bins from 1 to 100 after the =", text)
		}
		o.columns = append(o.columns, evaluate.Column{Name: text[:at], Bins: n})
	}
	for i, c := range o.columns {
		if slices.ContainsFunc(o.columns[:i], func(d evaluate.Column) bool { return d.Name == c.Name }) {
			return usagef("--by and --bins: duplicate column %s", c.Name)
		}
	}
	return nil
}

// read returns the columns with their values for the items of ds. These are a subset
// of all, the data loaded with the given options.
func (o *byOptions) read(ctx context.Context, path string, m *model.Model, load dataset.LoadOptions,
	all, ds *dataset.Dataset) ([]evaluate.Column, error) {
	columns := slices.Clone(o.columns)
	var names []string
	var to []int
	for i, c := range columns {
		if c.Name != spreadName || c.Bins == 0 {
			names, to = append(names, c.Name), append(to, i)
		}
	}
	if names == nil {
		return columns, nil
	}
	values, err := readValues(ctx, path, m, load, all, ds, names)
	if err != nil {
		return nil, err
	}
	for k, i := range to {
		columns[i].Values = values[k]
	}
	return columns, nil
}
