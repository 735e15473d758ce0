package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/model"
)

// Whether raters are modelled ("auto") is decided by held-out votes. First the networks are fitted
// without raters, as usual. Then raters' parameters are fitted to the held-out distributions of those
// networks, fold by fold, which needs no training: if that does not predict votes of the other folds
// better, raters are not modelled. An approximation that takes one or two hundredths of the time of
// the fit settles most cases; where it comes close to the limit, the likelihood is evaluated, which takes
// a quarter of that time and, for ordered classes, a multiple of it. Otherwise networks
// are fitted with raters as well, and are kept if they predict held-out votes better by more than
// two standard errors.

const (
	raterGain = 2 // required improvement by raters, in standard errors

	// Where the approximate improvement is below the first or above the second, in standard errors, the improvement itself is
	// below or above raterGain. That was so for all of 79 data sets, 12 of them of people, on which the approximation was
	// between these two 22 times: off by at most .3 then, and by .6 once, for ordered classes.
	littleGain, clearGain = 1, 4
)

// decide compares a fit without raters with one that models them, if held-out votes suggest it.
func (f *fitting) decide(ctx context.Context, plain *Result) (*Result, error) {
	p := &plain.Model.Provenance
	compared := func(known bool, kind evaluate.Kind, gain, se float64) *model.Raters {
		return &model.Raters{Known: known, Reason: message(kind, gain, se), Gain: gain, GainSE: se}
	}
	switch f.declined.Kind {
	case "":
	case NoNames:
		return plain, nil
	default:
		p.Raters = &model.Raters{Reason: f.declined}
		return plain, nil
	}
	f.report(Event{Note: "comparing raters"})
	stopped := func() (*Result, error) {
		p.Raters = &model.Raters{Reason: message(RatersUntried)}
		p.Warnings = append(p.Warnings, message(StoppedEarly))
		return plain, fmt.Errorf("%w: raters were still being compared", ErrStopped)
	}
	gain, se, err := f.survey(plain, f.foldOf)
	if err != nil {
		return nil, err
	}
	if !(gain > littleGain*se) {
		p.Raters = compared(false, RatersNoSign, gain, se)
		return plain, nil
	}
	before, err := f.losses(plain)
	if err != nil {
		return nil, err
	}
	if !(gain > clearGain*se) {
		gain, se, err = f.screen(ctx, plain, before)
		if ctx.Err() != nil {
			return stopped()
		}
		if err != nil {
			return nil, err
		}
		if !(gain > raterGain*se) {
			p.Raters = compared(false, RatersNoSign, gain, se)
			return plain, nil
		}
	}
	g, err := f.withRaters()
	if err != nil {
		return nil, err
	}
	rated, err := g.fit(ctx)
	if errors.Is(err, ErrStopped) {
		return stopped()
	}
	if err != nil {
		return nil, err
	}
	after, err := g.losses(rated)
	if err != nil {
		return nil, err
	}
	gain, se = f.compare(before, after)
	if !(gain > raterGain*se) {
		p.Raters = compared(false, RatersNoHelp, gain, se)
		return plain, nil
	}
	unnamed, unnamedSE, err := f.compareUnnamed(plain, rated)
	if err != nil {
		return nil, err
	}
	if unnamed < -raterGain*unnamedSE {
		p.Raters = &model.Raters{Reason: message(RatersWrongAverage, gain, se, unnamed, unnamedSE), Gain: gain, GainSE: se}
		return plain, nil
	}
	p = &rated.Model.Provenance
	p.Raters = compared(true, RatersHelp, gain, se)
	p.Raters.Left = f.raterSet.left
	rated.Options = plain.Options
	return rated, nil
}

