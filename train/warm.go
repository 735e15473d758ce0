package train

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/internal/words"
	"credence/model"
	"credence/nn"
)

// WarmStart is a model that training starts from, instead of random weights.
type WarmStart struct {
	Model *model.Model
	// Data is the data set that the model was trained on. It determines which items a network
	// has held out: it holds them out again, so that items it has seen affect neither when it
	// stops nor the width of intervals. Without Data that cannot be avoided, and there is a
	// warning.
	Data *dataset.Dataset
	// Before is the model that Model itself was started from, nil if none.
	Before *WarmStart
}

// options returns the options of the model's own fit.
func (s *WarmStart) options() (Options, error) {
	var was Options
	if err := json.Unmarshal(s.Model.Provenance.Config, &was); err != nil {
		return was, fmt.Errorf("the model to start from has no record of its fit: %w", err)
	}
	was.From = s.Before
	return was, nil
}

// follow takes options that must be the same from the model to start from, and returns an
// error for those that conflict: other classes, another method or network. Networks that
// continue need fewer epochs, at a smaller rate that preserves what they have learned.
func (o *Options) follow(ds *dataset.Dataset) error {
	m := o.From.Model
	if err := sameClasses(ds.Classes, m.Classes); err != nil {
		return err
	}
	was, err := o.From.options()
	if err != nil {
		return err
	}
	if o.Head == nil {
		o.Head = was.Head
	}
	now, err := head.Encode(head.Complete(o.Head))
	if err != nil {
		return err
	}
	then, err := head.Encode(head.Complete(was.Head))
	if err != nil {
		return err
	}
	o.Trees, was.Trees = cmp.Or(o.Trees, was.Trees), cmp.Or(was.Trees, "off")
	for _, c := range []struct {
		same      bool
		what      string
		now, then any
	}{
		{string(now) == string(then), "method", string(now), string(then)},
		{o.Layers == nil && (o.Network == "" || o.Network == was.Network), "network",
			strconv.Quote(o.Network), strconv.Quote(was.Network)},
		{o.Widths == nil || slices.Equal(o.Widths, was.Widths), "widths", o.Widths, was.Widths},
		{o.Dropout == 0 || o.Dropout == was.Dropout, "dropout", max(0, o.Dropout), max(0, was.Dropout)},
		{o.InputDropout == 0 || o.InputDropout == was.InputDropout, "input dropout",
			max(0, o.InputDropout), max(0, was.InputDropout)},
		{(o.Trees == "only") == (was.Trees == "only"), "trees", o.Trees, was.Trees},
		{o.Ensemble == 0 || o.Ensemble == was.Ensemble, "ensemble", o.Ensemble, was.Ensemble},
	} {
		if !c.same {
			return fmt.Errorf("training options: %s %v, but the model to start from has %v", c.what, c.now, c.then)
		}
	}
	if len(m.Members) != was.Ensemble {
		return fmt.Errorf("the model to start from has %d of its %s: its training was stopped", len(m.Members), words.Plural(was.Ensemble, "network"))
	}
	o.Network, o.Widths, o.Ensemble, o.Transform = was.Network, was.Widths, was.Ensemble, was.Transform
	o.Dropout, o.InputDropout, o.Init = was.Dropout, was.InputDropout, was.Init
	o.Optimizer, o.Schedule = cmp.Or(o.Optimizer, was.Optimizer), cmp.Or(o.Schedule, was.Schedule)
	if nn.OptimizerNamed(o.Optimizer).Momentum > 0 {
		o.Momentum = cmp.Or(o.Momentum, was.Momentum)
	}
	o.WeightDecay, o.Clip = cmp.Or(o.WeightDecay, was.WeightDecay), cmp.Or(o.Clip, was.Clip)
	o.Batch, o.Patience, o.HeldOut = cmp.Or(o.Batch, was.Batch), cmp.Or(o.Patience, was.Patience), cmp.Or(o.HeldOut, was.HeldOut)
	o.Raters = cmp.Or(o.Raters, was.Raters)
	if o.Augment == (Augment{}) {
		o.Augment = was.Augment
	}
	// The folds that choose a single network start from random weights; see fitting.plan.
	if was.Ensemble == 1 {
		o.Rate, o.Epochs = cmp.Or(o.Rate, was.Rate), cmp.Or(o.Epochs, was.Epochs)
	} else {
		o.Rate, o.Epochs = cmp.Or(o.Rate, warmRate*was.Rate), cmp.Or(o.Epochs, min(was.Epochs, max(10, was.Epochs/warmEpochs)))
	}
	o.FromModel, err = m.Hash()
	return err
}

// The factor of the learning rate of a network that continues, and the divisor of its number
// of epochs.
const (
	warmRate   = 0.3
	warmEpochs = 3
)

// sameClasses returns an error unless the classes are those of the model, in its order.
func sameClasses(now, then []string) error {
	var unknown []string
	for _, c := range now {
		if !slices.Contains(then, c) {
			unknown = append(unknown, strconv.Quote(c))
		}
	}
	switch {
	case len(unknown) > 0:
		return fmt.Errorf("the model to start from has no classes %s, only %s: other classes need a new model",
			words.Few(unknown), words.Few(then))
	case !slices.Equal(now, then):
		return fmt.Errorf("expected the classes of the model to start from, %q in this order, found %q", then, now)
	}
	return nil
}

