package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
	"credence/head"
	"credence/internal/words"
	"credence/model"
	"credence/tree"
)

// Forest k learns from the items of network k, and the items that network k holds out stop it. A member is the blend of
// both, (1 − λ)·network + λ·forest, with one λ for all members, chosen by the held-out votes ([fitting.chooseShare]). The
// epochs that are kept of networks for calibration have a counterpart in trees: for each part of the held-out items, the
// outputs after the number of trees that the other parts chose ([crossStop]).

// The kinds of reasons why trees are part of a model or not.
const (
	TreesAsked   evaluate.Kind = "they were asked for"
	TreesHelp    evaluate.Kind = "blended with networks, they predict held-out votes better (%+.4f ± %.4f nats per vote)"
	TreesNoHelp  evaluate.Kind = "blended with networks, they predict held-out votes no better beyond chance (%+.4f ± %.4f nats per vote)"
	TreesUntried evaluate.Kind = "training was stopped before all of them had grown"
	TreesRaters  evaluate.Kind = "they do not model raters"
	TreesClasses evaluate.Kind = "there are %d classes, more than the %d that trees are grown for"
	TreesAlone   evaluate.Kind = "no items are held out to choose their number"
	treesMethod  evaluate.Kind = "method %s has none"
	treesImages  evaluate.Kind = "images and volumes have none"
)

const (
	maxTrees     = 1000 // of a forest
	treePatience = 20   // trees without a smaller held-out loss after which a forest stops
	treeClasses  = 32   // largest number of classes
)

// onlyTrees is the network of members that consist of trees alone. It is not trained and has no weight.
const onlyTrees = `[{"type":"dense"}]`

// chooseTrees decides whether trees are grown, and returns an error if they are asked for and cannot be.
func (f *fitting) chooseTrees() error {
	if f.o.Trees == "off" {
		return nil
	}
	var reason evaluate.Message
	switch _, mixture := f.o.Head.(head.Mixture); {
	case !mixture:
		reason = message(treesMethod, f.o.Head.Name())
	case f.transform.Columns() == nil:
		reason = message(treesImages)
	case f.ratersKnown:
		reason = message(TreesRaters)
	case len(f.ds.Classes) > treeClasses:
		reason = message(TreesClasses, len(f.ds.Classes), treeClasses)
	case !slices.Contains(f.fold, 0) || f.folds == 0 && !slices.Contains(f.fold, 1):
		reason = message(TreesAlone)
	}
	if f.o.Trees == "only" {
		if reason.Kind != "" {
			return fmt.Errorf("training options: expected data for trees alone, but %s", reason)
		}
		if f.declined.Kind == "" {
			f.declined = message(TreesRaters)
		}
	}
	if f.trees = reason.Kind == ""; !f.trees && reason.Kind != treesMethod && reason.Kind != treesImages {
		f.treesDeclined = &model.Trees{Reason: reason}
	}
	return nil
}

// grove is what the forests of all members learn from: the items with votes.
type grove struct {
	table   *tree.Table
	place   []int // of each item of the data, its index
	folds   []int
	votes   []float32
	weights []float64
}

// plant prepares the growth of trees, once.
func (f *fitting) plant() error {
	if !f.trees || f.grove != nil {
		return nil
	}
	g := &grove{place: make([]int, f.ds.Len()), folds: f.fold}
	for at, j := range f.voted {
		g.place[j] = at
		g.votes = append(g.votes, f.ds.CountsOf(j)...)
		if f.weights != nil {
			g.weights = append(g.weights, f.weights[j])
		}
	}
	if f.folds == 0 { // the items to learn from are one fold: divide them
		var err error
		if g.folds, _, err = foldsOf(f.ds, f.voted, min(5, len(f.voted)/2), f.o.Seed); err != nil {
			return err
		}
	}
	var err error
	read := func(at int, x []float32) error {
		j := f.voted[at]
		if f.in.cached != nil {
			copy(x, f.in.cached[j*f.in.width:(j+1)*f.in.width])
			return nil
		}
		return f.in.rows.ReadRow(j, x)
	}
	g.table, err = tree.NewTable(f.transform.Columns(), len(f.voted), f.in.width, read, f.o.Threads)
	f.grove = g
	return err
}

// forest is the forest of a run.
type forest struct {
	*tree.Forest
	held  []float32  // log α of the held-out items, [held, d]
	cross *crossStop // nil if the run has none
}

// places returns the indexes of items in the grove.
func (g *grove) places(items []int) []int {
	list := make([]int, len(items))
	for k, j := range items {
		list[k] = g.place[j]
	}
	return list
}

// newForest returns an empty forest.
func (r *run) newForest() *forest {
	f := &forest{}
	if d := len(r.in.ds.Classes); r.cross != nil {
		f.cross = &crossStop{width: d, fold: r.cross.fold, kept: make([]float32, len(r.held)*d)}
	}
	return f
}

