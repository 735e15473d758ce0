package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// evaluationData returns how the features in files are read, and their votes.
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

// votesOfRun takes the votes that the run was trained on for a part of its items, unless
// others are given.
func (o *evaluateOptions) votesOfRun(w io.Writer, path string, load *dataset.LoadOptions) {
	if o.part == "" || len(load.Votes) > 0 || load.VotesOptions.Columns != nil || load.VotesOptions.LabelColumn != "" {
		return
	}
	if load.Votes = run.FolderOf(path).TrainedVotes(); load.Votes != nil {
		load.FeatureOptions.Ignore = nil
		fmt.Fprintf(w, "credence: votes are those of %s, as in training\n", strings.Join(load.Votes, ", "))
	}
}

// dataWarnings writes the warnings of data that nothing is to be learned from,
// without those that are about learning alone.
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

// watchWarnings writes what sets the features of ds apart from those that m was
// trained on. Volumes are not read for it: preparing them takes long and brings them
// to one scale.
func watchWarnings(w io.Writer, m *model.Model, ds *dataset.Dataset) error {
	if slices.ContainsFunc(ds.Parts, func(p dataset.Part) bool { return p.Volume != nil }) {
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
