package evaluate

import (
	"cmp"
	"slices"
)

// equalMass sorts items into at most bins bins of about equal mass by a value,
// and returns the bin of every item and the number of bins. Equal values share
// a bin, so the result does not depend on the order of items; items without
// mass get the bin of their value or, if there is none, −1.
func equalMass(values, mass []float64, bins int) (of []int, n int) {
	of = make([]int, len(values))
	order := ascending(values)
	total := sum(mass)
	before, last := 0.0, -1
	n = 0
	for i := 0; i < len(order); {
		k := i
		tied := 0.0
		for ; k < len(order) && values[order[k]] == values[order[i]]; k++ {
			tied += mass[order[k]]
		}
		// The bin is that of the middle of the tied mass.
		if tied > 0 {
			b := min(int((before+tied/2)/total*float64(bins)), bins-1)
			if b != last {
				last = b
				n++
			}
		}
		before += tied
		for ; i < k; i++ {
			of[order[i]] = n - 1
		}
	}
	return of, n
}

// ascending returns the places of values in increasing order, equals in theirs.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}
