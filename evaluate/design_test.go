package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

// drawVotes draws m votes on each of n items, with probabilities drawn from
// Dirichlet(alpha).
func drawVotes(t testing.TB, alpha []float64, n, m int, r *rand.Rand) Votes {
	t.Helper()
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
	if err != nil {
		t.Fatal(err)
	}
	v := Votes{Classes: len(alpha), Counts: make([]float64, n*len(alpha))}
	var p []float64
	for j := range n {
		p = dist.Sample(p[:0], r)
		vote(v.Item(j), p, m, r)
	}
	return v
}

// The mean and variance of the loss are those over all ordered outcomes.
func TestJointLossAgainstEnumeration(t *testing.T) {
	for _, alpha := range [][]float64{{1, 1}, {0.3, 2}, {1e-3, 40, 7}, {0.5, 0.2, 3, 1.5}} {
		for _, m := range []int{1, 2, 5} {
			var mass, first, second float64
			counts := make([]float64, len(alpha))
			var walk func(left int)
			walk = func(left int) {
				if left == 0 {
					l := dirichletLoss(sum(alpha), 1, alpha, counts)
					p := math.Exp(-l)
					mass += p
					first += p * l
					second += p * l * l
					return
				}
				for i := range counts {
					counts[i]++
					walk(left - 1)
					counts[i]--
				}
			}
			walk(m)
			mean, variance := jointLoss(alpha, m)
			near(t, "mass", mass, 1, 1e-12)
			near(t, "mean loss", mean, first, 1e-12*(1+first))
			near(t, "its variance", variance, second-first*first, 1e-10*(1+second))
		}
	}
}

func TestJointLossTooLong(t *testing.T) {
	alpha := make([]float64, 500)
	for i := range alpha {
		alpha[i] = 1
	}
	if mean, variance := jointLoss(alpha, 20); !(mean > 0) || !math.IsNaN(variance) {
		t.Errorf("loss %v, variance %v", mean, variance)
	}
}

// The parameters of other classes have the same sum by addition and by subtraction.
func TestRestOfManyClasses(t *testing.T) {
	r := rand.New(rng.New(26, "evaluate.TestRestOfManyClasses"))
	alpha := make([]float64, 40)
	for i := range alpha {
		alpha[i] = math.Exp(2 * r.NormFloat64())
	}
	alpha[7] = 1e6
	c := newVoteCounts(alpha, 2)
	for i := range alpha {
		for l := range i {
			want := 0.0
			for k, a := range alpha {
				if k != i && k != l {
					want += a
				}
			}
			near(t, "rest", c.rest([]int{i, l})/want, 1, 1e-13)
		}
	}
}

// A design's loss is that of a fit to as many votes on new items, and its errors
// are those between simulated sets: over 400 sets the means agree within 4.5
// standard errors (false-alarm rate 1e-5 each) and the deviations within 20%, which
// is more than five of their standard errors.
func TestDesignLoss(t *testing.T) {
	alpha := []float64{0.6, 1.2, 0.4}
	const n, m, sets = 60, 3, 400
	r := rand.New(rng.New(8, "evaluate.TestDesignLoss"))
	by := newDesigner(drawVotes(t, alpha, 20_000, 4, r))
	d := by.design(n, m)
	var fitted, own []float64
	mean := 0.0
	for range sets {
		fit := fitConstantDirichlet(drawVotes(t, alpha, n, m, r))
		fresh := drawVotes(t, alpha, 400, m, r)
		l := sum(fit.losses(fresh)) / (400 * m)
		fitted = append(fitted, l)
		mean += l / sets
		own = append(own, sum(constantDirichlet{Alpha: alpha}.losses(drawVotes(t, alpha, n, m, r)))/(n*m))
	}
	near(t, "loss", float64(d.Loss), mean, 4.5*deviation(fitted)/math.Sqrt(sets)+2e-3)
	if ratio := float64(d.LossSE) / deviation(own); !(ratio > 0.8 && ratio < 1.2) {
		t.Errorf("standard error of the loss %v, between sets %v", d.LossSE, deviation(own))
	}
}

