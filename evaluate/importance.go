package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/internal/words"
	"credence/mixture"
)

// ImportanceOptions configures [NewImportance]. The zero value is the default.
type ImportanceOptions struct {
	// Columns are the groups of features that are permuted together, by name; nil means every feature by itself.
	Columns [][]string
	// Repeats is the number of permutations per group; 0 means 5.
	Repeats int
	// Seed selects the permutations.
	Seed uint64
}

// Importance describes what the features of a model contribute to the mean of its predictions, to their
// spread, and to the joint loss.
type Importance struct {
	Items   int                `json:"items"`
	Repeats int                `json:"repeats"`
	Seed    uint64             `json:"seed"`
	Columns []ColumnImportance `json:"columns"` // in decreasing order of Loss
}

// ColumnImportance is the permutation importance of a group of features: the increase of a loss per vote, in nats,
// when their values are exchanged between items. A feature that contributes nothing has importance 0 on average,
// even if the model has overfitted to it. The ends of intervals are at 99%, over items (or groups) and permutations.
type ColumnImportance struct {
	Columns []string `json:"columns"`
	// Mean is the increase of the loss of votes taken one by one under the predicted mean.
	Mean IntervalEstimate `json:"mean"`
	// Spread is the increase of the loss of votes under a Dirichlet distribution with the unpermuted mean μ and
	// the concentration of the permuted prediction:
	//
	//	c = Σ_i μ_i(1 − μ_i) / Σ_i Var p_i − 1.
	//
	// The variance alone would follow the mean. Items with one vote do not contribute.
	Spread IntervalEstimate `json:"spread"`
	// Loss is the increase of the joint loss.
	Loss IntervalEstimate `json:"loss"`
	// MeanChange is the root mean square of the change of the mean, SpreadChange that of ln c.
	MeanChange   Number `json:"mean_change"`
	SpreadChange Number `json:"spread_change"`
	// Curve is the effect of the feature, nil if it is neither numeric nor categorical, or one of several.
	Curve *EffectCurve `json:"curve,omitempty"`
}

// Name returns the names of the features, joined by " + ".
func (c *ColumnImportance) Name() string { return strings.Join(c.Columns, " + ") }

// Matters reports whether the 99% interval of an importance is above 0.
func Matters(e IntervalEstimate) bool { return e.Lo > 0 }

// Predictor returns the predictions for some items of an [Input], all if nil, with other features: rows, in the
// layout of its Rows, has a row for each of them.
type Predictor func(ctx context.Context, items []int, rows dataset.Rows) ([]head.Decoded, error)

// NewImportance computes the permutation importance of features, and their effect curves. The input must have
// Features, Rows, whole votes and predictions with distributions.
func NewImportance(ctx context.Context, in Input, predict Predictor, o ImportanceOptions) (*Importance, error) {
	if o.Repeats == 0 {
		o.Repeats = 5
	}
	if o.Repeats < 2 {
		return nil, fmt.Errorf("importance: expected at least 2 permutations, found %d", o.Repeats)
	}
	s, err := newSample(ctx, in)
	if err != nil {
		return nil, err
	}
	groups, err := s.featureGroups(o.Columns)
	switch {
	case err != nil:
		return nil, err
	case s.mixtures == nil:
		return nil, errors.New("importance for the spread requires distributions: found means only")
	case sum(s.total) == 0:
		return nil, errors.New("importance: expected votes on the items, found none")
	}
	p := &permuter{s: s, predict: predict, o: o}
	if p.base, err = s.partLosses(s.Predictions); err != nil {
		return nil, err
	}
	result := &Importance{Items: s.n, Repeats: o.Repeats, Seed: o.Seed}
	for _, group := range groups {
		c, err := p.importance(group)
		if err != nil {
			return nil, err
		}
		result.Columns = append(result.Columns, c)
	}
	slices.SortStableFunc(result.Columns, func(a, b ColumnImportance) int { return cmp.Compare(b.Loss.Value, a.Loss.Value) })
	return result, nil
}

// span is a feature and the place of its raw values in a row.
type span struct {
	dataset.Feature
	from, to int
}

// featureGroups returns the features of the named groups.
func (s *sample) featureGroups(names [][]string) ([][]span, error) {
	if s.Rows == nil || len(s.Features) == 0 {
		return nil, errors.New("importance: the items have no features")
	}
	var all []span
	var known []string
	at := 0
	for _, f := range s.Features {
		all = append(all, span{f, at, at + f.Width()})
		known = append(known, f.Name)
		at += f.Width()
	}
	var groups [][]span
	if names == nil {
		for _, f := range all {
			groups = append(groups, []span{f})
		}
	}
	for _, group := range names {
		var list []span
		for _, name := range group {
			i := slices.Index(known, name)
			switch near := words.Nearest(name, known); {
			case i < 0 && near != "":
				return nil, fmt.Errorf("importance: expected a feature of the model, found %q: did you mean %q?", name, near)
			case i < 0:
				return nil, fmt.Errorf("importance: expected a feature of the model (%s), found %q", words.Few(known), name)
			case slices.ContainsFunc(list, func(f span) bool { return f.Name == name }):
				return nil, fmt.Errorf("importance: found %q twice in a group", name)
			}
			list = append(list, all[i])
		}
		if len(list) > 0 {
			groups = append(groups, list)
		}
	}
	return groups, nil
}

