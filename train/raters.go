package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/model"
	"credence/nn"
)

// Whether raters are modelled ("auto") is decided by held-out votes. First the networks are fitted
// without raters, as usual. Then raters' parameters are fitted to the held-out distributions of those
// networks, fold by fold, which needs no training: if that does not predict votes of the other folds
// better, raters are not modelled, and the fit has taken about a quarter longer. Otherwise networks
// are fitted with raters as well, and are kept if they predict held-out votes better by more than
// two standard errors.

const (
	raterGain   = 2   // required improvement by raters, in standard errors
	mostRatings = 200 // largest number of votes on an item for a likelihood with raters
)

// ErrRaters is the error when raters are requested and cannot be modelled.
var ErrRaters = errors.New("raters cannot be distinguished")

// raterMethod is a method that has a likelihood with raters.
type raterMethod interface {
	head.Method
	WithRaters() head.Method
}

// chooseRaters decides whether raters are modelled from the start, compared later, or not modelled, and why.
func (f *fitting) chooseRaters(o *Options) error {
	if o.Raters != "" && o.Raters != "auto" && o.Raters != "on" {
		return nil // off, or an error later
	}
	var reason, doubt evaluate.Message
	if _, able := o.Head.(raterMethod); !able {
		reason = message(RatersIgnored, o.Head.Name())
	} else if reason = ratable(f.ds); reason.Kind == "" {
		g := evaluate.CountRaters(f.ds)
		f.raterSet = newRaterSet(f.ds, g)
		doubt = doubtful(g)
	}
	switch {
	case reason.Kind != "" && o.Raters == "on":
		return fmt.Errorf("%w: %s", ErrRaters, reason)
	case o.Raters == "on":
		if doubt.Kind != "" {
			f.warn(DoubtfulRaters, doubt)
		}
		f.useRaters()
	case reason.Kind != "":
		f.declined = reason
	default:
		f.declined = doubt
	}
	return nil
}

// useRaters sets the task to one with raters.
func (f *fitting) useRaters() {
	f.task.RaterVotes = make([]float64, len(f.raterSet.names))
	f.task.ClassVotes = make([]float64, len(f.ds.Classes))
	for _, r := range f.raterSet.ratings {
		f.task.RaterVotes[r.Rater]++
		f.task.ClassVotes[r.Class]++
	}
	f.task.RaterGroups = f.raterSet.groups
	f.ratersKnown = true
}

// withRaters returns a fit of the same items with raters.
func (f *fitting) withRaters() (*fitting, error) {
	j := *f.job
	g := &fitting{job: &j, ds: f.ds, voted: f.voted, most: f.most, fold: f.fold, folds: f.folds, before: f.before, turns: f.turns, raterSet: f.raterSet, prefix: "raters ",
		warnings: slices.Clone(f.warnings[:f.aboutData])}
	if g.grove = nil; f.o.Trees != "off" {
		g.treesDeclined = &model.Trees{Reason: message(TreesRaters)}
	}
	g.useRaters()
	if err := g.setMethod(f.method); err != nil {
		return nil, err
	}
	g.in.rate(g.raterSet.ratings)
	return g, nil
}

// ratingsOf returns the single votes on some items, in the order of the items.
func (f *fitting) ratingsOf(items []int) head.Batch {
	if f.in.first == nil {
		f.in.rate(f.raterSet.ratings)
	}
	b := head.Batch{Counts: head.Counts{Classes: len(f.ds.Classes)}, Ratings: f.in.ratingsOf(nil, items)}
	for _, j := range items {
		b.Counts.Values = append(b.Counts.Values, f.ds.CountsOf(j)...)
	}
	return b
}