// For items with means that are known to a model and explain half of the spread, the
// standard error of R between 200 simulated sets is as predicted from votes alone, within
// a third, for every design, and below rather than above.
func TestDesignRatioSE(t *testing.T) {
	for _, c := range []struct {
		total float64 // Σα between items
		m     int
	}{{0.6, 2}, {1, 3}, {2, 2}, {2, 5}, {4, 5}} {
		const n, sets = 150, 200
		r := rand.New(rng.New(9, "evaluate.TestDesignRatioSE", uint64(100*c.total)+uint64(c.m)))
		// Means μ ~ Beta with half of the variance; p ~ Beta(cμ, c(1−μ)), c = 2Σα,
		// has the other half.
		about := (c.total+1)/explained - 1
		means, err := mixture.NewDirichlet([]float64{1}, [][]float64{{about / 2, about / 2}})
		if err != nil {
			t.Fatal(err)
		}
		var ratios []float64
		predicted := 0.0
		for range sets {
			votes := Votes{Classes: 2, Counts: make([]float64, 2*n)}
			spread, variance := 0.0, 0.0
			for j := range n {
				mu := min(max(means.Sample(nil, r)[0], 1e-9), 1-1e-9)
				k := c.total / (1 - explained)
				dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{k * mu, k * (1 - mu)}})
				if err != nil {
					t.Fatal(err)
				}
				vote(votes.Item(j), dist.Sample(nil, r), c.m, r)
				e, err := dist.PairError(votes.Item(j))
				if err != nil {
					t.Fatal(err)
				}
				spread += e
				variance += sum(dist.Variance(nil))
			}
			ratios = append(ratios, spread/variance)
			predicted += float64(supportOf(votes, newDesigner(votes)).RatioSE) / sets
		}
		t.Logf("Σα %v, %d votes: R %.3f between sets, predicted %.3f", c.total, c.m, deviation(ratios), predicted)
		if q := predicted / deviation(ratios); !(q > 0.8 && q < 1.34) {
			t.Errorf("Σα %v, %d votes: the standard error of R is %v, predicted %v", c.total, c.m, deviation(ratios), predicted)
		}
	}
}

// 150 items with two votes do not support intervals, 2,000 do; and the designs show
// how many are needed.
func TestDesigns(t *testing.T) {
	r := rand.New(rng.New(10, "evaluate.TestDesigns"))
	few, many := drawVotes(t, []float64{1, 1}, 150, 2, r), drawVotes(t, []float64{1, 1}, 2000, 2, r)
	if s := supportOf(few, newDesigner(few)); s.Intervals != "weak" && s.Intervals != "no" {
		t.Errorf("150 items with two votes: %+v", s)
	}
	if s := supportOf(many, newDesigner(many)); s.Intervals != "yes" || !(s.RatioSEHigh > 2*s.RatioSE) {
		t.Errorf("2,000 items with two votes: %+v", s)
	}
	some := drawVotes(t, []float64{1, 1}, 700, 2, r)
	if s := supportOf(some, newDesigner(some)); s.Intervals != "yes" || !strings.Contains(fmt.Sprint(s.Reasons), "if they explain four fifths") {
		t.Errorf("700 items with two votes: %+v", s)
	}
	c, err := Check(itemsOf(rowsOf(few)), CheckOptions{Bootstrap: Bootstrap{Replicates: 20}})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Designs) != 12 || c.Designs[0].Items != 150 || c.Designs[11].Items != 600 || c.Designs[11].Votes != 10 {
		t.Fatalf("designs %+v", c.Designs)
	}
	if a, b := c.Designs[0].RatioSE, c.Support.RatioSE; math.Abs(float64(a-b)) > 1e-12 {
		t.Errorf("the votes at hand: %v, the same as a design %v", b, a)
	}
	for i, d := range c.Designs {
		enough := newDesigner(few).design(int(d.Needed), d.Votes)
		if enough.Intervals != "yes" || newDesigner(few).design(int(d.Needed)-1, d.Votes).Intervals == "yes" {
			t.Errorf("design %d: %v items are said to do: %+v", i, d.Needed, enough)
		}
		if i%3 > 0 && !(d.RatioSE < c.Designs[i-1].RatioSE) || i >= 3 && !(d.RatioSE < c.Designs[i-3].RatioSE) {
			t.Errorf("design %d: %+v is no better than with fewer", i, d)
		}
	}
	for _, o := range []CheckOptions{{Items: []int{0}}, {Votes: []int{1}}, {Votes: []int{1001}}} {
		if _, err := Check(itemsOf(rowsOf(few)), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if c, err = Check(itemsOf([][]float64{{1, 0}, {0, 1}}), CheckOptions{}); err != nil || len(c.Designs) != 0 || c.Support.RatioSE.Known() {
		t.Errorf("one vote per item: %+v, %v", c.Support, err)
	}
}

// rowsOf returns the counts of each item.
func rowsOf(v Votes) (rows [][]float64) {
	for j := range v.Len() {
		rows = append(rows, v.Item(j))
	}
	return rows
}
