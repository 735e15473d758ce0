package evaluate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"credence/dataset"
	"credence/internal/rng"
)

// panel adds the effective votes of all judges together.
func (c *judgeComparison) panel(ctx context.Context, r *JudgeReport) error {
	means, d := c.options.Means, c.d
	r.Panel.Method = "model"
	if means == nil {
		r.Panel.Method = "logistic regression"
		var err error
		if means, err = c.crossFit(ctx); err != nil {
			return err
		}
	}
	if means == nil {
		r.Panel.EffectiveVotes = unknownInterval
		return nil
	}
	c.effective(&r.Panel.EffectiveVotes, func(i int) []float64 {
		if row := means[i*d : (i+1)*d]; row[0] == row[0] {
			return row
		}
		return nil
	})
	return nil
}

// panelFolds is the number of folds of the panel's regression.
const panelFolds = 10

// crossFit returns the class probabilities of a logistic regression on the votes of judges that was fitted without the item, [N × d], NaN
// for items without votes of people; nil if items are too few.
func (c *judgeComparison) crossFit(ctx context.Context) ([]float64, error) {
	judges := c.ds.OnlyJudges()
	var voted []int
	for i := range c.ds.Len() {
		if c.ds.VotesOf(i) > 0 {
			voted = append(voted, i)
		}
	}
	if len(voted) < 2*panelFolds {
		return nil, nil
	}
	t, err := dataset.Fit(judges, voted, dataset.TransformOptions{})
	if err != nil {
		return nil, err
	}
	all, err := newReferenceData(ctx, judges, t, voted, false)
	if err != nil {
		return nil, err
	}
	of, units, err := unitsOf(len(voted), all.groups)
	if err != nil {
		return nil, err
	}
	seed := c.options.Bootstrap.Seed
	order := rand.New(rng.New(seed, "evaluate.Judges")).Perm(units)
	means := slices.Repeat([]float64{math.NaN()}, c.ds.Len()*c.d)
	for fold := range panelFolds {
		var rest, held []int
		for k := range voted {
			if order[of[k]]%panelFolds == fold {
				held = append(held, k)
			} else {
				rest = append(rest, k)
			}
		}
		if len(held) == 0 || len(rest) == 0 {
			continue
		}
		l, err := all.selected(rest).fitLogistic(ctx, seed)
		if err != nil {
			return nil, err
		}
		for _, k := range held {
			copy(means[voted[k]*c.d:], l.probabilities(all.x.Row(k)))
		}
	}
	return means, nil
}
