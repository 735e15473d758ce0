package train

import (
	"errors"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/head"
)

// choose checks the data, completes the options and divides the items.
func choose(ds *dataset.Dataset, o Options) (*fitting, error) {
	if err := ds.Check(); err != nil {
		return nil, err
	}
	f := &fitting{ds: ds, job: &job{report: inTurn(o.Progress)}}
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
	if err := f.chooseRaters(&o); err != nil {
		return nil, err
	}
	f.task.Raters = len(f.crew.names)
	f.sameRaters = o.From != nil && slices.Equal(o.From.Model.Raters, f.crew.names)
	if err := f.setMethod(o.Head); err != nil {
		return nil, err
	}
	if err := f.checkSpread(&o); err != nil {
		return nil, err
	}
	var err error
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
	return f, f.divide()
}

// setMethod sets how networks learn, by the likelihood with raters where they are known.
func (f *fitting) setMethod(m head.Method) (err error) {
	if f.method = m; f.knows {
		f.method = m.(raterMethod).WithRaters()
	}
	if f.reader, err = f.method.New(f.task); err == nil {
		f.traits = f.reader.Traits()
	}
	return err
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
	what := "the probabilities"
	if f.traits.Joint { // one vote per item is what other methods are made for
		what = "intervals"
		if f.most <= 1 && !o.Force {
			return fmt.Errorf("%w; collect a second vote on some items, or force the fit and use the means alone", dataset.ErrOneVote)
		}
		if f.most <= 1 {
			f.warn(SingleVotes)
		}
	}
	if o.ClassWeights != nil {
		f.warn(ClassWeighted, what)
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
		if held := f.holdOut(o.Held); held == 0 || held == len(f.voted) {
			return fmt.Errorf("%d of %d items with votes are held out: there is nothing to stop by, or to train on", held, len(f.voted))
		}
		return nil
	}
	parts := max(2, int(1/o.HeldOut+0.5))
	switch {
	case len(f.voted) >= manyItems && o.Patience >= 0:
		// The same share of many items for all networks: predictions of more would take more memory than
		// the items themselves, and show nothing that these do not.
		held, err := dataset.HoldOut(f.ds, f.voted, o.HeldOut, o.Seed)
		f.holdOut(held)
		f.forGood = true
		return err
	case o.Ensemble > 1:
		parts = min(max(o.Ensemble, 5), 10)
		f.folds = parts
	case o.Patience < 0:
		f.holdOut(nil)
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

// holdOut holds items out of all networks, and returns how many of them have votes.
func (f *fitting) holdOut(items []int) (voted int) {
	held := make([]bool, f.ds.Len())
	for _, j := range items {
		held[j] = true
	}
	for at, j := range f.voted {
		if held[j] {
			voted++
		} else {
			f.fold[at] = 1
		}
	}
	return voted
}