// losses returns the joint loss of the votes on each item given its held-out prediction, NaN if there is none.
func (f *fitting) losses(res *Result) (list []float64, err error) {
	list = make([]float64, len(f.voted))
	for at, j := range f.voted {
		list[at] = math.NaN()
		if a := res.OutOfFold[j]; a != nil {
			if list[at], err = f.heldLoss(at, a); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// heldBy returns the fold of the voted item at an index.
func (f *fitting) heldBy(at int) int {
	if f.folds == 0 {
		return 0
	}
	return f.fold[at]
}

// compare returns the reduction in losses from before to after, per vote, with a standard error
// over items or groups.
func (f *fitting) compare(before, after []float64) (gain, se float64) {
	type sums struct{ gain, votes float64 }
	of := map[string]*sums{}
	var list []*sums
	all := &sums{}
	for at, j := range f.voted {
		if math.IsNaN(before[at]) || math.IsNaN(after[at]) {
			continue
		}
		s := &sums{}
		if g := f.ds.Groups; g != nil {
			if of[g[j]] == nil {
				of[g[j]] = s
			}
			s = of[g[j]]
		}
		if s.votes == 0 { // not in the list yet: voted items have votes
			list = append(list, s)
		}
		for _, t := range []*sums{s, all} {
			t.gain += before[at] - after[at]
			t.votes += f.ds.VotesOf(j)
		}
	}
	gain = all.gain / all.votes
	square := 0.0
	for _, s := range list {
		e := s.gain - gain*s.votes
		square += e * e
	}
	n := float64(len(list))
	return gain, math.Sqrt(square*n/max(1, n-1)) / all.votes
}

// withTask calls do with a task that has raters.
func (f *fitting) withTask(do func() error) error {
	f.useRaters()
	defer func() { f.ratersKnown, f.task.RaterVotes, f.task.ClassVotes, f.task.RaterGroups = false, nil, nil, nil }()
	return do()
}

// survey returns the approximate gain per vote of what [fitting.screen] does, for folds of the voted items.
func (f *fitting) survey(res *Result, fold func(at int) int) (gain, se float64, err error) {
	before, after := make([]float64, len(f.voted)), make([]float64, len(f.voted))
	var places, folds []int // of the items with held-out predictions
	for at, j := range f.voted {
		if before[at] = math.NaN(); res.OutOfFold[j] != nil {
			before[at] = 0
			places, folds = append(places, at), append(folds, fold(at))
		}
	}
	items, dists := f.heldDists(res, func(int) bool { return true })
	err = f.withTask(func() error {
		gains, err := head.RaterGains(f.task, dists, f.ratingsOf(items), folds)
		for k, at := range places[:len(gains)] {
			after[at] = -gains[k]
		}
		return err
	})
	gain, se = f.compare(before, after)
	return gain, se, err
}

// screen fits raters' parameters to the held-out distributions of networks without raters, for each fold of the
// items from the other folds, and returns the gain per vote. When ctx is canceled it returns the context's error.
func (f *fitting) screen(ctx context.Context, res *Result, before []float64) (gain, se float64, err error) {
	after := slices.Clone(before)
	err = f.withTask(func() error {
		for k := range f.foldCount() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.screenFold(res, after, k); err != nil {
				return err
			}
		}
		return nil
	})
	gain, se = f.compare(before, after)
	return gain, se, err
}

// screenFold replaces the losses of the items of a fold by those with raters' parameters fitted to the other folds.
func (f *fitting) screenFold(res *Result, losses []float64, k int) error {
	var rest []int // indexes into voted
	for at := range f.voted {
		if f.foldOf(at) == k && !math.IsNaN(losses[at]) {
			rest = append(rest, at)
		}
	}
	items, dists := f.heldDists(res, func(at int) bool { return f.foldOf(at) != k })
	raterModel, err := head.FitRaterModel(f.task, dists, f.ratingsOf(items))
	if err != nil {
		return err
	}
	errs := make([]error, len(rest))
	par.Limit(f.o.Threads).For(len(rest), func(i int) {
		j := f.voted[rest[i]]
		l, err := raterModel.LogVotes(res.OutOfFold[j].Dist, f.votesOf(j))
		losses[rest[i]], errs[i] = -l, err
	})
	return errors.Join(errs...)
}

// heldDists returns the voted items at the selected indexes that have held-out predictions, and their distributions.
func (f *fitting) heldDists(res *Result, use func(at int) bool) (items []int, dists []*mixture.Dirichlet) {
	for at, j := range f.voted {
		if a := res.OutOfFold[j]; a != nil && use(at) {
			items, dists = append(items, j), append(dists, a.Dist)
		}
	}
	return items, dists
}
