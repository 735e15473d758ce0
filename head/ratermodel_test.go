package head

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/special"
	"credence/mixture"
)

// rater model returns one of drawn raters.
func drawRaterModel(t testing.TB, classes, raters int, r *rand.Rand) *RaterModel {
	h := ratedHead(t, 1, classes, raters, r)
	own := [][]float32{h.guess, h.sums, h.mark, h.bias}
	if classes > 2 {
		own[3] = h.taste
	}
	c, err := RaterModelOf(Task{Classes: classes, Raters: raters}, own)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func drawDist(t testing.TB, classes int, r *rand.Rand) *mixture.Dirichlet {
	alpha := make([][]float64, 3)
	for k := range alpha {
		for range classes {
			alpha[k] = append(alpha[k], math.Exp(2*r.Float64()*2-0.7))
		}
	}
	dist, err := mixture.NewDirichlet([]float64{0.2, 0.5, 0.3}, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return dist
}

// chancesAt returns P(v | p, r) by its definition.
func chancesAt(c *RaterModel, p []float64, rater int) []float64 {
	if rater < 0 {
		list := make([]float64, c.Classes)
		for i := range list {
			list[i] = c.Average().At(i, p[i])
		}
		return list
	}
	g := c.Guess[rater]
	if c.Classes == 2 {
		one := (1-g)*special.Sigmoid(math.Log(p[1]/p[0])+c.Bias[rater]) + g/2
		return []float64{1 - one, one}
	}
	list := make([]float64, c.Classes)
	for i := range list {
		list[i] = (1-g)*p[i] + g*c.Taste[rater*c.Classes+i]
	}
	return list
}

// TestRaterModelVotes: likelihood, posterior means and pairs against draws of p, for two and more classes.
// With 100,000 draws, six standard errors are off in none of a million checks.
func TestRaterModelVotes(t *testing.T) {
	for _, classes := range []int{2, 3} {
		r := rand.New(rand.NewPCG(uint64(classes), 9))
		c := drawRaterModel(t, classes, 6, r)
		for range 4 {
			dist := drawDist(t, classes, r)
			var votes []Rating
			for range 3 {
				votes = append(votes, Rating{Rater: int32(r.IntN(7) - 1), Class: int32(r.IntN(classes))})
			}
			const draws = 100_000
			like, square, pairs := 0.0, 0.0, 0.0
			means := make([][]float64, len(votes))
			for k, v := range votes {
				m, err := c.Chances(dist, int(v.Rater))
				if err != nil {
					t.Fatal(err)
				}
				means[k] = m
			}
			mean := make([]float64, classes)
			for range draws {
				p := dist.Sample(nil, r)
				l, d, d2 := 1.0, make([]float64, classes), 0.0
				for k, v := range votes {
					q := chancesAt(c, p, int(v.Rater))
					l *= q[v.Class]
					for i := range q {
						e := q[i] - means[k][i]
						d[i] += e
						d2 += e * e
					}
				}
				for i := range d {
					pairs += d[i] * d[i] / draws
				}
				pairs -= d2 / draws
				like += l / draws
				square += l * l / draws
				for i := range mean {
					mean[i] += l * p[i]
				}
			}
			se := math.Sqrt((square - like*like) / draws)
			got, err := c.LogVotes(dist, votes)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(math.Exp(got)-like) <= 6*se) {
				t.Errorf("%d classes: likelihood %v, want %v ± %v", classes, math.Exp(got), like, se)
			}
			after, err := c.Update(dist, votes)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range after.Mean(nil) {
				if want := mean[i] / draws / like; !(math.Abs(m-want) <= 6*se/like) {
					t.Errorf("%d classes: mean after votes %v, want %v ± %v", classes, m, want, se/like)
				}
			}
			_, claimed, err := c.Pairs(dist, votes)
			if err != nil {
				t.Fatal(err)
			}
			if want := pairs / 6; !(math.Abs(special.Sum(claimed)-want) <= 0.03*want+1e-3) {
				t.Errorf("%d classes: pairs claim %v, want %v", classes, special.Sum(claimed), want)
			}
		}
	}
}

// TestRaterModelPosteriorShape: the Beta mixture after votes of two classes against the posterior itself, by
// sums over a fine grid.
func TestRaterModelPosteriorShape(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	c := drawRaterModel(t, 2, 6, r)
	worst := 0.0
	for range 40 {
		dist := drawDist(t, 2, r)
		var votes []Rating
		for range 1 + r.IntN(5) {
			votes = append(votes, Rating{Rater: int32(r.IntN(6)), Class: int32(r.IntN(2))})
		}
		after, err := c.Update(dist, votes)
		if err != nil {
			t.Fatal(err)
		}
		beta := after.Marginal(1)
		at := []float64{0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98}
		below, whole := make([]float64, len(at)), 0.0
		prior := dist.Marginal(1)
		for i := range 6001 {
			p := special.Sigmoid(float64(i-3000) / 100)
			l := prior.PDF(p) * p * (1 - p)
			for _, v := range votes {
				l *= chancesAt(c, []float64{1 - p, p}, int(v.Rater))[v.Class]
			}
			whole += l
			for k, x := range at {
				if p <= x {
					below[k] += l
				}
			}
		}
		for k, x := range at {
			worst = max(worst, math.Abs(beta.CDF(x)-below[k]/whole))
		}
	}
	if !(worst < 0.04) {
		t.Errorf("distribution functions are off by up to %v, want below 0.04", worst)
	}
}

// TestRaterModelGain: a vote of a guesser is worth less than one of a rater who does not guess, and no vote
// has a negative value.
func TestRaterModelGain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, classes := range []int{2, 4} {
		c := drawRaterModel(t, classes, 2, r)
		c.GuessLogit[0], c.GuessLogit[1] = -8, 1
		if err := c.Finalize(); err != nil {
			t.Fatal(err)
		}
		dist := drawDist(t, classes, r)
		good, err := c.Gain(dist, 0)
		if err != nil {
			t.Fatal(err)
		}
		bad, err := c.Gain(dist, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !(good > 2*bad && bad >= 0) {
			t.Errorf("%d classes: gains %v and %v of a guesser", classes, good, bad)
		}
	}
}

// TestRaterModelMerge: merging keeps class means and the trace of the covariance.
func TestRaterModelMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var weights []float64
	var alpha [][]float64
	for range 300 {
		weights = append(weights, 1.0/300)
		alpha = append(alpha, []float64{3 * r.Float64(), 10 * r.Float64(), 1 + r.Float64()})
	}
	whole, err := mixture.NewDirichlet(append([]float64(nil), weights...), append([][]float64(nil), alpha...))
	if err != nil {
		t.Fatal(err)
	}
	few, err := merge(weights, alpha)
	if err != nil {
		t.Fatal(err)
	}
	if few.K() > maxComponents {
		t.Errorf("%d components, want at most %d", few.K(), maxComponents)
	}
	if a, b := special.Sum(whole.Variance(nil)), special.Sum(few.Variance(nil)); math.Abs(a-b) > 1e-12 {
		t.Errorf("trace %v, want %v", b, a)
	}
	for i, m := range few.Mean(nil) {
		if want := whole.Mean(nil)[i]; math.Abs(m-want) > 1e-12 {
			t.Errorf("mean %v, want %v", m, want)
		}
	}
}

