package evaluate

import (
	"math"
	"testing"

	"credence/internal/kernel"
	"credence/mixture"
)

func dirichlet(t testing.TB, alpha ...float64) *mixture.Dirichlet {
	t.Helper()
	m, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Under the uniform distribution of p, S votes of m come in a given order with
// probability S!(m−S)!/(m+1)!.
func TestLossesClosedForm(t *testing.T) {
	v := votesOf(t, [][]float64{{2, 1}, {0, 0}, {0, 4}})
	uniform := dirichlet(t, 1, 1)
	sample, err := newSample(t.Context(), Input{Predictions: predictionsOf([]*mixture.Dirichlet{uniform, uniform, uniform}), Votes: v})
	if err != nil {
		t.Fatal(err)
	}
	joint, err := sample.jointLosses()
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{math.Log(12), 0, math.Log(5)} {
		near(t, "joint", joint[j], want, 1e-14)
	}
	half := []float64{.5, .5}
	for j, want := range []float64{3 * math.Ln2, 0, 4 * math.Ln2} {
		near(t, "marginal", marginalLosses(func(int) []float64 { return half }, v)[j], want, 1e-14)
	}
	for j, want := range []float64{3*math.Log(3) - 2*math.Ln2, 0, 0} {
		near(t, "floor", floorLosses(v)[j], want, 1e-14)
	}
	c := fitConstant(v)
	near(t, "frequency", c.Probabilities[0], 2.5/8, 1e-15)
	near(t, "constant", c.losses(v)[2], -4*math.Log(5.5/8), 1e-14)
}

func TestBrier(t *testing.T) {
	p := []float64{.2, .5, .3}
	want := 0.0
	for i, n := range []float64{1, 0, 2} {
		d := 0.0
		for k := range p {
			e := 0.0
			if k == i {
				e = 1
			}
			d += (p[k] - e) * (p[k] - e)
		}
		want += n * d
	}
	near(t, "Brier", brierScore(p, []float64{1, 0, 2}), want, 1e-15)
}

func TestMajorityCredit(t *testing.T) {
	for _, c := range []struct {
		class int
		votes []float64
		want  float64
	}{
		{0, []float64{3, 1, 0}, 1},
		{1, []float64{3, 1, 0}, 0},
		{0, []float64{2, 2, 0}, .5},
		{2, []float64{1, 1, 1}, 1. / 3},
		{0, []float64{0, 0, 0}, 0},
	} {
		if got := MajorityCredit(c.class, c.votes); got != c.want {
			t.Errorf("class %d of %v: credit %v, want %v", c.class, c.votes, got, c.want)
		}
	}
}

// The expectations of pair agreement and of D over all outcomes of m votes are
// Σp² and Σ(p − μ)², exactly.
func TestPairMomentsUnbiased(t *testing.T) {
	p, mu := []float64{.2, .7, .1}, []float64{.3, .3, .4}
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{mu})
	if err != nil {
		t.Fatal(err)
	}
	agreement, spread := 0.0, 0.0
	const m = 4
	for outcome := range 81 { // all sequences of four votes
		prob, s := 1.0, make([]float64, 3)
		for k, o := 0, outcome; k < m; k, o = k+1, o/3 {
			prob *= p[o%3]
			s[o%3]++
		}
		agreement += prob * PairAgreement(s)
		d, err := dist.PairError(s)
		if err != nil {
			t.Fatal(err)
		}
		spread += prob * d
	}
	near(t, "agreement", agreement, kernel.Dot64(p, p), 1e-14)
	near(t, "spread", spread, .1*.1+.4*.4+.3*.3, 1e-14)
}

func TestEqualMass(t *testing.T) {
	values := []float64{5, 1, 1, 1, 2, 3, 3, 4, 9, 9}
	mass := []float64{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}
	of, n := equalMass(values, mass, 4)
	if n != 4 {
		t.Fatalf("%d bins, want 4", n)
	}
	for j, want := range []int{3, 0, 0, 0, 1, 2, 2, 3, 3, 3} {
		if of[j] != want {
			t.Errorf("item %d of value %v in bin %d, want %d", j, values[j], of[j], want)
		}
	}
	if _, n := equalMass([]float64{2, 2, 2}, []float64{1, 1, 1}, 15); n != 1 {
		t.Errorf("equal values in %d bins", n)
	}
}
