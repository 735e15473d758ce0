package train

import (
	"errors"
	"math"

	"credence/head"
	"credence/internal/par"
	"credence/internal/special"
)

// unnamedItems is the largest number of items that compareUnnamed looks at.
const unnamedItems = 5_000

// unnamedScales are the ratios of the variance among which each model has the one that suits its votes best.
var unnamedScales = [...]float64{0.2, 0.3, 0.45, 0.67, 1, 1.5}

// compareUnnamed returns by how much more likely held-out votes are, in nats per vote, if raters are modelled and the names
// of those who cast the votes are ignored; se is its standard error over items.
//
// Reported intervals are about p̄, the probability that a rater drawn at random votes for a class, so this is the
// likelihood that they stand on. A rater model of the wrong shape may predict the votes of known raters better and
// distort p̄: one that explains bias among several classes by guessing bounds p̄ away from 0 and 1, and 95% intervals
// contained 66% of the truth in a simulation. Each side has the scale at which its votes are most likely, since
// the calibration without raters is for few raters wider than unnamed votes require.
//
// Two classes have a single ratio of spread, which the calibration accounts for: both results are then 0. Votes of the very
// raters of an item, exchanged between them, would be closer to how they were cast, but do not show the distortion.
func (f *fitting) compareUnnamed(plain, rated *Result) (gain, se float64, err error) {
	if len(f.ds.Classes) == 2 {
		return 0, 0, nil
	}
	var items []int
	for _, j := range f.voted {
		if plain.OutOfFold[j] != nil && rated.OutOfFold[j] != nil {
			items = append(items, j)
		}
	}
	every := (len(items) + unnamedItems - 1) / unnamedItems
	for k := 0; k*every < len(items); k++ {
		items[k] = items[k*every]
	}
	if len(items) == 0 {
		return 0, 0, nil
	}
	items = items[:(len(items)+every-1)/every]
	votes := 0.0
	for _, j := range items {
		votes += f.ds.VotesOf(j)
	}
	without, err := f.likeliest(items, func(j int, scale float64) (float64, error) {
		dist, err := plain.OutOfFold[j].Dist.Rescale(scale)
		if err != nil {
			return 0, err
		}
		counts := make([]float64, len(f.ds.Classes))
		for i, v := range f.ds.CountsOf(j) {
			counts[i] = float64(v)
		}
		return dist.LogVotes(counts)
	})
	if err != nil {
		return 0, 0, err
	}
	with, err := f.likeliest(items, func(j int, scale float64) (float64, error) {
		dist, err := rated.OutOfFold[j].Dist.Rescale(scale)
		if err != nil {
			return 0, err
		}
		return rated.Model.RaterModel.LogVotes(dist, unnamed(f.votesOf(j)))
	})
	if err != nil {
		return 0, 0, err
	}
	for k := range with {
		gain += with[k] - without[k]
	}
	for k := range with {
		e := with[k] - without[k] - gain/float64(len(with))
		se += e * e
	}
	return gain / votes, math.Sqrt(se) / votes, nil
}

// unnamed returns votes as if raters drawn at random had cast them.
func unnamed(votes []head.Rating) []head.Rating {
	list := make([]head.Rating, len(votes))
	for k, v := range votes {
		list[k] = head.Rating{Item: v.Item, Rater: -1, Class: v.Class}
	}
	return list
}

// likeliest returns the log-likelihood of each item at the scale with the largest sum over items.
func (f *fitting) likeliest(items []int, logVotes func(j int, scale float64) (float64, error)) (best []float64, err error) {
	most := math.Inf(-1)
	for _, scale := range unnamedScales {
		list, errs := make([]float64, len(items)), make([]error, len(items))
		par.Limit(f.o.Threads).For(len(items), func(k int) { list[k], errs[k] = logVotes(items[k], scale) })
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if sum := special.Sum(list); sum > most {
			best, most = list, sum
		}
	}
	return best, nil
}
