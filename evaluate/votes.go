package evaluate

import (
	"fmt"
	"math"
	"slices"

	"credence/dataset"
)

// Votes holds the votes on N items: row j of Counts, [N × Classes] in row-major
// order, is how many votes item j received for each class. Rows of zeros are
// items without votes.
type Votes struct {
	Classes int
	Counts  []float64
}

// NewVotes returns the votes of ds.
func NewVotes(ds *dataset.Dataset) Votes {
	return Votes{Classes: len(ds.Classes), Counts: float64s(ds.Counts)}
}

// Len returns the number of items, N.
func (v Votes) Len() int {
	if v.Classes <= 0 {
		return 0
	}
	return len(v.Counts) / v.Classes
}

// Item returns the counts of item j, a slice of Counts.
func (v Votes) Item(j int) []float64 {
	return v.Counts[j*v.Classes : (j+1)*v.Classes : (j+1)*v.Classes]
}

// Total returns the number of votes on item j.
func (v Votes) Total(j int) float64 { return sum(v.Item(j)) }

// check returns an error unless v is a matrix of counts of two or more classes.
func (v Votes) check() error {
	if v.Classes < 2 {
		return fmt.Errorf("votes on %d classes: there are at least two", v.Classes)
	}
	if len(v.Counts)%v.Classes != 0 {
		return fmt.Errorf("%d counts are no rows of %d classes", len(v.Counts), v.Classes)
	}
	for k, c := range v.Counts {
		if !(c >= 0) || math.IsInf(c, 1) {
			return fmt.Errorf("item %d has %v votes for class %d: counts are finite and not negative",
				k/v.Classes, c, k%v.Classes)
		}
	}
	return nil
}

// whole reports whether all counts of s are whole numbers.
func whole(s []float64) bool {
	for _, c := range s {
		if c != math.Floor(c) {
			return false
		}
	}
	return true
}

// float64s widens values.
func float64s(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

func sum(s []float64) float64 {
	t := 0.0
	for _, x := range s {
		t += x
	}
	return t
}

// argmax returns the place of the largest number, the first of equals.
func argmax(s []float64) int { return slices.Index(s, slices.Max(s)) }