// votesOf returns the votes on an item with their raters; votes without a name, or by raters who are not
// modelled, have rater −1.
func (f *fitting) votesOf(j int) []head.Rating {
	b := f.ratingsOf([]int{j})
	left := slices.Clone(b.Counts.Values)
	for _, r := range b.Ratings {
		left[r.Class]--
	}
	for i, n := range left {
		for ; n >= 1; n-- {
			b.Ratings = append(b.Ratings, head.Rating{Rater: -1, Class: int32(i)})
		}
	}
	return b.Ratings
}

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
	before, err := f.losses(plain)
	if err != nil {
		return nil, err
	}
	stopped := func() (*Result, error) {
		p.Raters = &model.Raters{Reason: message(RatersUntried)}
		p.Warnings = append(p.Warnings, message(StoppedEarly))
		return plain, fmt.Errorf("%w: raters were still being compared", ErrStopped)
	}
	gain, se, err := f.screen(ctx, plain, before, f.foldCount(), f.foldOf)
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
	spread, err := f.compareSpread(plain, rated)
	if err != nil {
		return nil, err
	}
	if spread != nil {
		p.Raters = &model.Raters{Reason: message(RatersWorseSpread, gain, se, f.ds.Classes[spread.class], spread.rated, spread.plain), Gain: gain, GainSE: se}
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

// screen fits raters' parameters to the held-out distributions of networks without raters, for each fold of the
// items from the other folds, and returns the gain per vote. When ctx is canceled it returns the context's error.
func (f *fitting) screen(ctx context.Context, res *Result, before []float64, folds int, fold func(at int) int) (gain, se float64, err error) {
	f.useRaters()
	defer func() { f.ratersKnown, f.task.RaterVotes, f.task.ClassVotes, f.task.RaterGroups = false, nil, nil, nil }()
	after := slices.Clone(before)
	for k := range folds {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		var rest []int // indexes into voted
		for at := range f.voted {
			if fold(at) == k && !math.IsNaN(before[at]) {
				rest = append(rest, at)
			}
		}
		items, dists := f.heldDists(res, func(at int) bool { return fold(at) != k })
		raterModel, err := head.FitRaterModel(f.task, dists, f.ratingsOf(items))
		if err != nil {
			return 0, 0, err
		}
		errs := make([]error, len(rest))
		par.Limit(f.o.Threads).For(len(rest), func(i int) {
			j := f.voted[rest[i]]
			l, err := raterModel.LogVotes(res.OutOfFold[j].Dist, f.votesOf(j))
			after[rest[i]], errs[i] = -l, err
		})
		if err := errors.Join(errs...); err != nil {
			return 0, 0, err
		}
	}
	gain, se = f.compare(before, after)
	return gain, se, nil
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

// fitRaterModel computes the rater model of the model: the mean of the parameters that its networks have learned.
// Parameters fitted to held-out distributions would take errors of the networks for guesses of raters. The
// standard errors are from held-out distributions, plus the variation between networks.
func (f *fitting) fitRaterModel(res *Result, runs, final []*run) error {
	f.raterModels = map[int]*head.RaterModel{}
	for fold, same := range f.byFold(runs) {
		if len(same) == 0 {
			continue
		}
		var err error
		if f.raterModels[fold], err = head.RaterModelOf(f.task, owns(networksOf(same))...); err != nil {
			return err
		}
	}
	raterModel, err := head.RaterModelOf(f.task, owns(res.Model.Members)...)
	if err != nil {
		return err
	}
	if items, dists := f.heldDists(res, func(int) bool { return true }); len(items) > 0 {
		share := float64(len(items)) / float64(len(f.voted))
		if err := raterModel.AddVotes(f.task, dists, f.ratingsOf(items), share); err != nil {
			return err
		}
	}
	if err := raterModel.Widen(f.task, owns(networksOf(runs))...); err != nil {
		return err
	}
	res.Model.Raters, res.Model.RaterModel = slices.Clone(f.raterSet.names), raterModel
	return nil
}

// ownValues returns the values of the head's tensors in a network.
func ownValues(n *nn.Network) (own [][]float32) {
	for _, p := range n.Own {
		own = append(own, p.Value)
	}
	return own
}

// owns returns the values of the head's tensors in some networks.
func owns(nets []*nn.Network) (all [][][]float32) {
	for _, n := range nets {
		all = append(all, ownValues(n))
	}
	return all
}

// networksOf returns the networks of runs.
func networksOf(runs []*run) (nets []*nn.Network) {
	for _, r := range runs {
		nets = append(nets, r.network)
	}
	return nets
}

// raterSet is the set of raters that a likelihood models.
type raterSet struct {
	names   []string
	ratings []dataset.Rating     // their votes, with indexes into names
	groups  []int                // of each rater, see head.Task; nil if there is only one
	left    *evaluate.LeftRaters // raters whose votes count as those of average raters; nil if none
}

// newRaterSet returns the raters in groups that are large enough, or all raters if no group is.
func newRaterSet(ds *dataset.Dataset, g *evaluate.RaterGraph) raterSet {
	c := raterSet{left: g.Left}
	number := make([]int32, len(ds.Raters))
	for r, name := range ds.Raters {
		group := g.Group(r)
		if number[r] = -1; group < 0 {
			continue
		}
		number[r] = int32(len(c.names))
		c.names = append(c.names, name)
		if g.ModelledGroups() > 1 {
			c.groups = append(c.groups, group)
		}
	}
	if c.left == nil {
		c.ratings = ds.Ratings
		return c
	}
	for _, r := range ds.Ratings {
		if r.Rater = number[r.Rater]; r.Rater >= 0 {
			c.ratings = append(c.ratings, r)
		}
	}
	return c
}
