package run

import (
	"context"
	"os"
	"slices"

	"credence/dataset"
	"credence/internal/config"
)

// TrainedFiles returns the files of features that the run was trained on, nil if they are unknown.
func (f Folder) TrainedFiles() []string {
	var trained config.Settings
	if err := trained.File(f.Path(ConfigFile)); err != nil {
		return nil
	}
	return trained.Load.Data
}

// trainedData reads the data that the run was trained on, with features or, if votes are in files of their own and
// features are not required, without.
func (f Folder) trainedData(ctx context.Context, features bool, except ...string) (*dataset.Dataset, error) {
	var trained config.Settings
	if err := trained.File(f.Path(ConfigFile)); err != nil {
		return nil, err
	}
	o := trained.LoadOptions()
	if len(o.Votes) > 0 && !features {
		o = dataset.LoadOptions{Votes: slices.DeleteFunc(slices.Clone(o.Votes), func(path string) bool { return sameFile(path, except) }), VotesOptions: o.VotesOptions}
		if len(o.Votes) == 0 {
			return &dataset.Dataset{}, nil
		}
	}
	return dataset.Load(ctx, o)
}

// sameFile reports whether a file is one of a list, under whatever name.
func sameFile(path string, list []string) bool {
	a, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(list, func(other string) bool {
		b, err := os.Stat(other)
		return err == nil && os.SameFile(a, b)
	})
}

// TrainedItems returns the items that the run was trained on: by its split or, without one, by the files that it was
// trained on, which must still exist. Files of votes in except are not read.
func (f Folder) TrainedItems(ctx context.Context, except ...string) (map[string]bool, error) {
	splits, err := f.readSplit()
	if err != nil {
		return nil, err
	}
	trained := map[string]bool{}
	for id, s := range splits {
		if s != TestSplit {
			trained[id] = true
		}
	}
	if splits != nil {
		return trained, nil
	}
	ds, err := f.trainedData(ctx, false, except...)
	if err != nil {
		return nil, err
	}
	defer ds.Close()
	for j, id := range ds.Items {
		if ds.VotesOf(j) > 0 {
			trained[id] = true
		}
	}
	return trained, nil
}

// unlikeFolds is the number of folds of HeldOutUnlike.
const unlikeFolds = 5

// HeldOutUnlike counts how many of the items that the run was trained on are unlike the others, fold by fold. Data
// with images or volumes are not read: the number of items is then 0.
func (f Folder) HeldOutUnlike(ctx context.Context) (items int, unlike dataset.Unlike, err error) {
	ds, err := f.trainedData(ctx, true)
	if err != nil {
		return 0, unlike, err
	}
	defer ds.Close()
	if slices.ContainsFunc(ds.Features, func(p dataset.Feature) bool { return p.Kind == dataset.Tensor || p.Kind == dataset.Text }) {
		return 0, unlike, nil
	}
	rows := make([]int, ds.Len())
	for j := range rows {
		rows[j] = j
	}
	folds, err := dataset.Folds(ds, rows, unlikeFolds, 0)
	if err != nil {
		return 0, unlike, err
	}
	for k, fold := range folds {
		others := slices.Concat(slices.Delete(slices.Clone(folds), k, k+1)...)
		slices.Sort(others)
		t, err := dataset.Fit(ds, others, dataset.TransformOptions{})
		if err != nil {
			return 0, unlike, err
		}
		watch := t.NewWatch()
		if err := watch.Add(ds.Select(fold), nil); err != nil {
			return 0, unlike, err
		}
		u := watch.Unlike()
		items += len(fold)
		unlike.Far += u.Far
		unlike.Unknown += u.Unknown
	}
	return items, unlike, nil
}
