package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

// laneRows draws mixtures from one end to the other of what lanes can have, some with components without weight.
func laneRows(n, k int) BetaBatch {
	r := rand.New(rng.New(3, "lanes"))
	rows := BetaBatch{K: k}
	for range n {
		sum, from := 0.0, len(rows.Weights)
		for j := range k {
			w := math.Pow(r.ExpFloat64(), 3) + 1e-9
			if j > 0 && r.IntN(8) == 0 {
				w = 0
			}
			sum += w
			rows.Weights = append(rows.Weights, w)
			rows.A = append(rows.A, min(64, laneLeast*math.Exp(8*r.Float64())))
			rows.B = append(rows.B, min(64, laneLeast*math.Exp(8*r.Float64())))
		}
		for i := range rows.Weights[from:] {
			rows.Weights[from+i] /= sum
		}
	}
	return rows
}

// solveLane returns what lanes find, NaN if that is nothing.
func solveLane(t *testing.T, m *Beta, q float64, upper bool) float64 {
	t.Helper()
	ends := []laneEnd{{q: q, upper: upper}}
	if !m.solveLanes(ends) {
		return math.NaN()
	}
	return ends[0].root
}

// TestLanes compares the quantiles of lanes with those of the incomplete beta function by all its methods.
func TestLanes(t *testing.T) {
	for _, k := range []int{1, 2, 3, 8, 25} {
		rows := laneRows(400, k)
		lanes, all := 0, 0
		for i := range rows.Len() {
			w, a, b := rows.row(i)
			m, err := NewBeta(w, a, b)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []float64{0.5, 0.1, 0.025, 1e-4, 1e-9, laneMass} {
				for _, upper := range []bool{false, true} {
					all++
					u := solveLane(t, m, q, upper)
					if math.IsNaN(u) {
						continue
					}
					lanes++
					// On a plateau any point will do that has the mass; else a logit is off by the error of the
					// mass over the slope of its logarithm, which is at least that of the flattest component.
					want := m.solveTail(q, upper)
					if tail := m.tailAt(u, upper); !near(tail.mass, q, 1e-13) && !near(u, want, 1e-13) {
						t.Errorf("row %d of %d components, q = %v, upper %v: mass %v at %v, root %v", i, k, q, upper, tail.mass, u, want)
					}
				}
			}
		}
		if lanes < all*4/5 || lanes == all && k > 8 { // some continued fraction of so many takes too long
			t.Errorf("%d components: lanes had %d of %d", k, lanes, all)
		}
	}
}

// TestLanesLeave checks that what lanes cannot have is left to others: parameters beyond their range, masses too small, points
// too far out.
func TestLanesLeave(t *testing.T) {
	for _, c := range []struct {
		a, b, q float64
	}{
		{laneLeast / 2, 1, 0.1},
		{1, laneLeast / 2, 0.1},
		{100, 30, 0.1},
		{2, 3, laneMass / 2},
		{laneLeast, 1, laneMass}, // logit −884
	} {
		m, err := NewBeta([]float64{1}, []float64{c.a}, []float64{c.b})
		if err != nil {
			t.Fatal(err)
		}
		if u := solveLane(t, m, c.q, false); !math.IsNaN(u) {
			t.Errorf("Beta(%v, %v), q = %v: lanes found %v", c.a, c.b, c.q, u)
		}
		if tail := m.tailAt(m.QuantileLogit(c.q), false); !near(tail.mass, c.q, 1e-12) {
			t.Errorf("Beta(%v, %v): F(Q(%v)) = %v", c.a, c.b, c.q, tail.mass)
		}
	}
}

// TestIntervalsIntoSides checks every side against the mixtures alone, also where lanes have some of the rows only, at levels for which the
// smaller tail is the one or the other.
func TestIntervalsIntoSides(t *testing.T) {
	rows := laneRows(300, 3)
	for i := 0; i < len(rows.A); i += 7 {
		rows.A[i] *= 50
	}
	dst := make([]Interval, rows.Len())
	for _, side := range []Side{TwoSided, Upper, Lower} {
		for _, level := range []float64{1e-14, 0.2, 0.5, 0.95, 1 - 1e-14} {
			if err := IntervalsInto(dst, rows, side, level); err != nil {
				t.Fatal(err)
			}
			for i, got := range dst {
				m, err := NewBeta(rows.row(i))
				if err != nil {
					t.Fatal(err)
				}
				if want := m.Interval(side, level); got != want {
					t.Fatalf("row %d, %v, level %v: %v in the batch, %v alone", i, side, level, got, want)
				}
			}
		}
	}
}
