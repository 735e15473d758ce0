package evaluate

import (
	"context"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/internal/logistic"
)

// References are the simple predictions that a model's scores are set beside,
// fitted to the votes that the model was trained on: class frequencies, one
// Dirichlet distribution for all items, and logistic regression, alone and with
// a concentration. They are stored in the model as JSON.
type References struct {
	Constant          constant          `json:"constant"`
	ConstantDirichlet constantDirichlet `json:"constant_dm"`
	// Logistic is nil if the model has no features a logistic regression could
	// use.
	Logistic *logisticModel `json:"logistic,omitempty"`
}

// FitReferences fits the references to the votes of ds. The logistic regression
// takes the inputs that t, the preprocessing of the model, makes of the features;
// it is left out if t is nil or the inputs are too many. Items of a group stay
// together when its penalty is chosen. When ctx is canceled it returns the context's error.
func FitReferences(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, seed uint64) (*References, error) {
	d, err := newReferenceData(ctx, ds, t, itemsFor(ds, nil, referenceItems), true)
	if err != nil {
		return nil, err
	}
	return fitReferences(ctx, d, seed)
}

// Score returns the losses of the items of ds, none of which the references
// were fitted to, with features read through t.
func (r *References) Score(ds *dataset.Dataset, t *dataset.Transform) (*ReferenceScores, error) {
	if r.Logistic == nil {
		t = nil
	}
	all := make([]int, ds.Len())
	for j := range all {
		all[j] = j
	}
	d, err := newReferenceData(context.Background(), ds, t, all, false)
	if err != nil {
		return nil, fmt.Errorf("references: %w", err)
	}
	s := &ReferenceScores{}
	if s.losses, err = r.losses(d.x, d.votes); err != nil {
		return nil, fmt.Errorf("references: %w", err)
	}
	return s, nil
}

func fitReferences(ctx context.Context, d *referenceData, seed uint64) (*References, error) {
	if err := d.votes.check(); err != nil {
		return nil, err
	}
	r := &References{Constant: fitConstant(d.votes), ConstantDirichlet: fitConstantDirichlet(d.votes)}
	if d.x == nil {
		return r, nil
	}
	var err error
	if r.Logistic, err = d.fitLogistic(ctx, seed); err != nil {
		return nil, fmt.Errorf("logistic reference: %w", err)
	}
	return r, nil
}

// losses scores votes under the references: constant, with one Dirichlet, and
// both of the logistic regression, which are nil without features.
func (r *References) losses(x *logistic.Dense, votes Votes) (l referenceLosses, err error) {
	if err := votes.check(); err != nil {
		return l, err
	}
	if n := len(r.Constant.Probabilities); n != votes.Classes || len(r.ConstantDirichlet.Alpha) != n {
		return l, fmt.Errorf("references of %d classes, but votes on %d", n, votes.Classes)
	}
	l[refConstant], l[refConstantDM] = r.Constant.losses(votes), r.ConstantDirichlet.losses(votes)
	if r.Logistic != nil && x != nil {
		l[refLogistic], l[refLogisticDM], err = r.Logistic.losses(x, votes)
	}
	return l, err
}

// referenceLosses are the losses [N] of each reference.
type referenceLosses [4][]float64

const (
	refConstant = iota
	refConstantDM
	refLogistic
	refLogisticDM
)

// ReferenceScores are the losses of items under references that were fitted
// without them; the fields are the means per vote, of those that were scored by
// folds.
type ReferenceScores struct {
	ConstantNLL   *float64 `json:"constant_nll_per_vote,omitempty"`
	ConstantDMNLL *float64 `json:"constant_dm_nll_per_vote,omitempty"`
	LogisticNLL   *float64 `json:"logistic_nll_per_vote,omitempty"`
	LogisticDMNLL *float64 `json:"logistic_dm_nll_per_vote,omitempty"`

	losses referenceLosses // by item
}

// Select returns the losses of the given items, as an [Input] of these items
// takes them; nil if none were scored.
func (s *ReferenceScores) Select(items []int) *ReferenceScores {
	if s == nil || s.losses[refConstant] == nil {
		return nil
	}
	out := &ReferenceScores{}
	for k, l := range s.losses {
		if l == nil {
			continue
		}
		for _, j := range items {
			out.losses[k] = append(out.losses[k], l[j])
		}
	}
	return out
}

// referenceFoldWork bounds items × columns × classes: beyond, logistic
// regressions that score five folds would take longer than the model.
const referenceFoldWork = 2_000_000

