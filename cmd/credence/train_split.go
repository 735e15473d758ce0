package main

import (
	"credence/internal/words"
	"credence/run"
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

// split tells how many items are in each part, and what they cannot tell.
func (d *trainDisplay) split(division *run.Division) {
	s := division.Split
	if s == nil {
		return
	}
	d.note("split     %s to train on, %s for validation, %s for the test left alone",
		words.Plural(len(s.Train), "item"), words.Thousands(len(s.Validation)), words.Thousands(len(s.Test)))
	if none := division.Items.Len() - len(s.Train) - len(s.Validation) - len(s.Test); none > 0 {
		d.warn(words.Plural(none, "item") + " in no part of the split left out")
	}
	for _, w := range s.Check(division.Items) {
		d.warn(w.Error())
	}
}
