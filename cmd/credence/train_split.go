package main

import (
	"slices"

	"credence/dataset"
	"credence/internal/words"
)

// checkShares refuses shares of the items that make no split.
func (o *trainOptions) checkShares() error {
	if o.Test+o.Validation >= 1 {
		return usagef("--test %v and --validation %v leave nothing to train on", o.Test, o.Validation)
	}
	if o.Load.FeatureOptions.SplitColumn != "" && o.Test+o.Validation > 0 {
		return usagef("--split follows a split that is given, --test and --validation make one: they exclude each other")
	}
	return nil
}

// division makes the split that the flags ask for, or follows one given in the
// data: the test part is not touched, the validation part held out by every
// network. Whole groups stay together, and the parts are alike in their
// majority classes.
func (o *trainOptions) division(ds *dataset.Dataset) (part *dataset.Dataset, held []int, err error) {
	if ds.Given == nil && o.Test+o.Validation == 0 {
		return ds, nil, nil
	}
	opts := dataset.SplitOptions{Validation: o.Validation, Test: o.Test, Seed: o.Fit.Seed}
	if opts.Validation == 0 {
		opts.Validation = -1 // none
	}
	s, err := dataset.NewSplit(ds, opts)
	if err != nil {
		return nil, nil, err
	}
	o.split = s
	keep := slices.Concat(s.Train, s.Validation)
	slices.Sort(keep)
	for at, j := range keep {
		if _, found := slices.BinarySearch(s.Validation, j); found {
			held = append(held, at)
		}
	}
	return ds.Select(keep), held, nil
}

// showSplit tells how many items are in each part, and what they cannot tell.
func (o *trainOptions) showSplit(show *trainDisplay, ds *dataset.Dataset) {
	s := o.split
	show.note("split     %s to train on, %s for validation, %s for the test left alone",
		plural(len(s.Train), "item"), words.Thousands(len(s.Validation)), words.Thousands(len(s.Test)))
	if none := ds.Len() - len(s.Train) - len(s.Validation) - len(s.Test); none > 0 {
		show.warn(plural(none, "item") + " in no part of the split left out")
	}
	for _, w := range s.Check(ds) {
		show.warn(w.Error())
	}
}

// writeSplit records the split, if there is one, in the folder of the run.
func (o *trainOptions) writeSplit(ds *dataset.Dataset) error {
	if o.split == nil {
		return nil
	}
	return o.out.writeSplit(ds, o.split)
}
