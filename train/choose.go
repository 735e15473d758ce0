package train

import (
	"errors"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/head"
)

// choose checks the data and completes the options.
func choose(ds *dataset.Dataset, o Options) (*fitting, error) {
	if err := ds.Check(); err != nil {
		return nil, err
	}
	f := &fitting{ds: ds, job: &job{report: &reporter{call: o.Progress}}}
	f.task = head.Task{Classes: len(ds.Classes)}
	if err := f.checkVotes(&o); err != nil {
		return nil, err
	}
	o.FromModel = ""
	if o.From != nil {
		if err := o.follow(ds); err != nil {
			return nil, err
		}
	}
	if o.Head == nil {
		o.Head = head.Mixture{}
	}
	if o.ItemWeights == nil {
		o.ItemWeights = ds.Weights
	}
	o.Head = head.Complete(o.Head)
	f.method = o.Head
	if err := f.chooseRaters(&o); err != nil {
		return nil, err
	}
	f.task.Raters = len(f.crew.names)
	f.sameRaters = o.From != nil && slices.Equal(o.From.Model.Raters, f.crew.names)
	if f.knows {
		f.method = o.Head.(raterMethod).WithRaters()
	}
	h, err := f.method.New(f.task)
	if err != nil {
		return nil, err
	}
	f.traits = h.Traits()
	if err := f.checkSpread(&o); err != nil {
		return nil, err
	}
	if o.From != nil {
		err = f.takeTransform(o.From)
	} else {
		f.transform, err = dataset.Fit(ds, without(f.voted, o.Held), o.Transform)
	}
	if err != nil {
		return nil, err
	}
	if f.transform.Width() == 0 {
		return nil, errors.New("the data have no features to learn from")
	}
	if f.o, err = o.complete(len(f.voted), f.traits, f.transform); err != nil {
		return nil, err
	}
	return f, nil
}

// checkVotes finds the items with votes and refuses data without anything to learn.
func (f *fitting) checkVotes(o *Options) error {
	switch len(f.ds.Classes) {
	case 0:
		return errors.New("no votes for any class: there is nothing to learn")
	case 1:
		return fmt.Errorf("all votes are for class %q: there is nothing to tell apart", f.ds.Classes[0])
	}
	for j := range f.ds.Len() {
		if m := f.ds.VotesOf(j); m > 0 {
			f.voted = append(f.voted, j)
			f.most = max(f.most, m)
		}
	}
	for _, j := range o.Held {
		if j < 0 || j >= f.ds.Len() {
			return fmt.Errorf("training options: held-out item %d of %d", j, f.ds.Len())
		}
	}
	if len(f.voted) < 4 {
		return fmt.Errorf("too few items with votes to train on: %d, expected at least 4", len(f.voted))
	}
	return nil
}

// checkSpread refuses votes from which a method that learns from an item's votes together cannot
// learn, and warns of what voids its answers.
func (f *fitting) checkSpread(o *Options) error {
	if !f.traits.Joint {
		if o.ClassWeights != nil {
			f.warnings = append(f.warnings, "class weights void the calibration of the probabilities")
		}
		return nil // one vote per item is what these methods are made for
	}
	if f.most <= 1 {
		if !o.Force {
			return fmt.Errorf("%w; collect a second vote on some items, or force the fit and use the means alone", dataset.ErrOneVote)
		}
		f.warnings = append(f.warnings, "no item has more than one vote: the means can be used, the intervals mean nothing")
	}
	if o.ClassWeights != nil {
		f.warnings = append(f.warnings, "class weights void the calibration of intervals")
	}
	return nil
}

// divide decides which items are held out by which network.
func (f *fitting) divide() error {
	o := &f.o
	f.fold = make([]int, len(f.voted))
	if o.From != nil {
		if done, err := f.inherit(); done || err != nil {
			return err
		}
	}
	if o.Held != nil {
		kept := without(f.voted, o.Held)
		held := len(f.voted) - len(kept)
		for at, j := range f.voted {
			if _, found := slices.BinarySearch(kept, j); found {
				f.fold[at] = 1
			}
		}
		if held == 0 || held == len(f.voted) {
			return fmt.Errorf("%d of %d items with votes are held out: there is nothing to stop by, or to train on", held, len(f.voted))
		}
		return nil
	}
	parts := max(2, int(1/o.HeldOut+0.5))
	switch {
	case len(f.voted) >= manyItems && o.Patience >= 0:
		return f.holdOut()
	case o.Ensemble > 1:
		parts = min(max(o.Ensemble, 5), 10)
		f.folds = parts
	case o.Patience < 0:
		for at := range f.fold {
			f.fold[at] = 1 // nothing is held out
		}
		return nil
	case len(f.voted) < RefitItems:
		parts = 5
		f.folds = parts
	}
	var err error
	var n int
	if f.fold, n, err = foldsOf(f.ds, f.voted, min(parts, len(f.voted)/2), o.Seed); err != nil {
		return err
	}
	f.folds = min(f.folds, n)
	return nil
}

// holdOut holds the same share of many items out of all networks: what they say of more would
// take more memory than the items themselves, and tell nothing that these do not.
func (f *fitting) holdOut() error {
	held, err := dataset.HoldOut(f.ds, f.voted, f.o.HeldOut, f.o.Seed)
	if err != nil {
		return err
	}
	for at, j := range f.voted {
		if _, found := slices.BinarySearch(held, j); !found {
			f.fold[at] = 1
		}
	}
	f.forGood = true
	return nil
}
