package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
)

// The names of the splits.
const (
	trainSplit      = "train"
	validationSplit = "validation"
	TestSplit       = "test"
)

// SplitNames lists the names of the splits, as in split.csv.
var SplitNames = []string{trainSplit, validationSplit, TestSplit}

// ErrNoSplit is the error when a split is requested from a run that trained on
// all items.
var ErrNoSplit = errors.New("no " + splitFile)

// Partition specifies how a run uses the items of a data set.
type Partition struct {
	Split *dataset.Split   // nil if all items are trained on
	Items *dataset.Dataset // the whole data set
	Learn *dataset.Dataset // the items used in training
	Held  []int            // items of Learn that every network holds out
}

// Divide makes a split with the given shares, or uses the split given in the data:
// the test items are not used in training, the validation items are held out by every network.
// Groups are kept together, and the splits have similar shares of majority classes.
func Divide(ds *dataset.Dataset, validation, test float64, seed uint64) (*Partition, error) {
	d := &Partition{Items: ds, Learn: ds}
	if ds.Given == nil && test+validation == 0 {
		return d, nil
	}
	if validation == 0 {
		validation = -1 // none
	}
	var err error
	if d.Split, err = dataset.NewSplit(ds, dataset.SplitOptions{Validation: validation, Test: test, Seed: seed}); err != nil {
		return nil, err
	}
	keep := slices.Concat(d.Split.Train, d.Split.Validation)
	slices.Sort(keep)
	for at, j := range keep {
		if _, found := slices.BinarySearch(d.Split.Validation, j); found {
			d.Held = append(d.Held, at)
		}
	}
	d.Learn = ds.Select(keep)
	return d, nil
}

// splits returns the split that each item is in, "" for items in none.
func (d *Partition) splits() []string {
	names := make([]string, d.Items.Len())
	for i, rows := range [][]int{d.Split.Train, d.Split.Validation, d.Split.Test} {
		for _, j := range rows {
			names[j] = SplitNames[i]
		}
	}
	return names
}

// writeSplit writes the split that each item is in; items in none are omitted.
func (f Folder) writeSplit(d *Partition) error {
	if d.Split == nil {
		return nil
	}
	rows := [][]string{{"item", "part"}}
	for j, split := range d.splits() {
		if split != "" {
			rows = append(rows, []string{d.Items.Items[j], split})
		}
	}
	return f.writeCSV(splitFile, rows)
}

