package bench

import (
	"math"
	"testing"

	"credence/mixture"
)

// TestIntervalsError checks that the self-check of the benchmark would see an
// error, and sees none.
func TestIntervalsError(t *testing.T) {
	rows := drawMixtures(1)
	// A part is enough, and gives the race detector less to do.
	const n = 2_000 * intervalComponents
	rows.Weights, rows.A, rows.B = rows.Weights[:n], rows.A[:n], rows.B[:n]
	intervals := make([]mixture.Interval, rows.Len())
	if err := mixture.IntervalsInto(intervals, rows, mixture.TwoSided, intervalLevel); err != nil {
		t.Fatal(err)
	}
	worst, err := intervalsError(rows, intervals)
	if err != nil || !(worst < 1e-12) {
		t.Errorf("largest error %v, %v", worst, err)
	}
	for i := range intervals {
		if lo := intervals[i].Lo; lo > smallestNormal && lo < 0.5 {
			intervals[i].Lo *= 1.0001
			break
		}
	}
	if worst, err = intervalsError(rows, intervals); err != nil || !(worst > 1e-9) {
		t.Errorf("largest error after moving an end: %v, %v", worst, err)
	}
}

func TestDrawMixtures(t *testing.T) {
	rows := drawMixtures(1)
	if rows.Len() != IntervalRows || rows.K != intervalComponents {
		t.Fatalf("%d rows of %d components", rows.Len(), rows.K)
	}
	n := len(rows.Weights)
	var mean, square float64
	for i := range n {
		if rows.Weights[i] < 0 {
			t.Fatalf("weight %d is %v", i, rows.Weights[i])
		}
		for _, x := range []float64{math.Log(rows.A[i]), math.Log(rows.B[i])} {
			mean += x / float64(2*n)
			square += (x - 1) * (x - 1) / float64(2*n)
		}
	}
	// ln α is N(1, 1.5²). Of 2n = 120,000 draws the mean has the standard error
	// 0.0043 and the mean square deviation 0.0092: five of them would come up
	// once in a million seeds.
	if math.Abs(mean-1) > 5*0.0043 || math.Abs(square-2.25) > 5*0.0092 {
		t.Errorf("ln α has the mean %v and the variance %v, want 1 and 2.25", mean, square)
	}
	same := drawMixtures(1)
	other := drawMixtures(2)
	if same.A[77] != rows.A[77] || other.A[77] == rows.A[77] {
		t.Error("mixtures do not depend on the seed, or on more than it")
	}
}
