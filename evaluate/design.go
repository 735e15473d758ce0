package evaluate

import (
	"fmt"
	"math"

	"credence/mixture"
)

// Design is a number of items with a number of votes on each, and what is predicted
// of it before any training, from votes like those at hand.
type Design struct {
	Items int `json:"items"`
	Votes int `json:"votes_per_item"`
	// RatioSE is the standard error of the dispersion ratio R, by which intervals
	// are calibrated and judged: how far off their squared width may stay.
	RatioSE Number `json:"ratio_se"`
	// Needed is how many items with as many votes bring RatioSE down to 0.25, where
	// intervals are supported.
	Needed Number `json:"items_needed"`
	// Loss is that of an item's votes together, in nats per vote, on new items, of
	// one Dirichlet distribution fitted to the votes: what a model without features
	// reaches. LossSE is its standard error over as many items.
	Loss   Number `json:"nll_per_vote"`
	LossSE Number `json:"nll_per_vote_se"`
	// Intervals is "no", "weak" or "yes", by RatioSE.
	Intervals string `json:"intervals"`
}

// explained is the share of the spread between items that features are taken to
// explain before any training. What they leave is the spread that a model has to
// learn, and the more they explain, the harder it is to see: with none explained the
// standard error of R would be some half of it.
const explained = 0.5

// Above these standard errors of R, votes support intervals weakly, and not at all.
const weakRatioSE, noRatioSE = 0.25, 0.5

// verdict judges a standard error of R. One that is not known is too large.
func verdict(se float64) string {
	switch {
	case se <= weakRatioSE:
		return "yes"
	case se <= noRatioSE:
		return "weak"
	}
	return "no"
}

// designer predicts what designs tell, by one Dirichlet distribution of the class
// probabilities of items, fitted to votes. n is their number, m that of votes.
type designer struct {
	alpha []float64
	// left is the distribution of what features leave unexplained, taken to lie
	// about the overall mean: there votes are noisiest, so that the error of R is
	// rather over- than understated.
	left  *mixture.Dirichlet
	trace float64 // of its covariance
}

// newDesigner returns nil if votes do not tell the spread between items.
func newDesigner(votes Votes) *designer {
	fit := fitConstantDirichlet(votes)
	if !fit.Identified {
		return nil
	}
	law, err := mixture.NewDirichlet([]float64{1}, [][]float64{fit.Alpha})
	if err != nil {
		return nil
	}
	if law, err = law.Rescale(1 - explained); err != nil {
		return nil
	}
	return &designer{alpha: fit.Alpha, left: law, trace: sum(law.Variance(nil))}
}

// correlation returns that of two votes on an item, 1/(α₀ + 1).
func (d *designer) correlation() float64 { return 1 / (1 + sum(d.alpha)) }

// ratioSE returns the standard error of R over items with as many votes as these,
// those with fewer than two left out:
//
//	√(Σ_j Var D_j) / Σ_j Σ_i Var p_i.
func (d *designer) ratioSE(votes Votes) float64 {
	of := map[float64]float64{}
	n, variance := 0.0, 0.0
	for j := range votes.Len() {
		m := votes.Total(j)
		if m < 2 {
			continue
		}
		v, ok := of[m]
		if !ok {
			v = d.left.PairVariance(m)
			of[m] = v
		}
		n++
		variance += v
	}
	return math.Sqrt(variance) / (n * d.trace)
}

// design predicts what n items with m votes each tell.
func (d *designer) design(n, m int) Design {
	items, votes := float64(n), float64(m)
	se := math.NaN()
	if m >= 2 {
		se = math.Sqrt(d.left.PairVariance(votes)/items) / d.trace
	}
	mean, variance := jointLoss(d.alpha, m)
	// A fit of k parameters loses k/2 nats on as many votes as it was fitted to
	// (Akaike 1973): here per vote, k = d.
	fit := float64(len(d.alpha)) / (2 * items * votes)
	return Design{Items: n, Votes: m, RatioSE: Number(se), Needed: Number(math.Ceil(items * se * se / (weakRatioSE * weakRatioSE))),
		Loss:   Number(mean/votes + fit),
		LossSE: Number(math.Sqrt(variance/items) / votes), Intervals: verdict(se)}
}

// designs predicts every number of items with every number of votes; nil if votes do
// not tell the spread between items.
func (d *designer) designs(items, votes []int) []Design {
	list := []Design{}
	if d == nil {
		return list
	}
	for _, m := range votes {
		for _, n := range items {
			list = append(list, d.design(n, m))
		}
	}
	return list
}

// planned returns the numbers of items and of votes to predict for.
func (r *CheckResult) planned(o CheckOptions) (items, votes []int, err error) {
	for _, n := range o.Items {
		if n < 1 {
			return nil, nil, fmt.Errorf("a plan for %d items: expected at least 1", n)
		}
	}
	for _, m := range o.Votes {
		if m < 2 || m > MaxPlannedVotes {
			return nil, nil, fmt.Errorf("a plan for %d votes per item: expected 2 to %d", m, MaxPlannedVotes)
		}
	}
	items, votes = o.Items, o.Votes
	if n := r.Support.PairedItems; len(items) == 0 {
		items = []int{n, 2 * n, 4 * n}
	}
	if len(votes) == 0 {
		votes = []int{2, 3, 5, 10}
		if m := int(math.Round(float64(r.Votes) / float64(max(1, r.VotedItems)))); m > 1 && m <= MaxPlannedVotes {
			votes = append(votes, m)
		}
	}
	return distinct(items), distinct(votes), nil
}

// MaxPlannedVotes is the largest number of votes per item that is planned for.
const MaxPlannedVotes = 1000
