package run

import (
	"cmp"
	"context"
	"os"
	"slices"

	"credence/dataset"
	"credence/internal/config"
	"credence/model"
)

// ReadAs has files read as those of the run were, where o leaves that open: the
// spellings of missing values, the columns of votes beside the features and, where files
// have them, the columns of ids. A
// model file without the configuration of its run tells none of this.
func (f Folder) ReadAs(o *dataset.LoadOptions) {
	var trained config.Settings
	if err := trained.File(f.Path(ConfigFile)); err != nil {
		return // the model is complete without it
	}
	features, votes := &o.FeatureOptions, &o.VotesOptions
	if features.NA == nil {
		features.NA, votes.NA = trained.Load.FeatureOptions.NA, trained.Load.FeatureOptions.NA
	}
	votesAs(o, &trained.Load)
	readSheets(o, &trained.Load)
	if features.ItemColumn != "" {
		return
	}
	features.ItemColumn, features.ItemOptional = trained.Load.FeatureOptions.ItemColumn, true
	// Votes beside the features have their column; an array has none.
	if votes.ItemColumn != "" || len(o.Votes) == 0 || slices.ContainsFunc(o.Votes, dataset.IsArray) {
		return
	}
	votes.ItemColumn = cmp.Or(trained.Load.VotesOptions.ItemColumn, features.ItemColumn)
	votes.ItemOptional = true
}

// votesAs has votes beside the features read from the columns that training read them
// from, if there were such and o names neither columns nor files.
func votesAs(o *dataset.LoadOptions, trained *dataset.LoadOptions) {
	own, given := &o.VotesOptions, &trained.VotesOptions
	if len(o.Votes) > 0 || len(trained.Votes) > 0 || own.Columns != nil || own.LabelColumn != "" {
		return
	}
	own.Columns, own.LabelColumn = given.Columns, given.LabelColumn
	own.RaterColumn = cmp.Or(own.RaterColumn, given.RaterColumn)
	own.CountColumn = cmp.Or(own.CountColumn, given.CountColumn)
	own.TotalColumn = cmp.Or(own.TotalColumn, given.TotalColumn)
	own.Form = cmp.Or(own.Form, given.Form)
	own.Duplicates = cmp.Or(own.Duplicates, given.Duplicates)
}

// TrainedVotes returns the files of votes that the run was trained on, if all are still
// there.
func (f Folder) TrainedVotes() []string {
	var trained config.Settings
	if err := trained.File(f.Path(ConfigFile)); err != nil {
		return nil
	}
	for _, path := range trained.Load.Votes {
		if _, err := os.Stat(path); err != nil {
			return nil
		}
	}
	return trained.Load.Votes
}

// readSheets has workbooks read as those of the run were, where they have its sheets.
func readSheets(o, trained *dataset.LoadOptions) {
	features, votes := &o.FeatureOptions, &o.VotesOptions
	if features.Sheet == "" {
		features.Sheet, features.SheetOptional = trained.FeatureOptions.Sheet, true
	}
	if votes.Sheet == "" {
		votes.Sheet, votes.SheetOptional = cmp.Or(trained.VotesOptions.Sheet, features.Sheet), true
	}
}

// ReadData reads items and the votes on them for m, the model of the run, as the
// run's own were read. Columns that the model does not know are left out; votes
// are for its classes.
func (f Folder) ReadData(ctx context.Context, m *model.Model, o dataset.LoadOptions) (*dataset.Dataset, error) {
	f.ReadAs(&o)
	o.FeatureOptions.Schema = m.Transform.Parts()
	o.VotesOptions.Classes, o.VotesOptions.LeaveOut = m.Classes, true
	return dataset.Load(ctx, o)
}

// ReadColumns reads further columns of the files that ds was read from by ReadData
// with the same options; see [dataset.Dataset.ReadColumns].
func (f Folder) ReadColumns(ctx context.Context, m *model.Model, ds *dataset.Dataset, o dataset.LoadOptions, names []string) ([][]string, error) {
	f.ReadAs(&o)
	o.FeatureOptions.Schema = m.Transform.Parts()
	return ds.ReadColumns(ctx, o, names)
}
