package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/model"
)

// threeClasses draws items of three classes with votes of four of eight raters, who are alike.
func threeClasses(n int, seed uint64) *dataset.Dataset {
	const d, raters, votes = 3, 8, 4
	ds := simulated(n, 1, seed)
	ds.Classes, ds.Counts = []string{"a", "b", "c"}, make([]float32, d*n)
	r := rand.New(rng.New(seed, "unnamed.test"))
	for k := range raters {
		ds.Raters = append(ds.Raters, string(rune('A'+k)))
	}
	rows := ds.Rows.(*dataset.Memory)
	for j := range n {
		x, y := float64(rows.Values[3*j]), float64(rows.Values[3*j+1])
		p := []float64{math.Exp(1.5*x + r.NormFloat64()), math.Exp(1.5*y + r.NormFloat64()), math.Exp(r.NormFloat64())}
		sum := p[0] + p[1] + p[2]
		for i := range p {
			p[i] /= sum
		}
		for _, k := range r.Perm(raters)[:votes] {
			u, class := r.Float64(), 0
			for ; class < d-1 && u >= p[class]; class++ {
				u -= p[class]
			}
			ds.Counts[d*j+class]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(k), Class: int32(class)})
		}
	}
	return ds
}

// TestCompareUnnamed: with the same distributions, a rater model without guesses leaves the likelihood of votes without names
// unchanged, and one in which raters seem to guess half of their votes, so that p̄ is bounded away from 0 and 1, lowers it.
func TestCompareUnnamed(t *testing.T) {
	if testing.Short() {
		t.Skip("fits networks")
	}
	ds := threeClasses(500, 3)
	o := quick()
	o.Epochs, o.Raters = 25, "off"
	plain := fitted(t, ds, o)
	o.Raters = "on"
	f, err := newFitting(t.Context(), ds, o)
	if err != nil {
		t.Fatal(err)
	}
	compare := func(logit float64) (gain, se float64) {
		c := &head.RaterModel{Classes: 3}
		for range ds.Raters {
			c.Votes, c.GuessLogit, c.GuessLogitSE = append(c.Votes, 250), append(c.GuessLogit, logit), append(c.GuessLogitSE, 0.1)
			c.Taste = append(c.Taste, 0.4, 0.3, 0.3)
		}
		if err := c.Finalize(); err != nil {
			t.Fatal(err)
		}
		gain, se, err := f.compareUnnamed(plain, &Result{Model: &model.Model{RaterModel: c}, OutOfFold: plain.OutOfFold})
		if err != nil {
			t.Fatal(err)
		}
		return gain, se
	}
	if gain, se := compare(-12); !(math.Abs(gain) < 1e-4) || !(se < 1e-4) {
		t.Errorf("without guesses %v ± %v, want 0", gain, se)
	}
	if gain, se := compare(0); !(gain < -0.01) || !(gain < -4*se) {
		t.Errorf("with guesses %v ± %v, want less", gain, se)
	}
}

// TestUnnamed: names are removed, the votes of others are not changed.
func TestUnnamed(t *testing.T) {
	votes := []head.Rating{{Item: 4, Rater: 2, Class: 1}, {Item: 4, Rater: -1, Class: 0}}
	got := unnamed(votes)
	if got[0] != (head.Rating{Item: 4, Rater: -1, Class: 1}) || got[1] != votes[1] || votes[0].Rater != 2 {
		t.Errorf("%+v of %+v", got, votes)
	}
}
