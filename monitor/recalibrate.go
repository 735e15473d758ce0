package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/calibrate"
	"credence/dataset"
	"credence/head"
	"credence/internal/par"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

// ErrNoGain means that an adjustment would not have predicted the later votes better than the model.
var ErrNoGain = errors.New("the model is better left as it is")

// lateItem is an item with its votes.
type lateItem struct {
	dist   *mixture.Dirichlet
	counts []float64
	rated  []head.Rating // with a rater model
	level  int           // of the feature, −1 if none
}

// adjustment is what Recalibrate estimates.
type adjustment struct {
	shift  []float64   // [d]
	levels [][]float64 // [levels, d]
	factor float64
}

// Recalibrate returns a model whose distributions are adjusted to later votes: a shift of the log odds, one of each level
// of a categorical feature of the model if by is not "", and a factor for the concentration. Estimates are shrunk
// towards no change. It returns ErrNoGain unless the adjustments would have predicted the votes better, by two standard
// errors, one after the other: every tenth of the items by what the items before it showed.
func Recalibrate(ctx context.Context, m *model.Model, in Later, by string) (*model.Model, error) {
	items, votes, levels, err := lateItems(ctx, m, in, by)
	if err != nil {
		return nil, err
	}
	if len(items) < leastItems {
		return nil, fmt.Errorf("expected votes on at least %d items that the model was not trained on, found %s", leastItems, words.Thousands(len(items)))
	}
	f := &refit{classes: len(m.Classes), levels: len(levels), raters: m.RaterModel}
	gain, se, err := f.prequential(ctx, items)
	if err != nil {
		return nil, err
	}
	if !(gain > 2*se) {
		return nil, fmt.Errorf("%w: adjusted to earlier votes, its gain on later ones would have been %.4f ± %.4f nats per item", ErrNoGain, gain, se)
	}
	a, err := f.fit(ctx, items)
	if err != nil {
		return nil, err
	}
	hash, err := m.Hash()
	if err != nil {
		return nil, err
	}
	out := Plain(m)
	out.Calibration = m.Calibration
	r := &calibrate.Recalibration{From: hash, Items: len(items), Votes: votes, Gain: gain, GainSE: se, Shift: a.shift, Concentration: a.factor}
	if by != "" {
		r.Feature, r.Levels, r.Shifts = by, levels, a.levels
	}
	if old := m.Recalibration; old != nil {
		if old.Feature != "" && old.Feature != by {
			return nil, fmt.Errorf("the model was recalibrated by %s: expected --by %s, found %q", old.Feature, old.Feature, by)
		}
		r.Concentration *= old.Concentration
		for i := range r.Shift {
			r.Shift[i] += old.Shift[i]
			for l := range old.Shifts {
				r.Shifts[l][i] += old.Shifts[l][i]
			}
		}
	}
	out.Recalibration = r
	return out, out.Check()
}

// leastItems is the smallest number of items to recalibrate by.
const leastItems = 30

// lateItems returns the items with votes, in the order of their first votes, by the reported scale of the model.
func lateItems(ctx context.Context, m *model.Model, in Later, by string) (items []lateItem, votes int, levels []string, err error) {
	var codes []int
	if by != "" {
		if codes, levels, err = levelsOf(m, in.Data, by); err != nil {
			return nil, 0, nil, err
		}
	}
	stream, err := Votes(m, in.Data)
	if err != nil {
		return nil, 0, nil, err
	}
	decoded, err := m.Predict(ctx, in.Data, model.PredictOptions{KeepBad: true})
	if err != nil {
		return nil, 0, nil, err
	}
	row := make(map[string]int, in.Data.Len())
	for j, id := range in.Data.Items {
		row[id] = j
	}
	rater := make(map[string]int32, len(m.Raters))
	for i, name := range m.Raters {
		rater[name] = int32(i)
	}
	at := map[string]int{}
	for _, v := range stream {
		j := row[v.Item]
		if in.Trained[v.Item] || decoded[j].Err != nil {
			continue
		}
		k, ok := at[v.Item]
		if !ok {
			k = len(items)
			at[v.Item] = k
			item := lateItem{dist: decoded[j].Dist, counts: make([]float64, len(m.Classes)), level: -1}
			if codes != nil {
				item.level = codes[j]
			}
			items = append(items, item)
		}
		items[k].counts[v.Class]++
		if r, known := rater[v.Rater]; known {
			items[k].rated = append(items[k].rated, head.Rating{Rater: r, Class: int32(v.Class)})
		} else {
			items[k].rated = append(items[k].rated, head.Rating{Rater: -1, Class: int32(v.Class)})
		}
		votes++
	}
	return items, votes, levels, nil
}