// readSplit returns the split that each item is in, or nil if the run has no such file.
func (f Folder) readSplit() (map[string]string, error) {
	path := f.Path(splitFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := csv.NewReader(bytes.NewReader(text))
	c.FieldsPerRecord = 2
	rows, err := c.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	splits := map[string]string{}
	for _, row := range rows[min(1, len(rows)):] {
		if !slices.Contains(SplitNames, row[1]) {
			return nil, fmt.Errorf("reading %s: item %q: expected a part of %v, found %q", path, row[0], SplitNames, row[1])
		}
		splits[row[0]] = row[1]
	}
	return splits, nil
}

// Split returns the items of ds that were in one split of the run: [SplitNames] has their names. If the
// run has none, the error is ErrNoSplit.
func (f Folder) Split(ds *dataset.Dataset, name string) (*dataset.Dataset, error) {
	splits, err := f.readSplit()
	if err != nil {
		return nil, err
	}
	if splits == nil {
		return nil, fmt.Errorf("%w in %s", ErrNoSplit, f)
	}
	var rows []int
	for i, id := range ds.Items {
		if splits[id] == name {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("none of the %s is in the %s part of %s", words.Plural(ds.Len(), "item"), name, f.Path(splitFile))
	}
	return ds.Select(rows), nil
}

// Seen returns the number of items of ds that were used in training m, the model of the
// run. equal reports whether ds is the data set that m was trained on.
func (f Folder) Seen(m *model.Model, ds *dataset.Dataset) (n int, equal bool, err error) {
	hash, err := ds.Hash()
	if err != nil {
		return 0, false, err
	}
	if hash == m.Provenance.Data {
		return ds.Len(), true, nil
	}
	splits, err := f.readSplit()
	if err != nil {
		return 0, false, err
	}
	for _, id := range ds.Items {
		if s := splits[id]; s == trainSplit || s == validationSplit {
			n++
		}
	}
	return n, false, nil
}

// ReadAs sets options that o leaves unset to those that the files of the run were read
// with: the spellings of missing values, the backbone, the columns of votes in the files of features and, where
// files have them, the columns of ids. It does nothing for a model file
// without the configuration of its run.
func (f Folder) ReadAs(o *dataset.LoadOptions) {
	var trained config.Settings
	if err := trained.File(f.Path(ConfigFile)); err != nil {
		return // the model is complete without it
	}
	features, votes := &o.FeatureOptions, &o.VotesOptions
	if features.NA == nil {
		features.NA, votes.NA = trained.Load.FeatureOptions.NA, trained.Load.FeatureOptions.NA
	}
	if features.Merge == nil && !features.FoldCase {
		as := &trained.Load.FeatureOptions
		features.Merge, features.FoldCase, votes.Merge, votes.FoldCase = as.Merge, as.FoldCase, as.Merge, as.FoldCase
	}
	if features.Backbone.Path == "" {
		features.Backbone.Path = trained.Load.FeatureOptions.Backbone.Path
	}
	votesAs(o, &trained.Load)
	readSheets(o, &trained.Load)
	if features.ItemColumn != "" {
		return
	}
	features.ItemColumn, features.ItemOptional = trained.Load.FeatureOptions.ItemColumn, true
	// Votes in the files of features share their id column; an array has none.
	if votes.ItemColumn != "" || len(o.Votes) == 0 || slices.ContainsFunc(o.Votes, dataset.IsArray) {
		return
	}
	votes.ItemColumn = cmp.Or(trained.Load.VotesOptions.ItemColumn, features.ItemColumn)
	votes.ItemOptional = true
}

// votesAs sets the columns of votes in the files of features to those that training used,
// if it used any and o names neither columns nor files.
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

// TrainedVotes returns the files of votes that the run was trained on, nil unless all still
// exist.
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

// readSheets sets the sheets of workbooks to those that the run was read from, if they exist.
func readSheets(o, trained *dataset.LoadOptions) {
	features, votes := &o.FeatureOptions, &o.VotesOptions
	if features.Sheet == "" {
		features.Sheet, features.SheetOptional = trained.FeatureOptions.Sheet, true
	}
	if votes.Sheet == "" {
		votes.Sheet, votes.SheetOptional = cmp.Or(trained.VotesOptions.Sheet, features.Sheet), true
	}
}

// ReadData reads items and the votes on them for m, the model of the run, with the options
// that the run's own data were read with. Columns unknown to the model are omitted; the
// classes of the votes are those of the model.
func (f Folder) ReadData(ctx context.Context, m *model.Model, o dataset.LoadOptions) (*dataset.Dataset, error) {
	f.ReadAs(&o)
	o.FeatureOptions.Schema = m.Transform.Schema()
	o.VotesOptions.Classes, o.VotesOptions.Ordered, o.VotesOptions.LeaveOut = m.Classes, m.Ordered, true
	return dataset.Load(ctx, o)
}

// ReadColumns reads further columns of the files that ds was read from by ReadData
// with the same options; see [dataset.Dataset.ReadColumns].
func (f Folder) ReadColumns(ctx context.Context, m *model.Model, ds *dataset.Dataset, o dataset.LoadOptions, names []string) ([][]string, error) {
	f.ReadAs(&o)
	o.FeatureOptions.Schema = m.Transform.Schema()
	return ds.ReadColumns(ctx, o, names)
}
