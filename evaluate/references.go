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
	if r.Logistic, err = newLogistic(ctx, d.x, d.votes, d.groups, seed); err != nil {
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