// levelsOf returns the level of a categorical feature of each item, −1 if it has none.
func levelsOf(m *model.Model, ds *dataset.Dataset, by string) (codes []int, levels []string, err error) {
	schema := m.Transform.Schema()
	k := slices.IndexFunc(schema, func(f dataset.Feature) bool { return f.Name == by && f.Kind == dataset.Categorical })
	if k < 0 {
		return nil, nil, fmt.Errorf("groups by %q: expected a categorical feature of the model, which every prediction has", by)
	}
	levels = schema[k].Levels
	codes, err = model.LevelsOf(ds, by, levels)
	return codes, levels, err
}

// refit estimates adjustments by the penalized likelihood of votes.
type refit struct {
	classes, levels int
	raters          *head.RaterModel
}

// The standard deviations of the priors of a shift, of one of a level, and of the logarithm of the factor.
const priorShift, priorLevel, priorFactor = 1, 0.5, 1

// none returns the adjustment that changes nothing.
func (f *refit) none() *adjustment {
	a := &adjustment{shift: make([]float64, f.classes), factor: 1}
	for range f.levels {
		a.levels = append(a.levels, make([]float64, f.classes))
	}
	return a
}

// parameters returns what is estimated, each with the standard deviation of its prior: of two classes only the second is
// shifted.
func (f *refit) parameters(a *adjustment) (list []*float64, sd []float64) {
	first := 0
	if f.classes == 2 {
		first = 1
	}
	for c := first; c < f.classes; c++ {
		list, sd = append(list, &a.shift[c]), append(sd, priorShift)
	}
	for _, shift := range a.levels {
		for c := first; c < f.classes; c++ {
			list, sd = append(list, &shift[c]), append(sd, priorLevel)
		}
	}
	return list, sd
}

// loss returns the negative log-likelihood of the votes on an item.
func (f *refit) loss(a *adjustment, item *lateItem) (float64, error) {
	shift := a.shift
	if item.level >= 0 && item.level < len(a.levels) {
		shift = slices.Clone(shift)
		for i, x := range a.levels[item.level] {
			shift[i] += x
		}
	}
	dist, err := calibrate.Shifted(item.dist, shift, a.factor)
	if err != nil {
		return 0, err
	}
	var x float64
	if f.raters != nil {
		x, err = f.raters.LogVotes(dist, item.rated)
	} else {
		x, err = dist.LogVotes(item.counts)
	}
	return -x, err
}

// total returns the penalized loss of all items.
func (f *refit) total(a *adjustment, items []lateItem) (float64, error) {
	each, errs := make([]float64, len(items)), make([]error, len(items))
	par.For(len(items), func(i int) { each[i], errs[i] = f.loss(a, &items[i]) })
	sum := 0.0
	for i := range each {
		if errs[i] != nil {
			return 0, errs[i]
		}
		sum += each[i]
	}
	list, sd := f.parameters(a)
	for i, x := range list {
		sum += *x * *x / (2 * sd[i] * sd[i])
	}
	log := math.Log(a.factor)
	return sum + log*log/(2*priorFactor*priorFactor), nil
}

// fit minimizes the penalized loss, one parameter after the other.
func (f *refit) fit(ctx context.Context, items []lateItem) (*adjustment, error) {
	a := f.none()
	list, _ := f.parameters(a)
	log := 0.0
	for range 3 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, x := range list {
			if err := minimize(x, -3, 3, func() (float64, error) { return f.total(a, items) }); err != nil {
				return nil, err
			}
		}
		err := minimize(&log, -3, 3, func() (float64, error) {
			a.factor = math.Exp(log)
			return f.total(a, items)
		})
		if err != nil {
			return nil, err
		}
		a.factor = math.Exp(log)
	}
	return a, nil
}

// minimize sets x to the minimum of a function on [lo, hi], by golden sections to about 0.005.
func minimize(x *float64, lo, hi float64, f func() (float64, error)) error {
	const golden = 0.6180339887498949
	at := func(v float64) (float64, error) {
		*x = v
		return f()
	}
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, err := at(a)
	if err != nil {
		return err
	}
	fb, err := at(b)
	for hi-lo > 0.01 && err == nil {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa, err = at(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb, err = at(b)
		}
	}
	*x = (lo + hi) / 2
	return err
}

// prequential returns the mean gain per item, and its standard error: each tenth of the items after the first is
// predicted by the adjustment that the items before it give.
func (f *refit) prequential(ctx context.Context, items []lateItem) (gain, se float64, err error) {
	const parts = 10
	var gains []float64
	none := f.none()
	for part := 1; part < parts; part++ {
		from, to := len(items)*part/parts, len(items)*(part+1)/parts
		a, err := f.fit(ctx, items[:from])
		if err != nil {
			return 0, 0, err
		}
		for i := from; i < to; i++ {
			before, err := f.loss(none, &items[i])
			if err != nil {
				return 0, 0, err
			}
			after, err := f.loss(a, &items[i])
			if err != nil {
				return 0, 0, err
			}
			gains = append(gains, before-after)
		}
	}
	gain = mean(gains)
	for _, g := range gains {
		se += (g - gain) * (g - gain)
	}
	return gain, math.Sqrt(se) / float64(len(gains)), nil
}
