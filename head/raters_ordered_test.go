package head

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/mixture"
)

// orderedModel returns a rater model of ordered classes: neutral raters, or raters whose parameters are drawn.
func orderedModel(t testing.TB, classes, raters int, neutral bool, r *rand.Rand) *RaterModel {
	c := newRaterModel(Task{Classes: classes, Raters: raters, Ordered: true})
	for i := range raters {
		c.GuessLogit[i] = -12
		for k := range classes {
			c.Taste[i*classes+k] = 1 / float64(classes)
		}
		if !neutral {
			c.Bias[i], c.LogScale[i], c.GuessLogit[i] = r.NormFloat64(), 0.4*r.NormFloat64(), -3
		}
	}
	if err := c.Finalize(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOrderedNeutral: for raters without bias who do not guess, the likelihood is that of the Dirichlet mixture up to the
// error of the nodes, and updates and the average rater's distribution are those of the mixture.
func TestOrderedNeutral(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, classes := range []int{3, 5, 11} {
		worst, sum := 0.0, 0.0
		const trials = 60
		for range trials {
			alpha := [][]float64{make([]float64, classes), make([]float64, classes)}
			for _, a := range alpha {
				for i := range a {
					a[i] = math.Exp(0.3 + r.NormFloat64())
				}
			}
			dist, err := mixture.NewDirichlet([]float64{0.4, 0.6}, alpha)
			if err != nil {
				t.Fatal(err)
			}
			c := orderedModel(t, classes, 2, true, r)
			var votes []Rating
			counts := make([]float64, classes)
			p := dist.Mean(nil)
			for range 3 {
				u, k := r.Float64(), 0
				for ; k < classes-1 && u > p[k]; k++ {
					u -= p[k]
				}
				votes = append(votes, Rating{Rater: int32(r.IntN(2)), Class: int32(k)})
				counts[k]++
			}
			got, err := c.LogVotes(dist, votes)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := dist.LogVotes(counts)
			worst, sum = max(worst, math.Abs(got-want)), sum+(got-want)
			after, err := c.Update(dist, votes)
			if err != nil {
				t.Fatal(err)
			}
			exact, _ := dist.Update(counts)
			for i, x := range after.Mean(nil) {
				if y := exact.Mean(nil)[i]; !(math.Abs(x-y) <= 0.02) {
					t.Errorf("%d classes, votes %v: mean %d after is %v, want %v", classes, counts, i, x, y)
				}
			}
			for i, x := range c.Average().Dist(dist).Mean(nil) {
				if y := p[i]; !(math.Abs(x-y) <= 2e-4) {
					t.Errorf("%d classes: mean %d of the average rater is %v, want %v", classes, i, x, y)
				}
			}
		}
		if !(worst <= 0.03) || !(math.Abs(sum)/trials <= 0.006) {
			t.Errorf("%d classes: log-likelihood is off by up to %v, on average by %v", classes, worst, sum/trials)
		}
	}
}

// TestOrderedChances: chances sum to one, and a positive bias moves votes towards the upper end.
func TestOrderedChances(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := orderedModel(t, 5, 6, false, r)
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 3, 4, 2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	score := func(rater int) float64 {
		p, err := c.Chances(dist, rater)
		if err != nil {
			t.Fatal(err)
		}
		sum, mean := 0.0, 0.0
		for i, x := range p {
			sum += x
			mean += x * float64(i)
		}
		if !(math.Abs(sum-1) <= 1e-9) {
			t.Errorf("rater %d: chances sum to %v", rater, sum)
		}
		return mean
	}
	score(-1)
	c.Bias[0], c.Bias[1], c.LogScale[0], c.LogScale[1] = -1, 1, 0, 0
	if low, high := score(0), score(1); !(low+0.5 < high) {
		t.Errorf("mean class %v with a bias of −1, %v with 1", low, high)
	}
}

// TestOrderedRecovery: biases and scales that votes were drawn with are found from the distributions of the items. With
// 900 votes per rater the standard errors of b and log s are about 0.1.
func TestOrderedRecovery(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const items, raters, classes = 600, 4, 5
	truth := orderedModel(t, classes, raters, true, r)
	copy(truth.Bias, []float64{-1, -0.2, 0.3, 0.9})
	copy(truth.LogScale, []float64{0.4, -0.4, 0.3, -0.3})
	task := Task{Classes: classes, Raters: raters, Ordered: true, ClassVotes: make([]float64, classes), RaterVotes: make([]float64, raters)}
	b := Batch{Counts: Counts{Classes: classes, Values: make([]float32, items*classes)}}
	var dists []*mixture.Dirichlet
	for j := range items {
		alpha := make([]float64, classes)
		for i := range alpha {
			alpha[i] = math.Exp(2 * r.NormFloat64())
		}
		dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
		if err != nil {
			t.Fatal(err)
		}
		dists = append(dists, dist)
		n := truth.nodes()
		n.place(alpha)
		s := r.IntN(simplexS)
		p := make([]float64, classes)
		for rater := range raters {
			n.chances(p, int32(rater), s)
			u, k := r.Float64(), 0
			for ; k < classes-1 && u > p[k]; k++ {
				u -= p[k]
			}
			b.Ratings = append(b.Ratings, Rating{int32(j), int32(rater), int32(k)})
			b.Counts.Values[j*classes+k]++
			task.RaterVotes[rater]++
			task.ClassVotes[k]++
		}
	}
	c, err := FitRaterModel(task, dists, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddVotes(task, dists, b, 1); err != nil {
		t.Fatal(err)
	}
	for k := range raters {
		if !(math.Abs(c.Bias[k]-truth.Bias[k]) <= 4*c.BiasSE[k]) || !(c.BiasSE[k] < 0.25) {
			t.Errorf("rater %d: bias %v ± %v, want %v", k, c.Bias[k], c.BiasSE[k], truth.Bias[k])
		}
		if !(math.Abs(c.LogScale[k]-truth.LogScale[k]) <= 4*c.LogScaleSE[k]) || !(c.LogScaleSE[k] < 0.25) {
			t.Errorf("rater %d: log scale %v ± %v, want %v", k, c.LogScale[k], c.LogScaleSE[k], truth.LogScale[k])
		}
	}
}
