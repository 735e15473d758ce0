package run

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
)

// The parts of a split.
const (
	trainPart      = "train"
	validationPart = "validation"
	TestPart       = "test"
)

// Parts are the parts of a split, as split.csv names them.
var Parts = []string{trainPart, validationPart, TestPart}

// ErrNoSplit is the reason when a part is asked of a run whose items were not
// divided.
var ErrNoSplit = errors.New("there is no " + splitFile)

// Partition is how a run uses the items of a data set.
type Partition struct {
	Split *dataset.Split   // nil if all items are trained on
	Items *dataset.Dataset // the data set divided
	Learn *dataset.Dataset // its items that training sees
	Held  []int            // those of Learn that every network holds out
}

// Divide makes a split with the given shares, or follows one given in the data:
// the test part is left alone, the validation part held out by every network.
// Whole groups stay together, and the parts are alike in their majority classes.
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

// parts returns the part of each item, "" for those in none.
func (d *Partition) parts() []string {
	part := make([]string, d.Items.Len())
	for i, rows := range [][]int{d.Split.Train, d.Split.Validation, d.Split.Test} {
		for _, j := range rows {
			part[j] = Parts[i]
		}
	}
	return part
}

// writeSplit records the part of each item; those in none are left out.
func (f Folder) writeSplit(d *Partition) error {
	if d.Split == nil {
		return nil
	}
	part := d.parts()
	return f.write(splitFile, func(w io.Writer) error {
		c := csv.NewWriter(w)
		c.Write([]string{"item", "part"})
		for j, id := range d.Items.Items {
			if part[j] != "" {
				c.Write([]string{id, part[j]})
			}
		}
		c.Flush()
		return c.Error()
	})
}

// readSplit returns the part of each item, or nil if the run has no split.
func (f Folder) readSplit() (map[string]string, error) {
	path := f.Path(splitFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := csv.NewReader(file)
	c.FieldsPerRecord = 2
	parts := map[string]string{}
	for line := 1; ; line++ {
		rec, err := c.Read()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if line == 1 {
			continue
		}
		if !slices.Contains(Parts, rec[1]) {
			return nil, fmt.Errorf("reading %s: item %q: part %q is not one of %v", path, rec[0], rec[1], Parts)
		}
		parts[rec[0]] = rec[1]
	}
}

// Part returns the items of ds that were in one part of the run's split. Without
// a split the error is ErrNoSplit.
func (f Folder) Part(ds *dataset.Dataset, part string) (*dataset.Dataset, error) {
	parts, err := f.readSplit()
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return nil, fmt.Errorf("%w in %s", ErrNoSplit, f)
	}
	var rows []int
	for i, id := range ds.Items {
		if parts[id] == part {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("none of the %s is in the %s part of %s", words.Plural(ds.Len(), "item"), part, f.Path(splitFile))
	}
	return ds.Select(rows), nil
}

// Seen returns how many items of ds had a part in training m, the model of the
// run. Equal is true if they are the very data set it was trained on.
func (f Folder) Seen(m *model.Model, ds *dataset.Dataset) (n int, equal bool, err error) {
	hash, err := ds.Hash()
	if err != nil {
		return 0, false, err
	}
	if hash == m.Provenance.Data {
		return ds.Len(), true, nil
	}
	parts, err := f.readSplit()
	if err != nil {
		return 0, false, err
	}
	for _, id := range ds.Items {
		if p := parts[id]; p == trainPart || p == validationPart {
			n++
		}
	}
	return n, false, nil
}

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
