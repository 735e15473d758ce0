package train

import (
	"errors"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/model"
	"credence/nn"
)

// mostRatings is the largest number of votes on an item for a likelihood with raters.
const mostRatings = 200

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
