package main

import (
	"path/filepath"
	"strings"

	"credence/dataset"
	"credence/internal/config"
	"credence/run"
)

// asTrained reads files the way the run's were, where flags do not say
// otherwise: the spellings of missing values and, where files have them, the
// columns of ids, which it returns. A model file without the configuration of
// its run tells none of this.
func asTrained(s *config.Settings, path string) (recorded recordedColumns) {
	entries, err := config.Read(run.FolderOf(path).Path(run.ConfigFile))
	if err != nil {
		return recorded // the model is complete without it
	}
	given := map[string][]string{}
	for _, e := range entries {
		given[e.Name] = e.Texts
	}
	if !s.Given("na") {
		s.Load.FeatureOptions.NA = given["na"]
	}
	if s.Given("item") {
		return recorded
	}
	if item := given["item"]; len(item) > 0 {
		recorded = recordedColumns{item: item[0], votesItem: item[0]}
	}
	if item := given["votes-item"]; len(item) > 0 {
		recorded.votesItem = item[0]
	}
	if votes := s.Load.Votes; votes == "" || strings.EqualFold(filepath.Ext(votes), ".npy") {
		recorded.votesItem = "" // that of the features, or none
	}
	return recorded
}

// recordedColumns are the columns of ids in the files that a run was trained on;
// "" for one that was found by its name, or that a flag names.
type recordedColumns struct {
	item, votesItem string
}

// items names the column of ids of features, which a file need not have.
func (r recordedColumns) items(o *dataset.FeatureOptions) {
	if o.ItemColumn == "" {
		o.ItemColumn, o.ItemOptional = r.item, true
	}
}

// votes does the same for the file of votes.
func (r recordedColumns) votes(o *dataset.VotesOptions) {
	if o.ItemColumn == "" {
		o.ItemColumn, o.ItemOptional = r.votesItem, true
	}
}
