package simulation

import (
	"math"
	"testing"
)

// The Bayes rate of the paper's design is 98.33% = 1 − 2Φ(−2/√.7)Φ(2/√.7), the
// share of items on the side of their own pair of Gaussians; and by its distribution,
// Var(p|x) = v²/(1+v) with v = μ(1−μ).
func TestPaperDesign(t *testing.T) {
	s, err := Simulate(Paper, 40000, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	votes, right := 0, 0.0
	for i, x := range s.X {
		dist, err := Paper.Dist(x)
		if err != nil {
			t.Fatal(err)
		}
		mean, variance := dist.Moments()
		v := mean * (1 - mean)
		if math.Abs(variance-v*v/(1+v)) > 1e-12+1e-6*variance {
			t.Fatalf("at %v: mean %v, variance %v, want %v", x, mean, variance, v*v/(1+v))
		}
		class := 0
		if mean < 0.5 {
			class = 1
		}
		votes += s.Votes[i][0] + s.Votes[i][1]
		right += float64(s.Votes[i][class])
	}
	if votes != 80000 {
		t.Errorf("%d votes", votes)
	}
	// Five standard errors of 40,000 items: a false alarm in 2 million seeds.
	if rate := right / float64(votes); math.Abs(rate-0.9833) > 5*math.Sqrt(0.9833*0.0167/40000) {
		t.Errorf("the best guess is right at %.4f, want 0.9833", rate)
	}
}

func TestSpreadDesign(t *testing.T) {
	dist, err := Spread.Dist([2]float64{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, a, b := dist.Component(0); math.Abs(a-math.E/2) > 1e-15 || a != b {
		t.Errorf("Beta(%v, %v) at the center", a, b)
	}
}

func TestSimulateIsRepeatable(t *testing.T) {
	a, err := Simulate(Spread, 50, 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Simulate(Spread, 100, 3, 7)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.X {
		if s := a.P[i] + a.Q[i]; math.Abs(s-1) > 1e-15 || a.Q[i] == 0 {
			t.Errorf("item %d: probabilities %v and %v", i, a.P[i], a.Q[i])
		}
		if a.X[i] != b.X[i] || a.P[i] != b.P[i] || a.Votes[i] != b.Votes[i] {
			t.Fatalf("item %d depends on the number of items", i)
		}
	}
	if err := a.Dataset().Check(); err != nil {
		t.Error(err)
	}
	if _, err := Simulate("square", 1, 1, 1); err == nil {
		t.Error("an unknown design was accepted")
	}
}
