package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
	"credence/nn"
)

// The width of reported distributions is calibrated with pairs of votes on items that a network held out:
// for two votes on such an item, E[(v₁−μ)(v₂−μ)] is E[(p−μ)²], the squared error of the mean, which is
// due to both the spread of p and the error of the network. [mixture.Dispersion] is its ratio R to the predicted
// variance, by which distributions are scaled ([mixture.Dispersion.Scale]). Held-out distributions are those
// of single networks, at epochs that the items did not choose ([crossStop]); the ratio for several networks
// together follows by algebra ([mixture.Dispersion.Ensemble]).

// errEnough ends a loop over items.
var errEnough = errors.New("enough items")

// calibrate computes the calibration of the model, and calibrates the held-out predictions, each by the
// calibration found from the other folds. Once ctx is canceled it uses few items where networks have to
// be run.
func (f *fitting) calibrate(ctx context.Context, res *Result, runs, final []*run) error {
	if !f.traits.Joint {
		return nil
	}
	c := &calibrate.Calibration{Scale: 1, Resolution: f.resolution()}
	res.Model.Calibration = c
	defer func() {
		for _, a := range res.OutOfFold {
			if a != nil {
				a.Resolution = c.Resolution
			}
		}
	}()
	if f.o.Calibrate == "off" || f.o.ClassWeights != nil { // class weights shift the means
		return nil
	}
	item, err := f.calibrationItem()
	if err != nil {
		return err
	}
	h, err := f.heldOut(res, runs, item)
	if err != nil {
		return err
	}
	var within *calibrate.Within
	if len(final) > 1 {
		if within, err = f.within(ctx, final); err != nil {
			return err
		}
	}
	found, err := h.Calibration(within)
	if err != nil {
		return err
	}
	if found.Items == 0 {
		f.warn(FewPairs)
		return nil
	}
	found.Resolution, found.Raters = c.Resolution, h.Raters()
	*c = found
	if c.Leak {
		r := spread(c.Network, c.NetworkSE)
		f.warn(Leak, float64(r.Value), float64(r.Lo), float64(r.Hi), f.leakAdvice(ctx))
	} else if c.Uncertain() {
		r := spread(c.Ratio, c.RatioSE)
		f.warn(UnclearWidths, float64(r.Value), float64(r.Lo), float64(r.Hi))
	}
	if g := c.Groups; g != nil && len(g.TooFew()) > 0 {
		f.warn(FewInGroups, g.Feature, words.Few(g.TooFew()))
	}
	if f.folds > 0 {
		within = nil // held-out predictions are those of single networks
	}
	return f.crossFit(h, res, within, item)
}

// resolution returns ε: as requested, or as the number of votes allows.
func (f *fitting) resolution() float64 {
	switch {
	case f.o.Resolution > 0:
		return f.o.Resolution
	case f.o.Resolution < 0:
		return 0
	}
	votes := 0.0
	for _, j := range f.voted {
		votes += f.ds.VotesOf(j)
	}
	return mixture.DefaultResolution(votes)
}

// foldCount returns the number of folds of the held-out items that are calibrated by each other: those of the
// networks or, if there is only one, its halves.
func (f *fitting) foldCount() int { return max(f.folds, 2) }

// foldOf returns the fold of the voted item at an index.
func (f *fitting) foldOf(at int) int {
	if f.folds < 2 {
		return at % 2
	}
	return f.fold[at]
}

// heldOut collects the predictions of one network for each item that it held out.
func (f *fitting) heldOut(res *Result, runs []*run, item func(j int) calibrate.Item) (*calibrate.HeldOut, error) {
	place := map[int]int{}
	for at, j := range f.voted {
		place[j] = at
	}
	h := calibrate.NewHeldOut(len(f.ds.Classes), f.foldCount())
	if name := f.o.GroupCalibration; name != "" {
		h.GroupBy(name, f.groupFeature().Levels)
	}
	raters := calibrate.NewRaters(cmp.Or(f.o.Population, calibrate.These), f.votesByRater())
	h.RateBy(raters)
	var named [][]head.Rating // of many raters it makes no difference who cast a vote
	if !f.ratersKnown && raters.Few() {
		named = f.namedVotes()
	}
	seen := map[int]bool{} // folds
	for _, r := range runs {
		if seen[r.fold] || len(r.held) == 0 {
			continue
		}
		seen[r.fold] = true
		decoded := make([]head.Decoded, len(r.held))
		for k, j := range r.held {
			if a := res.OutOfFold[j]; a != nil {
				decoded[k] = *a
			}
		}
		if heldOutputs := f.crossOutputs(r); heldOutputs != nil {
			var err error
			decode := head.DecodeOptions{Threads: f.o.Threads}
			if decoded, err = decode.Decode(f.reader, heldOutputs, len(r.held)); err != nil {
				return nil, err
			}
		}
		for k, j := range r.held {
			if f.ratersKnown {
				if err := h.AddRated(res.Model.RaterModel, decoded[k].Dist, f.votesOf(j), item(j), f.foldOf(place[j])); err != nil {
					return nil, err
				}
				continue
			}
			h.Add(decoded[k].Dist, f.ds.CountsOf(j), item(j), f.foldOf(place[j]))
			if named != nil {
				h.AddNamed(&decoded[k], named[j])
			}
		}
	}
	return h, nil
}

