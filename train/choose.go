package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/internal/words"
)

// choose checks the data, completes the options and divides the items.
func choose(ds *dataset.Dataset, o Options) (*fitting, error) {
	if err := ds.Check(); err != nil {
		return nil, err
	}
	f := &fitting{ds: ds, job: &job{report: inTurn(o.Progress)}}
	f.task = head.Task{Classes: len(ds.Classes), Ordered: ds.Ordered}
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
	f.task.Raters = len(f.raterSet.names)
	f.sameRaters = o.From != nil && slices.Equal(o.From.Model.Raters, f.raterSet.names)
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
		if o.Transform.Scores == "" && (o.Layers != nil || layerList(o.Network)) {
			o.Transform.Scores = "off" // layers of the user's own are written for the features alone
		}
		f.transform, err = dataset.Fit(ds, without(f.voted, o.Held), o.Transform)
	}
	if err != nil {
		return nil, err
	}
	if f.transform.Width() == 0 {
		return nil, errors.New("the data have no features")
	}
	if f.o, err = o.complete(len(f.voted), f.traits, f.transform); err != nil {
		return nil, err
	}
	grouped, copies, err := dataset.GroupDuplicates(ds)
	if err != nil {
		return nil, err
	}
	if f.ds = grouped; copies > 0 {
		f.warn(Duplicates, words.Plural(copies, "item"))
	}
	if err = f.divide(); err == nil {
		err = f.chooseTrees()
	}
	f.aboutData = len(f.warnings)
	return f, err
}

// setMethod sets the method by which networks learn, with the likelihood for raters if they are modelled.
func (f *fitting) setMethod(m head.Method) (err error) {
	if f.method = m; f.ratersKnown {
		f.method = m.(raterMethod).WithRaters()
	}
	if f.reader, err = f.method.New(f.task); err == nil {
		f.traits = f.reader.Traits()
	}
	return err
}

// checkVotes finds the items with votes, and returns an error if there is nothing to learn.
func (f *fitting) checkVotes(o *Options) error {
	switch len(f.ds.Classes) {
	case 0:
		return errors.New("expected votes for at least two classes, found none")
	case 1:
		return fmt.Errorf("expected votes for at least two classes, found only %q", f.ds.Classes[0])
	}
	for j := range f.ds.Len() {
		if m := f.ds.VotesOf(j); m > 0 {
			f.voted = append(f.voted, j)
			f.most = max(f.most, m)
		}
	}
	for _, j := range o.Held {
		if j < 0 || j >= f.ds.Len() {
			return fmt.Errorf("training options: held-out item %d: expected 0 to %d", j, f.ds.Len()-1)
		}
	}
	if len(f.voted) < 4 {
		return fmt.Errorf("expected at least 4 items with votes to train on, found %d", len(f.voted))
	}
	return nil
}

// checkSpread returns an error if a method that learns from joint votes on an item cannot learn from these
// votes, and warns if its predictions are invalid.
func (f *fitting) checkSpread(o *Options) error {
	what := "the probabilities"
	if f.traits.Joint { // other methods need only one vote per item
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
	return f.checkCalibration(o)
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
			return fmt.Errorf("%d of %d items with votes are held out: expected some held out and some to train on", held, len(f.voted))
		}
		return nil
	}
	switch {
	case len(f.voted) >= manyItems && o.Patience >= 0:
		// All networks hold out the same items: predictions for more would take more memory than the
		// items themselves, without further information.
		held, err := dataset.HoldOut(f.ds, f.voted, o.HeldOut, o.Seed)
		f.holdOut(held)
		f.fixedHoldOut = true
		return err
	case o.Ensemble > 1:
		f.folds = min(max(o.Ensemble, 5), 10)
	case o.Patience < 0:
		f.holdOut(nil)
		return nil
	case len(f.voted) < RefitItems:
		f.folds = 5
	}
	most := cmp.Or(f.folds, max(2, int(1/o.HeldOut+0.5)))
	fold, n, err := foldsOf(f.ds, f.voted, min(most, len(f.voted)/2), o.Seed)
	f.fold, f.folds = fold, min(f.folds, n)
	return err
}

