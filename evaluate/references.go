package evaluate

import (
	"context"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/internal/logistic"
)

// References are the baseline predictions that a model is compared with, fitted
// to the votes that the model was trained on: class frequencies, one Dirichlet
// distribution for all items, and logistic regression, with and without a
// concentration. They are stored in the model as JSON.
type References struct {
	Constant          constant          `json:"constant"`
	ConstantDirichlet constantDirichlet `json:"constant_dm"`
	// Logistic is nil if the model has no features that a logistic regression
	// can use.
	Logistic *logisticModel `json:"logistic,omitempty"`
}

// FitReferences fits the references to the votes of ds. The inputs of the logistic
// regression are the features transformed by t, the preprocessing of the model; it is
// left out if t is nil or there are too many inputs. Items of a group stay in one fold
// when its penalty is chosen. When ctx is canceled it returns the context's error.
func FitReferences(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, seed uint64) (*References, error) {
	d, err := newReferenceData(ctx, ds, t, itemsFor(ds, nil, referenceItems), true)
	if err != nil {
		return nil, err
	}
	return fitReferences(ctx, d, seed)
}

// Score returns the losses of the items of ds, which the references must not have
// been fitted to, with features transformed by t.
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
	s.losses, err = r.losses(d.x, d.votes)
	return s, err
}

func fitReferences(ctx context.Context, d *referenceData, seed uint64) (*References, error) {
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

// losses returns the losses of votes under each reference; those of the logistic
// regression are nil without features.
func (r *References) losses(x *logistic.Dense, votes Votes) (l referenceLosses, err error) {
	if n := len(r.Constant.Probabilities); n != votes.Classes || len(r.ConstantDirichlet.Alpha) != n {
		return l, fmt.Errorf("references: expected votes on %d classes, found %d", n, votes.Classes)
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
// without them. The fields are means per vote; they are set by
// [ScoreReferences] only.
type ReferenceScores struct {
	ConstantNLL   *float64 `json:"constant_nll_per_vote,omitempty"`
	ConstantDMNLL *float64 `json:"constant_dm_nll_per_vote,omitempty"`
	LogisticNLL   *float64 `json:"logistic_nll_per_vote,omitempty"`
	LogisticDMNLL *float64 `json:"logistic_dm_nll_per_vote,omitempty"`

	losses referenceLosses // by item
}

// Select returns the losses of the given items, for an [Input] of these items;
// nil if none were scored.
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

// referenceFoldWork bounds items × columns × classes: above it, logistic
// regressions on five folds would take longer than training the model.
const referenceFoldWork = 2_000_000

// ScoreReferences scores references on the items that a model was scored on, those
// that are true in scored, [N], by references fitted without them: fold by fold or, if
// folds is false because members did not hold out items in turn, once without the
// scored items. When ctx is canceled it returns the context's error.
func ScoreReferences(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, scored []bool, folds bool, seed uint64) (*ReferenceScores, error) {
	voted := itemsFor(ds, scored, referenceItems)
	all, err := newReferenceData(ctx, ds, t, voted, true)
	if err != nil {
		return nil, err
	}
	// Sorted lists of items to leave out in turn: five folds, or the items that were held out.
	heldOut := [][]int{slices.DeleteFunc(slices.Clone(voted), func(j int) bool { return !scored[j] })}
	if folds {
		if heldOut, err = dataset.Folds(ds, voted, 5, seed); err != nil {
			return nil, err
		}
	}
	if all.x != nil && len(heldOut) > 1 && len(all.x.Values)*len(ds.Classes) > referenceFoldWork {
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
	for _, fold := range heldOut {
		var rest, test []int
		for at, j := range voted {
			if _, in := slices.BinarySearch(fold, j); !in {
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

// referenceData are the features, votes and groups of the items that references are fitted to.
type referenceData struct {
	x      *logistic.Dense // features; nil if there are none, or too many
	votes  Votes
	groups []string // nil if there are none
}

// newReferenceData reads some items of ds, with features transformed by t. training
// reports whether t was fitted to ds.
func newReferenceData(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, items []int, training bool) (*referenceData, error) {
	d := &referenceData{votes: Votes{Classes: len(ds.Classes)}}
	for _, j := range items {
		d.votes.Counts = append(d.votes.Counts, float64s(ds.CountsOf(j))...)
		if ds.Groups != nil {
			d.groups = append(d.groups, ds.Groups[j])
		}
	}
	err := d.votes.check()
	if err != nil {
		return nil, err
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

// referenceItems bounds the number of items that references are fitted to: they have few
// parameters, and fewer items suffice.
const referenceItems = 1_000_000

// itemsFor returns the voted items that are scored, and at most the given number of other voted
// items, spread evenly over the data. A nil scored means none.
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

// The limits of the logistic regression: columns and feature values and, for fitting it, also
// weights (columns × classes) and values × classes.
const (
	referenceColumns = 10000
	referenceValues  = 20_000_000
	referenceWeights = 1_000_000
	referenceWork    = 400_000_000
)

// referenceFeatures returns the inputs of the logistic regression for the given items:
// the output of t, with one column per level instead of the code of an embedded
// category. It is nil if there are too many, or if t is nil.
func referenceFeatures(ctx context.Context, t *dataset.Transform, ds *dataset.Dataset, items []int, training bool) (*logistic.Dense, error) {
	if t == nil {
		return nil, nil
	}
	columns, inputs := 0, t.Inputs()
	for k := range inputs {
		in := &inputs[k]
		if in.Kind == dataset.Dense {
			in.Width = t.Plain() // normal scores are functions of the numbers
		}
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