// calibrationItem returns a function for what the scale of an item may depend on.
func (f *fitting) calibrationItem() (func(j int) calibrate.Item, error) {
	var codes []int
	if g := f.groupFeature(); g != nil {
		var err error
		if codes, err = model.LevelsOf(f.ds, g.Name, g.Levels); err != nil {
			return nil, err
		}
	}
	return func(j int) calibrate.Item {
		item := calibrate.Item{Inputs: f.placeInputs(j), Level: -1}
		if codes != nil {
			item.Level = codes[j]
		}
		return item
	}, nil
}

// groupFeature returns the feature whose levels have ratios of their own, nil if there is none.
func (f *fitting) groupFeature() *dataset.Feature {
	for k := range f.ds.Features {
		if g := &f.ds.Features[k]; g.Name == f.o.GroupCalibration && f.o.GroupCalibration != "" {
			return g
		}
	}
	return nil
}

// checkCalibration returns an error unless intervals can be calibrated by group, or for a population of raters, if that is
// asked for.
func (f *fitting) checkCalibration(o *Options) error {
	name := o.GroupCalibration
	uncalibrated := !f.traits.Joint || o.Calibrate == "off" || o.ClassWeights != nil
	if uncalibrated && o.Population == calibrate.LikeThese {
		return fmt.Errorf("population %q: expected calibrated intervals, which this method, calibrate off and weights of classes exclude", o.Population)
	}
	if name == "" {
		return nil
	}
	if uncalibrated {
		return fmt.Errorf("calibration by group %q: expected calibrated intervals, which this method, calibrate off and weights of classes exclude", name)
	}
	names := []string{}
	for _, g := range f.ds.Features {
		if g.Kind != dataset.Categorical {
			continue
		}
		if names = append(names, strconv.Quote(g.Name)); g.Name != name {
			continue
		}
		if len(g.Levels) > calibrate.MaxGroups {
			return fmt.Errorf("calibration by group %q: expected at most %d levels, found %d", name, calibrate.MaxGroups, len(g.Levels))
		}
		return nil
	}
	if len(names) == 0 {
		names = []string{"there is none"}
	}
	return fmt.Errorf("calibration by group: expected the name of a categorical feature (%s), found %q", strings.Join(names, ", "), name)
}

// placeInputs returns the numbers of an item of a small table, without normal scores, on which the scale may depend, else nil.
func (f *fitting) placeInputs(j int) []float32 {
	plain := f.transform.Plain()
	if plain > calibrate.MaxPlace || plain == 0 {
		return nil
	}
	for _, in := range f.transform.Inputs() {
		if in.Kind != dataset.Dense {
			return nil
		}
	}
	x := make([]float32, f.in.width)
	if f.in.rows.ReadRow(j, x) != nil {
		return nil
	}
	return x[:plain]
}

// namedVotes returns the votes of each item by named raters.
func (f *fitting) namedVotes() [][]head.Rating {
	named := make([][]head.Rating, f.ds.Len())
	for _, r := range f.ds.Ratings {
		named[r.Item] = append(named[r.Item], head.Rating(r))
	}
	return named
}

// votesByRater returns the number of votes of each named rater.
func (f *fitting) votesByRater() []int {
	count := make([]int, len(f.ds.Raters))
	for _, r := range f.ds.Ratings {
		count[r.Rater]++
	}
	return count
}

// crossFit scales the held-out predictions of each fold by the calibration found from the other folds.
func (f *fitting) crossFit(h *calibrate.HeldOut, res *Result, within *calibrate.Within, item func(j int) calibrate.Item) error {
	cs := make([]calibrate.Calibration, f.foldCount())
	for k := range cs {
		var err error
		if cs[k], err = h.Without(k, within); err != nil {
			return err
		}
	}
	par.Limit(f.o.Threads).For(len(f.voted), func(at int) {
		j := f.voted[at]
		if a := res.OutOfFold[j]; a != nil {
			cs[f.foldOf(at)].Apply(a, item(j))
		}
	})
	for _, a := range res.OutOfFold {
		if a != nil && a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// within compares the networks of an ensemble on the items that they were trained on. Once ctx is canceled, it stops
// after the current batch.
func (f *fitting) within(ctx context.Context, final []*run) (*calibrate.Within, error) {
	every := (len(f.voted) + calibrate.MaxItems - 1) / calibrate.MaxItems
	var items []int
	for k := 0; k < len(f.voted); k += every {
		items = append(items, f.voted[k])
	}
	nets := make([]*model.Ensemble, len(final))
	for k, r := range final {
		var err error
		if nets[k], err = model.NewEnsemble(f.o.Engine, []*nn.Network{r.network}, f.blendOf(r)); err != nil {
			return nil, err
		}
	}
	w := &calibrate.Within{}
	buffers := f.in.buffers(f.o.Batch, false)
	err := f.in.each(buffers, f.o.Batch, items, func(x []float32, _ head.Batch, some []int) error {
		by := make([][]head.Decoded, len(final))
		for k, net := range nets {
			var err error
			if by[k], err = net.Decode(f.reader, x); err != nil {
				return err
			}
		}
		one := make([]head.Decoded, len(final))
		for j := range some {
			for k := range by {
				one[k] = by[k][j]
			}
			w.Add(one)
		}
		if ctx.Err() != nil {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return w, err
}

// spread returns the ratio of two variances with its interval.
func spread(ratio, se float64) evaluate.IntervalEstimate {
	return evaluate.NotNegative(evaluate.Estimate{Value: evaluate.Number(ratio), SE: evaluate.Number(se)})
}