// holdOut holds items out of all networks, and returns the number of them that have votes.
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

// foldsOf divides the items with votes into similar folds, at most the given
// number and never more than there are groups. It returns the fold of each item
// and the number of folds.
func foldsOf(ds *dataset.Dataset, voted []int, most int, seed uint64) (fold []int, n int, err error) {
	folds, err := dataset.Folds(ds, voted, most, seed)
	if err != nil {
		return nil, 0, err
	}
	of := make([]int32, ds.Len())
	for f, items := range folds {
		for _, j := range items {
			of[j] = int32(f)
		}
	}
	fold = make([]int, len(voted))
	for at, j := range voted {
		fold[at] = int(of[j])
	}
	return fold, len(folds), nil
}

// order returns a permutation of the items for an epoch of a run.
func order(items []int, seed, member, epoch uint64) []int {
	out := slices.Clone(items)
	rand.New(rng.New(seed, "shuffle", member, epoch)).Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out
}

// learningFromWords is the note of the event before texts are read.
const learningFromWords = "learning from words"

// readTexts fits the inputs for documents. Items that take turns to be held out
// by networks are held out from these fits in the same folds: the inputs of the
// items that a network holds out come from a fit without their votes.
func (f *fitting) readTexts(ctx context.Context) error {
	if len(f.transform.TextColumns()) == 0 {
		return nil
	}
	f.report(Event{Note: learningFromWords})
	rows, fold := f.voted, f.fold
	held := f.o.Held
	if f.fixedHoldOut {
		for at, j := range f.voted {
			if f.fold[at] == 0 {
				held = append(held, j)
			}
		}
	}
	if held != nil || !slices.Contains(fold, 0) {
		rows = without(f.voted, held)
		var err error
		if fold, _, err = foldsOf(f.ds, rows, max(2, min(5, len(rows)/2)), f.o.Seed); err != nil {
			return err
		}
	}
	return f.transform.FitText(ctx, f.ds, rows, fold, f.o.ItemWeights)
}

// itemWeights returns the weight of each item, with mean 1 over the given items, or
// nil if all have the same weight.
func itemWeights(ds *dataset.Dataset, o *Options, items []int) ([]float64, error) {
	if o.ClassWeights == nil && o.ItemWeights == nil {
		return nil, nil
	}
	if o.ClassWeights != nil && len(o.ClassWeights) != len(ds.Classes) {
		return nil, fmt.Errorf("expected a weight for each of the classes %q, found %d", ds.Classes, len(o.ClassWeights))
	}
	if o.ItemWeights != nil && len(o.ItemWeights) != ds.Len() {
		return nil, fmt.Errorf("expected %d item weights, found %d", ds.Len(), len(o.ItemWeights))
	}
	w := make([]float64, ds.Len())
	sum := 0.0
	for _, j := range items {
		w[j] = 1
		if o.ItemWeights != nil {
			w[j] = o.ItemWeights[j]
		}
		if o.ClassWeights != nil {
			mean := 0.0
			for i, s := range ds.CountsOf(j) {
				mean += float64(s) * o.ClassWeights[i]
			}
			w[j] *= mean / ds.VotesOf(j)
		}
		if !(w[j] >= 0 && w[j] < 1e9) {
			return nil, fmt.Errorf("item %q has weight %v: expected between 0 and 1e9", ds.Items[j], w[j])
		}
		sum += w[j]
	}
	if sum == 0 {
		return nil, fmt.Errorf("all items have weight 0")
	}
	for _, j := range items {
		w[j] *= float64(len(items)) / sum
	}
	return w, nil
}

// weigh sets the weights of the items of a batch, if items have weights.
func (r *run) weigh(b *head.Batch, items []int) {
	if r.weights == nil {
		return
	}
	r.scratch = r.scratch[:0]
	for _, j := range items {
		r.scratch = append(r.scratch, r.weights[j])
	}
	b.Weights = r.scratch
}
