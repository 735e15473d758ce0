package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/internal/config"
	"credence/model"
	"credence/train"
)

// WarmStart is a run whose model another run starts from.
type WarmStart struct {
	*train.WarmStart
	// Gone is the reason why the data of that run are not available, nil if they are.
	Gone error

	folder Folder
	data   *dataset.Dataset
}

// OpenWarmStart opens the run to start from: path is its folder or its model file. The caller closes
// the result. Without a path it returns nil, which has no data to close.
func OpenWarmStart(ctx context.Context, path string) (*WarmStart, error) {
	return openWarmStart(ctx, path, nil)
}

// openWarmStart is OpenWarmStart for a run that those in the folders before start from in turn.
func openWarmStart(ctx context.Context, path string, before []Folder) (*WarmStart, error) {
	if path == "" {
		return nil, nil
	}
	m, err := Load(path)
	if err != nil {
		return nil, err
	}
	b := &WarmStart{WarmStart: &train.WarmStart{Model: m}, folder: FolderOf(path)}
	if slices.Contains(before, b.folder) {
		b.Gone = fmt.Errorf("%s starts from itself", b.folder)
		return b, nil
	}
	b.Gone = b.read(ctx, append(before, b.folder))
	if b.Gone != nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), b.Close())
	}
	return b, nil
}

// read reads the data of the run according to its configuration.
func (b *WarmStart) read(ctx context.Context, before []Folder) error {
	s := config.New()
	if err := s.File(b.folder.Path(ConfigFile)); err != nil {
		return err
	}
	earlier, err := openWarmStart(ctx, s.From, before)
	if err != nil {
		return err
	}
	if earlier != nil {
		defer earlier.Close()
		if earlier.Gone != nil {
			return earlier.Gone
		}
		b.Before = earlier.WarmStart
	}
	o := s.LoadOptions()
	o.Ignore, o.FeatureOptions.Ignore, o.VotesOptions.Ignore = o.FeatureOptions.Ignore, nil, nil
	earlier.Adapt(&o)
	if b.data, err = dataset.Load(ctx, o); err != nil {
		return err
	}
	d, err := earlier.Divide(b.data, s.Validation, s.Test, s.Fit.Seed)
	if err != nil {
		return err
	}
	hash, err := d.Learn.Hash()
	if err != nil {
		return err
	}
	if hash != b.Model.Provenance.Data {
		return fmt.Errorf("the files that %s was trained on have changed", b.folder)
	}
	b.Data = d.Learn
	return nil
}

// Adapt sets options to read data for the features and classes of the model.
func (b *WarmStart) Adapt(o *dataset.LoadOptions) {
	if b == nil {
		return
	}
	o.FeatureOptions.Schema = b.Model.Transform.Schema()
	if o.VotesOptions.Classes == nil {
		o.VotesOptions.Classes = b.Model.Classes
	}
	o.VotesOptions.Ordered = o.VotesOptions.Ordered || b.Model.Ordered
}

// NewColumns returns the columns of ds that were not in the files of the run, if these are
// available.
func (b *WarmStart) NewColumns(ds *dataset.Dataset) []string {
	if b == nil || b.data == nil {
		return nil
	}
	var names []string
	for _, c := range ds.Columns {
		if c.Unused() && !slices.ContainsFunc(b.data.Columns, func(old dataset.ColumnInfo) bool { return old.Name == c.Name }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Divide is [Divide], but items remain in the split that they were in.
func (b *WarmStart) Divide(ds *dataset.Dataset, validation, test float64, seed uint64) (*Partition, error) {
	if b == nil || ds.Given != nil || validation+test == 0 {
		return Divide(ds, validation, test, seed)
	}
	splits, err := b.folder.readSplit()
	if err != nil {
		return nil, err
	}
	if splits == nil {
		return Divide(ds, validation, test, seed)
	}
	given := make([]string, ds.Len())
	var fresh []int
	for j, id := range ds.Items {
		if given[j] = splits[id]; given[j] == "" {
			fresh = append(fresh, j)
		}
	}
	for _, j := range fresh {
		given[j] = trainSplit // if there are too few new items to divide
	}
	if float64(len(fresh))*min(1-test-validation, cmp.Or(test, 1), cmp.Or(validation, 1)) >= 1 {
		d, err := Divide(ds.Select(fresh), validation, test, seed)
		if err != nil {
			return nil, err
		}
		for k, split := range d.splits() {
			given[fresh[k]] = cmp.Or(split, trainSplit)
		}
	}
	ds.Given = given
	return Divide(ds, validation, test, seed)
}

// Close closes the data.
func (b *WarmStart) Close() error {
	if b == nil || b.data == nil {
		return nil
	}
	return b.data.Close()
}

// sameStart returns an error if a repetition does not start from the recorded model.
func sameStart(folder Folder, recorded *model.Model, start *train.WarmStart) error {
	want, found := "", ""
	if recorded.Provenance.From != nil {
		want = recorded.Provenance.From.Model
	}
	if start != nil {
		var err error
		if found, err = start.Model.Hash(); err != nil {
			return err
		}
	}
	if want != found {
		return &DifferenceError{folder, "the model to start from", "sha256 " + want, "sha256 " + found}
	}
	return nil
}
