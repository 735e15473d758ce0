package evaluate

import (
	"fmt"
	"math"
	"slices"
)

// Difference compares the losses of two models on the same items: first less
// second, so a negative value says that the first is better.
type Difference struct {
	IntervalEstimate
	// PValue is that of no difference, two-sided: twice the share of replicates
	// on the other side of zero, and never below 2/(replicates + 1).
	PValue Number `json:"p_value"`
}

// comparePaired bootstraps the difference of two models' losses per vote,
//
//	Σ_j (first_j − second_j) / Σ_j votes_j,
//
// first and second being summed over the votes of each item ([N] each, as
// jointLosses returns them). Items, or groups of items if groups is not nil,
// are drawn together for both models.
func comparePaired(first, second, votes []float64, groups []int, b Bootstrap) (Difference, error) {
	none := Difference{unknownInterval, unknown}
	n := len(first)
	if len(second) != n || len(votes) != n {
		return none, fmt.Errorf("%d and %d losses for %d items", n, len(second), len(votes))
	}
	of, units, err := unitsOf(n, groups)
	if err != nil {
		return none, err
	}
	t := newTally(units)
	loss, weight := t.column(1), t.column(1)
	for j := range first {
		t.add(of[j], loss, first[j]-second[j])
		t.add(of[j], weight, votes[j])
	}
	d := none
	t.interval(&d.IntervalEstimate, func(s []float64) float64 { return s[loss] / s[weight] })
	draws := t.run(b)
	if !d.SE.Known() {
		return d, nil
	}
	draws = slices.DeleteFunc(draws, math.IsNaN)
	below, above := 1, 1
	for _, x := range draws {
		if x <= 0 {
			below++
		}
		if x >= 0 {
			above++
		}
	}
	d.PValue = Number(min(1, 2*float64(min(below, above))/float64(len(draws)+1)))
	return d, nil
}