// TestRaterModelRefuses: raters and classes that do not exist.
func TestRaterModelRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	c := drawRaterModel(t, 2, 3, r)
	dist := drawDist(t, 2, r)
	for _, v := range []Rating{{Rater: 3}, {Rater: -2}, {Class: 2}, {Class: -1}} {
		if _, err := c.LogVotes(dist, []Rating{v}); err == nil {
			t.Errorf("vote %v: no error", v)
		}
		if _, err := c.Update(dist, []Rating{v}); err == nil {
			t.Errorf("vote %v: no error", v)
		}
	}
}

// TestGuessersFound: of raters with 30 votes each, those who guess four votes in five stand out where the
// distributions of items are known, with two classes and with three, even if all guess rates start near 0: steps
// of Fisher scoring alone leave them there. The others are estimated not to guess. The seed is fixed;
// over ten others the means were at most 0.023 and at least 0.399.
func TestGuessersFound(t *testing.T) {
	for _, classes := range []int{2, 3} {
		r := rand.New(rand.NewPCG(5, uint64(classes)))
		const raters, items = 30, 300
		task := Task{Classes: classes, Raters: raters}
		b := Batch{Counts: Counts{Classes: classes}}
		var dists []*mixture.Dirichlet
		for j := range items {
			alpha := make([]float64, classes)
			for i := range alpha {
				alpha[i] = 1
			}
			alpha[r.IntN(classes)] = 8
			dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
			if err != nil {
				t.Fatal(err)
			}
			dists = append(dists, dist)
			p := dist.Sample(nil, r)
			counts := make([]float32, classes)
			for v := range 3 {
				rater := (3*j + v) % raters
				u, says := r.Float64(), 0
				for ; says < classes-1 && u > p[says]; says++ {
					u -= p[says]
				}
				if rater%5 == 0 && r.Float64() < 0.8 {
					says = r.IntN(classes)
				}
				counts[says]++
				b.Ratings = append(b.Ratings, Rating{Item: int32(j), Rater: int32(rater), Class: int32(says)})
			}
			b.Counts.Values = append(b.Counts.Values, counts...)
		}
		h, own, out, err := raterWork(task, dists)
		if err != nil {
			t.Fatal(err)
		}
		for k := range own[0] {
			own[0][k] = guessMean
		}
		for range maxFitSteps {
			h.compute(make([]float32, len(out)), out, b)
			h.add()
			h.update()
			clear(h.sums)
		}
		c, err := RaterModelOf(task, own)
		if err != nil {
			t.Fatal(err)
		}
		var mean [2]float64 // of those who do not guess, and of those who do
		for rater, g := range c.Guess {
			if rater%5 == 0 {
				mean[1] += g / 6
			} else {
				mean[0] += g / 24
			}
		}
		if mean[0] > 0.1 || mean[1] < 0.35 {
			t.Errorf("%d classes: raters who do not guess are said to guess %.3f, those who do %.3f", classes, mean[0], mean[1])
		}
	}
}
