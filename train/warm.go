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

// WarmStart is a model whose networks training starts from, instead of random weights.
type WarmStart struct {
	Model *model.Model
	// Data are those that the model was trained on. They tell which items a network has
	// held out: these it holds out again, so that nothing it has seen decides when it
	// stops and how wide intervals are. Without them that cannot be avoided, and is warned
	// of.
	Data *dataset.Dataset
	// Before is what that model started from itself, if from anything.
	Before *WarmStart
}

// options returns those of the model's own fit.
func (s *WarmStart) options() (Options, error) {
	var was Options
	if err := json.Unmarshal(s.Model.Provenance.Config, &was); err != nil {
		return was, fmt.Errorf("the model to start from has no record of its fit: %w", err)
	}
	was.From = s.Before
	return was, nil
}

// follow takes over from the model to start from what has to be the same, and refuses
// what cannot be: other classes, another method or network. Fewer epochs at a smaller rate
// are enough where networks go on, and do not forget what they know.
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
	o.Momentum, o.WeightDecay, o.Clip = cmp.Or(o.Momentum, was.Momentum), cmp.Or(o.WeightDecay, was.WeightDecay), cmp.Or(o.Clip, was.Clip)
	o.Batch, o.Patience, o.HeldOut = cmp.Or(o.Batch, was.Batch), cmp.Or(o.Patience, was.Patience), cmp.Or(o.HeldOut, was.HeldOut)
	o.Raters = cmp.Or(o.Raters, was.Raters)
	if o.Augment == (Augment{}) {
		o.Augment = was.Augment
	}
	// A single network is chosen by folds that begin anew; see fitting.run.
	if was.Ensemble == 1 {
		o.Rate, o.Epochs = cmp.Or(o.Rate, was.Rate), cmp.Or(o.Epochs, was.Epochs)
	} else {
		o.Rate, o.Epochs = cmp.Or(o.Rate, warmRate*was.Rate), cmp.Or(o.Epochs, min(was.Epochs, max(10, was.Epochs/warmEpochs)))
	}
	o.FromModel, err = m.Hash()
	return err
}

// The rate of a network that goes on, as a share of the rate it had, and what its number of
// epochs is divided by.
const (
	warmRate   = 0.3
	warmEpochs = 3
)

// sameClasses refuses classes that a model does not know, in its order.
func sameClasses(now, then []string) error {
	var unknown []string
	for _, c := range now {
		if !slices.Contains(then, c) {
			unknown = append(unknown, strconv.Quote(c))
		}
	}
	switch {
	case len(unknown) > 0:
		return fmt.Errorf("votes for classes that the model to start from does not know: %s; it knows %s: a model with other classes has to be trained from the beginning",
			words.Few(unknown), words.Few(then))
	case !slices.Equal(now, then):
		return fmt.Errorf("classes %q, but the model to start from has %q: give them in its order", now, then)
	}
	return nil
}

// takeTransform takes over how features become inputs, and refuses data with other
// features.
func (f *fitting) takeTransform(s *WarmStart) error {
	f.transform = s.Model.Transform.Clone()
	if _, err := f.transform.Over(f.ds); err != nil {
		return fmt.Errorf("the features are not those of the model to start from: %w", err)
	}
	var unknown []string
	for _, p := range f.ds.Parts {
		if !slices.ContainsFunc(f.transform.Parts(), func(q dataset.Part) bool { return q.Name == p.Name }) {
			unknown = append(unknown, strconv.Quote(p.Name))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("the features are not those of the model to start from: it was trained without %s", words.Few(unknown))
	}
	return nil
}

// inherit lets every network hold out what it held out before, and its share of what is
// new. It reports whether that is known.
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
		return false, nil // what is held out is given
	}
	f.folds, f.fixedHoldOut = old.folds, old.fixedHoldOut
	parts := cmp.Or(old.folds, max(2, int(1/f.o.HeldOut+0.5)))
	var fresh []int // places in voted
	count := make([]int, max(parts, 2))
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
	if err := f.spread(fresh, parts, slices.Contains(old.fold, 0), count); err != nil {
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

// spread gives new items to folds, or one part of them to what is held out for good, if
// anything is.
func (f *fitting) spread(fresh []int, parts int, holds bool, count []int) error {
	items := make([]int, len(fresh))
	for k, at := range fresh {
		items[k] = f.voted[at]
	}
	fold := make([]int, len(fresh))
	if len(fresh) >= 2*parts {
		var err error
		if fold, _, err = foldsOf(f.ds, items, parts, f.o.Seed); err != nil {
			return err
		}
	} else {
		for k := range fold {
			fold[k] = (k + 1) % parts
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

// startFrom gives a network the weights of another. What belongs to raters is left as it
// is where they are others.
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

// startOutputs makes a network begin at what is true of all items: its last layer gets the given
// biases, and its weights are shrunk, so that what the network says of an item grows from there.
// Networks that do not end in a dense layer with a bias are left as they are.
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