// grow grows the forest of a run until the held-out votes are predicted no better, or to the given number of trees. It
// returns nil once ctx is canceled.
func (r *run) grow(ctx context.Context) *forest {
	g, d := r.grove, len(r.in.ds.Classes)
	s := tree.Sample{Items: g.places(r.train), Folds: g.folds, Votes: g.votes, Weights: g.weights}
	counts := head.Counts{Classes: d}
	for _, at := range s.Items {
		counts.Values = append(counts.Values, g.votes[at*d:(at+1)*d]...)
	}
	s.Start, _ = head.ConstantDirichlet(counts)
	b := tree.NewBooster(g.table, d, s, tree.Options{Seed: r.o.Seed, Member: uint64(r.member), Threads: int(r.in.threads)})
	f, held := r.newForest(), g.places(r.held)
	best, loss := 0, math.Inf(1)
	for {
		if now := r.score(f, b, held); now < loss {
			best, loss = b.Trees(), now
			f.held = b.LogAlpha(f.held[:0], held)
		}
		if n := b.Trees(); len(held) == 0 && n >= r.trees || len(held) > 0 && (n >= maxTrees || n-best >= treePatience) {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		b.Grow()
	}
	if len(held) == 0 {
		best = r.trees
	}
	f.Forest = b.Forest(best)
	return f
}

// score returns the loss of the held-out votes after the trees so far.
func (r *run) score(f *forest, b *tree.Booster, held []int) float64 {
	d := len(r.in.ds.Classes)
	out, sum := b.LogAlpha(nil, held), 0.0
	for k, at := range held {
		weight := 1.0
		if r.grove.weights != nil {
			weight = r.grove.weights[at]
		}
		l := weight * tree.Loss(out[k*d:(k+1)*d], r.grove.votes[at*d:(at+1)*d])
		sum += l
		if f.cross != nil {
			f.cross.losses = append(f.cross.losses, l)
		}
	}
	if f.cross != nil {
		f.cross.outputs = append(f.cross.outputs, out...)
		f.cross.end()
	}
	return sum
}

// refitTrees returns the number of trees to grow on all items: the median of those that the folds chose.
func refitTrees(runs []*run) int {
	var list []int
	for _, r := range runs {
		if r.forest != nil {
			list = append(list, r.forest.Trees())
		}
	}
	if slices.Sort(list); len(list) == 0 {
		return 0
	}
	return list[len(list)/2]
}

// blended returns outputs of a run for the items it held out, with those of its forest: of the trees that are kept or, if
// cross is set, of those that the items did not choose.
func (f *fitting) blended(r *run, outputs []head.Output, cross bool) []head.Output {
	if f.share == 0 {
		return outputs
	}
	list := slices.Clone(outputs)
	for k := range list {
		list[k].Share, list[k].Trees = f.share, r.forest.held
		if cross && r.forest.cross != nil {
			list[k].Trees = r.forest.cross.kept
		}
	}
	return list
}

// crossOutputs returns the outputs of a run for the items it held out that these did not choose; nil if there are none.
func (f *fitting) crossOutputs(r *run) []head.Output {
	if r.cross == nil || r.cross.best == nil && f.share < 1 {
		return nil
	}
	return f.blended(r, []head.Output{{Raw: r.cross.kept, Own: ownValues(r.network)}}, true)
}

// blendOf returns the trees of the member that is trained by a run, nil if there are none.
func (f *fitting) blendOf(runs ...*run) *tree.Blend {
	if f.share == 0 {
		return nil
	}
	b := &tree.Blend{Share: f.share}
	for _, r := range runs {
		b.Forests = append(b.Forests, r.forest.Forest)
	}
	return b
}

// blend decides by which share the forests of the final runs are blended with their networks.
func (f *fitting) blend(m *model.Model, runs, final []*run) error {
	if f.grove == nil {
		m.Provenance.Trees = f.treesDeclined
		return nil
	}
	record := &model.Trees{}
	m.Provenance.Trees = record
	for _, r := range slices.Concat(runs, final) {
		if r.forest == nil {
			if f.o.Trees == "only" {
				return fmt.Errorf("%w: %s", ErrStopped, words.Plural(len(record.Trees), "forest"))
			}
			*record = model.Trees{Reason: message(TreesUntried)}
			return nil
		}
		record.Trees = append(record.Trees, r.forest.Trees())
	}
	record.Trees = record.Trees[:len(runs)]
	if f.o.Trees == "only" {
		f.share, record.Reason = 1, message(TreesAsked)
	} else if err := f.chooseShare(record, runs); err != nil {
		return err
	}
	record.Share, m.Trees = f.share, f.blendOf(final...)
	return nil
}