// partLoss is the loss of an item's votes by part: under the mean, under the concentration, jointly.
type partLoss [3]float64

const jointPart = 2

// partLosses returns the losses [n] of predictions for the items, those for the spread with the means of s.
func (s *sample) partLosses(predictions []head.Decoded) ([]partLoss, error) {
	t := *s
	t.Predictions, t.mixtures = predictions, make([]*mixture.Dirichlet, s.n)
	for j := range predictions {
		if err := predictions[j].Err; err != nil {
			return nil, fmt.Errorf("item %d: %w", j, err)
		}
		t.mixtures[j] = predictions[j].ReportedDist()
	}
	joint, err := t.jointLosses()
	if err != nil {
		return nil, err
	}
	list := make([]partLoss, s.n)
	forItems(s.ctx, s.n, func(j int) {
		votes, mean := s.Votes.Item(j), s.means(j)
		c := math.Exp(logConcentration(&predictions[j]))
		list[j] = partLoss{independentLoss(predictions[j].Mean, votes), dirichletLoss(c, c, mean, votes), joint[j]}
	})
	return list, s.ctx.Err()
}

// Bounds of the concentration: votes cannot distinguish what is beyond them.
const (
	minLogConcentration = -5
	maxLogConcentration = 12
)

// logConcentration returns ln(Σμ(1−μ)/ΣVar − 1).
func logConcentration(a *head.Decoded) float64 {
	bernoulli := 0.0
	for _, m := range a.Mean {
		bernoulli += m * (1 - m)
	}
	return boundedLogConcentration(bernoulli, sum(a.Variance))
}

func boundedLogConcentration(bernoulli, variance float64) float64 {
	c := math.Log(bernoulli/variance - 1)
	if math.IsNaN(c) { // no variance left, or more than any distribution has
		c = minLogConcentration
		if !(variance > 0) {
			c = maxLogConcentration
		}
	}
	return min(max(c, minLogConcentration), maxLogConcentration)
}

// permuter computes the importance of groups of features.
type permuter struct {
	s       *sample
	predict Predictor
	o       ImportanceOptions
	base    []partLoss // [n] of the unpermuted predictions
}

// importance permutes a group of features.
func (p *permuter) importance(group []span) (ColumnImportance, error) {
	s := p.s
	c := ColumnImportance{Columns: words.Each(group, func(f span) string { return f.Name })}
	var increase [len(partLoss{})][][]float64 // [parts][repeats][n]
	moved, spread := 0.0, 0.0
	for r := range p.o.Repeats {
		donor := rand.New(rng.New(p.o.Seed, "evaluate.Importance", uint64(group[0].from), uint64(r))).Perm(s.n)
		predictions, err := p.predict(s.ctx, nil, &permutedRows{s.Rows, group, donor})
		if err != nil {
			return c, err
		}
		losses, err := s.partLosses(predictions)
		if err != nil {
			return c, fmt.Errorf("with %s permuted: %w", c.Name(), err)
		}
		for k := range increase {
			list := make([]float64, s.n)
			for j := range losses {
				list[j] = losses[j][k] - p.base[j][k]
			}
			increase[k] = append(increase[k], list)
		}
		for j := range predictions {
			for i, m := range predictions[j].Mean {
				moved += (m - s.means(j)[i]) * (m - s.means(j)[i])
			}
			d := logConcentration(&predictions[j]) - logConcentration(&s.Predictions[j])
			spread += d * d
		}
	}
	c.Mean, c.Spread, c.Loss = s.overRepeats(increase[0], normal995), s.overRepeats(increase[1], normal995), s.overRepeats(increase[jointPart], normal995)
	n := float64(p.o.Repeats * s.n)
	c.MeanChange, c.SpreadChange = Number(math.Sqrt(moved/n)), Number(math.Sqrt(spread/n))
	var err error
	if len(group) == 1 {
		c.Curve, err = p.curve(group[0])
	}
	return c, err
}

// permutedRows are rows in which some features have the values of another item.
type permutedRows struct {
	dataset.Rows
	features []span
	donor    []int // [N]
}

// ReadRow implements [dataset.Rows].
func (r *permutedRows) ReadRow(i int, dst []float32) error {
	if err := r.Rows.ReadRow(i, dst); err != nil {
		return err
	}
	other := make([]float32, len(dst))
	if err := r.Rows.ReadRow(r.donor[i], other); err != nil {
		return err
	}
	for _, f := range r.features {
		copy(dst[f.from:f.to], other[f.from:f.to])
	}
	return nil
}
