package evaluate

import (
	"context"
	"fmt"

	"credence/mixture"
)

// Gains returns, for each law, the expected loss of variance Σ_i Var p_i by 0, 1, 2, …
// further votes on the item ([mixture.Dirichlet.Gain], by enumeration beyond one),
// up to most, and as far as they matter to [Allocate] with the given budget. It uses
// all cores.
//
// What does not matter is left out, because many votes have many outcomes. Knowing
// some gains, one knows at least what a vote will cost: the average gain λ of the
// piece that spends the budget. An item gets n votes only if they gain n λ, and they
// gain less than the same votes from somebody who knows the component k,
//
//	Σ_k w_k (|m_k − μ|² + W_k n/(α_k0 + n)),
//
// with m_k the mean of a component and W_k the trace of its covariance.
func Gains(laws []*mixture.Dirichlet, budget, most int) ([][]float64, error) {
	if budget < 0 || most < 1 {
		return nil, fmt.Errorf("gains of up to %d votes per item of %d: expected at least 1", most, budget)
	}
	if len(laws) == 0 {
		return nil, nil
	}
	for j, m := range laws {
		if m == nil {
			return nil, fmt.Errorf("item %d has no distribution", j)
		}
		if d := m.Classes(); outcomes(most, d) > maxOutcomes {
			return nil, fmt.Errorf("up to %d votes on an item of %d classes have %.3g outcomes, expected at most %d",
				most, d, outcomes(most, d), maxOutcomes)
		}
	}
	gains := make([][]float64, len(laws))
	for j := range gains {
		gains[j] = []float64{0}
	}
	// As many as an even spread needs, then those that could be worth their price.
	base := min(most, budget/len(laws)+1)
	if err := extend(gains, laws, func(int) int { return base }); err != nil {
		return nil, err
	}
	price := priceOf(piecesOf(gains), budget)
	err := extend(gains, laws, func(j int) int {
		n, bound := most, gainBound(laws[j])
		for n > base && bound(n) < price*float64(n)*(1-1e-9) { // a margin for rounding
			n--
		}
		return n
	})
	return gains, err
}

// extend computes the gains of item j up to the number of votes that most gives.
func extend(gains [][]float64, laws []*mixture.Dirichlet, most func(j int) int) error {
	return tryItems(context.Background(), len(laws), func(j int) error {
		for n, last := len(gains[j]), most(j); n <= last; n++ {
			g, err := laws[j].Gain(n)
			gains[j] = append(gains[j], g)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// gainBound returns what the gain of n ≥ 1 votes does not exceed; see [Gains].
func gainBound(m *mixture.Dirichlet) func(n int) float64 {
	mean := m.Mean(nil)
	between := 0.0
	within, total := make([]float64, m.K()), make([]float64, m.K())
	for k := range within {
		w, a := m.Component(k)
		total[k] = sum(a)
		trace := 1.0
		for i, x := range a {
			x /= total[k]
			trace -= x * x
			between += w * (x - mean[i]) * (x - mean[i])
		}
		within[k] = w * trace / (total[k] + 1)
	}
	return func(n int) float64 {
		g := between
		for k, v := range within {
			g += v * float64(n) / (total[k] + float64(n))
		}
		return g
	}
}

// priceOf returns the average gain of the piece that spends the budget, 0 if there
// are too few.
func priceOf(pieces []segment, budget int) float64 {
	for _, s := range pieces {
		if budget -= s.to - s.from; budget <= 0 {
			return s.slope
		}
	}
	return 0
}

// maxOutcomes bounds the outcomes of up to so many votes on an item: some tens of
// milliseconds per item for a mixture of fifteen components.
const maxOutcomes = 100_000

// outcomes returns how many splits of 1 to n votes between d classes there are,
// C(n+d, d) − 1.
func outcomes(n, d int) float64 {
	v := 1.0
	for i := 1; i <= d; i++ {
		v *= float64(n+i) / float64(i)
	}
	return v - 1
}

// usualOutcomes is how many outcomes [MostVotes] lets be enumerated: milliseconds an
// item.
const usualOutcomes = 3000

// MostVotes returns up to how many further votes on an item of d classes are planned
// unless told otherwise: 10, or fewer if these have more than 3,000 outcomes.
func MostVotes(d int) int {
	n := 10
	for n > 1 && outcomes(n, d) > usualOutcomes {
		n--
	}
	return n
}
