package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"credence/head"
)

// Allocation compares two uses of further training votes: on new items, and as second opinions on items that have votes.
// Models are trained on half of the items, or without half of the votes beyond the first on each, and their loss on other
// items is compared with that of the model trained on all. If the excess loss due to N votes of a kind (all, or those
// beyond the first) is a/N, removing r of them increases the loss by a·r/(N(N−r)), and the next k reduce it by
//
//	k·a/N² = k·(increase)·(N−r)/(rN).
type Allocation struct {
	Votes   int `json:"votes"`   // the k whose gains are given
	Trained int `json:"trained"` // number of training votes
	Repeats int `json:"repeats"`
	// NewItems and SecondOpinions are the reductions of the joint loss per vote, in nats, with 95% intervals over items
	// (or groups) and repetitions. SecondOpinions is unknown if items have one vote each.
	NewItems       IntervalEstimate `json:"new_items"`
	SecondOpinions IntervalEstimate `json:"second_opinions"`
	// Difference is NewItems less SecondOpinions.
	Difference IntervalEstimate `json:"difference"`
}

// String returns a sentence on where the votes should go.
func (a *Allocation) String() string {
	gain := func(e IntervalEstimate) string {
		return fmt.Sprintf("%.2g (95%% CI %.2g to %.2g)", e.Value, e.Lo, e.Hi)
	}
	switch {
	case !a.SecondOpinions.Value.Known():
		return fmt.Sprintf("%d more votes on new items would reduce the loss per vote by about %s nats. What second opinions are worth cannot be "+
			"determined: too few items have two votes.", a.Votes, gain(a.NewItems))
	case a.Difference.Lo > 0:
		return fmt.Sprintf("Ask for votes on new items: %d of them would reduce the loss per vote by about %s nats, as second opinions by %s.",
			a.Votes, gain(a.NewItems), gain(a.SecondOpinions))
	case a.Difference.Hi < 0:
		return fmt.Sprintf("Ask for second opinions: %d of them would reduce the loss per vote by about %s nats, on new items by %s.",
			a.Votes, gain(a.SecondOpinions), gain(a.NewItems))
	}
	return fmt.Sprintf("Either: %d more votes would reduce the loss per vote by about %s nats on new items and by %s as second opinions, "+
		"which these items cannot distinguish.", a.Votes, gain(a.NewItems), gain(a.SecondOpinions))
}

// Reduced is a model trained on part of the votes: its predictions for the items of an [Input], the number of
// training votes of the kind that was reduced, and how many of them were left out.
type Reduced struct {
	Predictions []head.Decoded
	Of, Removed int
}

// NewAllocation compares models trained on fewer items and on fewer votes per item, in repetitions, with the
// model that in has the predictions of, trained on the given number of votes. opinions may be empty. The gains are those
// of the given number of further votes.
func NewAllocation(ctx context.Context, in Input, trained, votes int, items, opinions []Reduced) (*Allocation, error) {
	s, err := newSample(ctx, in)
	switch {
	case err != nil:
		return nil, err
	case s.mixtures == nil:
		return nil, errors.New("the gain of further votes requires distributions: found means only")
	case len(items) < 2 || len(opinions) > 0 && len(opinions) != len(items):
		return nil, fmt.Errorf("expected at least 2 repetitions, and as many with fewer votes as with fewer items; found %d and %d", len(items), len(opinions))
	}
	base, err := s.partLosses(s.Predictions)
	if err != nil {
		return nil, err
	}
	a := &Allocation{Votes: votes, Trained: trained, Repeats: len(items), SecondOpinions: unknownInterval, Difference: unknownInterval}
	// gains returns the gain by item [repeats][n], not yet divided by the number of votes.
	gains := func(list []Reduced) ([][]float64, error) {
		out := make([][]float64, len(list))
		for r, x := range list {
			losses, err := s.partLosses(x.Predictions)
			if err != nil {
				return nil, err
			}
			scale := float64(votes) * float64(x.Of-x.Removed) / (float64(x.Removed) * float64(x.Of))
			for j := range losses {
				out[r] = append(out[r], scale*(losses[j][jointPart]-base[j][jointPart]))
			}
		}
		return out, nil
	}
	fresh, err := gains(items)
	if err != nil {
		return nil, err
	}
	a.NewItems = s.overRepeats(fresh, normal975)
	if len(opinions) == 0 {
		return a, nil
	}
	second, err := gains(opinions)
	if err != nil {
		return nil, err
	}
	a.SecondOpinions = s.overRepeats(second, normal975)
	for r := range fresh {
		for j := range fresh[r] {
			fresh[r][j] -= second[r][j]
		}
	}
	a.Difference = s.overRepeats(fresh, normal975)
	return a, nil
}

// normal995 is the 99.5% quantile of the normal distribution.
const normal995 = 2.5758293035489004

// overRepeats returns the mean per vote of values [repeats][n], with an interval of ±z standard errors. The error has two
// parts: that over items or groups, by linearization, and that over repetitions.
func (s *sample) overRepeats(values [][]float64, z float64) IntervalEstimate {
	mean, repeats := make([]float64, s.n), make([]float64, len(values))
	votes := sum(s.total)
	for r, list := range values {
		for j, v := range list {
			mean[j] += v / float64(len(values))
			repeats[r] += v / votes
		}
	}
	value := sum(mean) / votes
	residual := make([]float64, s.units)
	for j := range s.n {
		residual[s.unit[j]] += mean[j] - value*s.total[j]
	}
	u, items := float64(s.units), 0.0
	for _, x := range residual {
		items += x * x
	}
	sd := deviation(repeats)
	se := math.Sqrt(items*u/(u-1)/(votes*votes) + sd*sd/float64(len(repeats)))
	return IntervalEstimate{Estimate{Number(value), Number(se)}, Number(value - z*se), Number(value + z*se)}
}