// takeTransform uses the transform of the model to start from, and returns an error if the
// data have other features.
func (f *fitting) takeTransform(s *WarmStart) error {
	f.transform = s.Model.Transform.Clone()
	if _, err := f.transform.Over(f.ds); err != nil {
		return fmt.Errorf("the features differ from those of the model to start from: %w", err)
	}
	var unknown []string
	for _, p := range f.ds.Features {
		if !slices.ContainsFunc(f.transform.Schema(), func(q dataset.Feature) bool { return q.Name == p.Name }) {
			unknown = append(unknown, strconv.Quote(p.Name))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("the features differ from those of the model to start from, which has no %s", words.Few(unknown))
	}
	return nil
}

// inherit makes every network hold out the items that it held out before, and its share of
// new items. It reports whether these are known.
func (f *fitting) inherit() (bool, error) {
	s := f.o.From
	if s.Data == nil {
		f.warn(DataGone)
		return false, nil
	}
	was, err := s.options()
	if err != nil {
		return false, err
	}
	old := &fitting{ds: s.Data, job: &job{o: was}}
	if err := old.checkVotes(&was); err != nil {
		return false, err
	}
	if err := old.divide(); err != nil {
		return false, err
	}
	f.before, f.turns = map[string]int{}, old.folds
	groups := map[string]int{}
	for at, j := range old.voted {
		f.before[old.ds.Items[j]] = old.fold[at]
		if old.ds.Groups != nil {
			groups[old.ds.Groups[j]] = old.fold[at]
		}
	}
	if f.o.Held != nil {
		return false, nil // the held-out items are given
	}
	f.folds, f.fixedHoldOut = old.folds, old.fixedHoldOut
	folds := cmp.Or(old.folds, max(2, int(1/f.o.HeldOut+0.5)))
	var fresh []int // indexes into voted
	count := make([]int, max(folds, 2))
	for at, j := range f.voted {
		fold, ok := f.before[f.ds.Items[j]]
		if !ok && f.ds.Groups != nil {
			fold, ok = groups[f.ds.Groups[j]]
		}
		if !ok {
			fresh = append(fresh, at)
			continue
		}
		f.fold[at] = fold
		count[fold]++
	}
	if err := f.spread(fresh, folds, slices.Contains(old.fold, 0), count); err != nil {
		return false, err
	}
	if slices.Contains(count[:max(1, min(f.folds, f.o.Ensemble))], 0) && f.o.Patience > 0 {
		f.before, f.folds = nil, 0
		clear(f.fold)
		f.warn(FewHeldOut)
		return false, nil
	}
	return true, nil
}

// spread assigns new items to folds or, if one set of items is held out throughout, a share of
// them to that set.
func (f *fitting) spread(fresh []int, folds int, holds bool, count []int) error {
	items := make([]int, len(fresh))
	for k, at := range fresh {
		items[k] = f.voted[at]
	}
	fold := make([]int, len(fresh))
	if len(fresh) >= 2*folds {
		var err error
		if fold, _, err = foldsOf(f.ds, items, folds, f.o.Seed); err != nil {
			return err
		}
	} else {
		for k := range fold {
			fold[k] = (k + 1) % folds
		}
	}
	for k, at := range fresh {
		f.fold[at] = fold[k]
		if f.folds == 0 && (fold[k] > 0 || !holds) {
			f.fold[at] = 1
		}
		count[f.fold[at]]++
	}
	return nil
}

// startFrom copies the weights of another network. The parameters of raters are not copied
// if the raters are not the same.
func (r *run) startFrom(from *nn.Network) error {
	params := map[string][]float32{}
	for _, p := range slices.Concat(from.Params, from.States) {
		params[p.Name] = p.Value
	}
	for _, p := range slices.Concat(r.network.Params, r.network.States) {
		v, ok := params[p.Name]
		switch own := slices.Contains(r.network.Own, p); {
		case ok && len(v) == len(p.Value) && (!own || r.sameRaters):
			copy(p.Value, v)
		case !own:
			return fmt.Errorf("tensor %s of the model to start from is missing or of another size", p.Name)
		}
	}
	return nil
}

// startOutputs makes a network start at the same prediction for all items: its last layer gets the given
// biases and its weights are shrunk, so that differences between items develop from there.
// Networks that do not end in a dense layer with a bias are not changed.
func startOutputs(net *nn.Network, start []float32) {
	n := len(net.Params)
	for _, p := range net.Own {
		if slices.Contains(net.Params, p) {
			n--
		}
	}
	if n < 2 {
		return
	}
	weight, bias := net.Params[n-2], net.Params[n-1]
	if !strings.HasSuffix(bias.Name, "bias") || !strings.HasSuffix(weight.Name, "weight") || bias.Size() != len(start) {
		return
	}
	const shrink = 0.1
	for i := range weight.Value {
		weight.Value[i] *= shrink
	}
	copy(bias.Value, start)
}