// ScoreReferences scores references on the items that a model was scored on,
// those with a true in scored [N], each by references fitted without them: fold
// by fold or, if the model's parts took no turns, once without the scored items.
// When ctx is canceled it returns the context's error.
func ScoreReferences(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, scored []bool, folds bool, seed uint64) (*ReferenceScores, error) {
	voted := itemsFor(ds, scored, referenceItems)
	all, err := newReferenceData(ctx, ds, t, voted, true)
	if err != nil {
		return nil, err
	}
	// Sorted lists of items to leave out in turn: five folds, or the one part that was held out.
	parts := [][]int{slices.DeleteFunc(slices.Clone(voted), func(j int) bool { return !scored[j] })}
	if folds {
		if parts, err = dataset.Folds(ds, voted, 5, seed); err != nil {
			return nil, err
		}
	}
	if all.x != nil && len(parts) > 1 && len(all.x.Values)*len(ds.Classes) > referenceFoldWork {
		all.x = nil
	}
	s := &ReferenceScores{}
	for k := range s.losses {
		if k < refLogistic || all.x != nil {
			s.losses[k] = make([]float64, ds.Len())
		}
	}
	var sums [len(s.losses)]float64
	votes := 0.0
	for _, part := range parts {
		var rest, test []int
		for at, j := range voted {
			if _, in := slices.BinarySearch(part, j); !in {
				rest = append(rest, at)
			} else if scored[j] {
				test = append(test, at)
				votes += ds.VotesOf(j)
			}
		}
		r, err := fitReferences(ctx, all.selected(rest), seed)
		if err != nil {
			return nil, err
		}
		held := all.selected(test)
		losses, err := r.losses(held.x, held.votes)
		if err != nil {
			return nil, err
		}
		for k, l := range losses {
			for i, x := range l {
				sums[k] += x
				s.losses[k][voted[test[i]]] = x
			}
		}
	}
	if votes == 0 {
		return &ReferenceScores{}, nil
	}
	for k, field := range []**float64{&s.ConstantNLL, &s.ConstantDMNLL, &s.LogisticNLL, &s.LogisticDMNLL} {
		if sums[k] /= votes; s.losses[k] != nil {
			*field = &sums[k]
		}
	}
	return s, nil
}

// referenceData are items as references take them.
type referenceData struct {
	x      *logistic.Dense // nil if there are none, or too many
	votes  Votes
	groups []int
}

// newReferenceData reads some items of ds, their features through t; training
// says that t was fitted to ds.
func newReferenceData(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, items []int, training bool) (*referenceData, error) {
	d := &referenceData{votes: Votes{Classes: len(ds.Classes)}}
	var groups []string
	for _, j := range items {
		d.votes.Counts = append(d.votes.Counts, float64s(ds.CountsOf(j))...)
		if ds.Groups != nil {
			groups = append(groups, ds.Groups[j])
		}
	}
	var err error
	if groups != nil {
		if d.groups, _, err = unitsOf(len(items), groups); err != nil {
			return nil, err
		}
	}
	d.x, err = referenceFeatures(ctx, t, ds, items, training)
	return d, err
}

// selected returns the data of some rows.
func (d *referenceData) selected(rows []int) *referenceData {
	s := &referenceData{votes: Votes{Classes: d.votes.Classes}}
	if d.x != nil {
		s.x = d.x.Select(rows)
	}
	for _, j := range rows {
		s.votes.Counts = append(s.votes.Counts, d.votes.Item(j)...)
		if d.groups != nil {
			s.groups = append(s.groups, d.groups[j])
		}
	}
	return s
}

// referenceItems bounds the items that references are fitted to: what they have to learn is
// known from fewer.
const referenceItems = 1_000_000

// itemsFor returns the items that have votes and are scored, and of the others at most so many,
// evenly over the data. A nil scored means none.
func itemsFor(ds *dataset.Dataset, scored []bool, most int) []int {
	var items, rest []int
	for j := range ds.Len() {
		switch {
		case ds.VotesOf(j) == 0:
		case scored != nil && scored[j]:
			items = append(items, j)
		default:
			rest = append(rest, j)
		}
	}
	every := max(1, (len(rest)+most-1)/most)
	for k := 0; k < len(rest); k += every {
		items = append(items, rest[k])
	}
	slices.Sort(items)
	return items
}

// A logistic regression is fitted up to these numbers of columns, of values of features, to fit it also of weights (columns ×
// classes) and of values × classes.
const (
	referenceColumns = 10000
	referenceValues  = 20_000_000
	referenceWeights = 1_000_000
	referenceWork    = 400_000_000
)

// referenceFeatures returns the features that the logistic regression takes, for
// the given items: the inputs that t gives, with one column per level instead of
// the code of an embedded category. It is nil if they are too many, or t is nil.
func referenceFeatures(ctx context.Context, t *dataset.Transform, ds *dataset.Dataset, items []int, training bool) (*logistic.Dense, error) {
	if t == nil {
		return nil, nil
	}
	columns, inputs := 0, t.Inputs()
	for _, in := range inputs {
		if in.Kind == dataset.Codes {
			columns += in.Levels
		} else {
			columns += in.Width
		}
	}
	weights := columns * len(ds.Classes)
	if columns == 0 || columns > referenceColumns || columns*len(items) > referenceValues ||
		training && (weights > referenceWeights || weights*len(items) > referenceWork) {
		return nil, nil
	}
	over := t.Over
	if training {
		over = t.Training
	}
	rows, err := over(ds)
	if err != nil {
		return nil, err
	}
	x := &logistic.Dense{Columns: columns, Values: make([]float64, 0, columns*len(items))}
	row := make([]float32, t.Width())
	for _, j := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := rows.ReadRow(j, row); err != nil {
			return nil, fmt.Errorf("item %q: %w", ds.Items[j], err)
		}
		for _, in := range inputs {
			block := row[in.Offset : in.Offset+in.Width]
			if in.Kind != dataset.Codes {
				for _, v := range block {
					x.Values = append(x.Values, float64(v))
				}
				continue
			}
			for level := range in.Levels {
				hot := 0.0
				if float32(level) == block[0] {
					hot = 1
				}
				x.Values = append(x.Values, hot)
			}
		}
	}
	return x, nil
}
