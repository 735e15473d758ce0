package head

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/special"
)

// A rater whose bias is known for certain votes as the likelihood of the rater model says, and all raters together as the average.
func TestAs(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 4))
	for _, classes := range []int{2, 3} {
		c := drawRaterModel(t, classes, 5, r)
		for k := range c.BiasSE {
			c.BiasSE[k] = 0
		}
		for k := range c.Guess { // below rareGuess they would count as 0
			c.Guess[k] = max(c.Guess[k], rareGuess)
			c.GuessLogit[k] = math.Log(c.Guess[k] / (1 - c.Guess[k]))
		}
		if err := c.Finalize(); err != nil {
			t.Fatal(err)
		}
		var all []RaterPosterior
		for range 20 {
			dist := drawDist(t, classes, r)
			all = all[:0]
			for rater := range c.Votes {
				all = append(all, c.Posterior(rater))
				as, err := c.As(c.Posterior(rater))
				if err != nil {
					t.Fatal(err)
				}
				want, err := c.Chances(dist, rater)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := as.Moments(nil, nil, dist)
				for i := range want {
					if math.Abs(got[i]-want[i]) > 1e-6 {
						t.Errorf("%d classes, rater %d: chances %v, expected %v", classes, rater, got, want)
					}
				}
			}
			as, err := c.As(all...)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := as.Moments(nil, nil, dist)
			want, _ := c.Average().Moments(nil, nil, dist)
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-9 {
					t.Errorf("%d classes: all raters %v, expected %v", classes, got, want)
				}
			}
		}
	}
	c := drawRaterModel(t, 2, 3, r)
	if _, err := c.As(RaterPosterior{Rater: 3}); err == nil {
		t.Error("no error for a rater who is not in the model")
	}
}

// The chance of a rater with an uncertain bias is the mean over its posterior.
func TestAsUncertain(t *testing.T) {
	c := drawRaterModel(t, 2, 3, rand.New(rand.NewPCG(30, 5)))
	usual, _ := c.usualGuess()
	if usual < rareGuess {
		usual = 0
	}
	as, err := c.As(RaterPosterior{-1, 0.4, 0.8})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{0.03, 0.3, 0.9} {
		want, whole := 0.0, 0.0
		for z := -8.0; z <= 8; z += 1.0 / 64 {
			w := math.Exp(-z * z / 2)
			whole += w
			want += w * ((1-usual)*special.Sigmoid(math.Log(p/(1-p))+0.4+0.8*z) + usual/2)
		}
		if got := as.At(1, p); math.Abs(got-want/whole) > 1e-4 {
			t.Errorf("at %v: %v, expected %v", p, got, want/whole)
		}
	}
}

// regressionRaters returns a rater model whose biases depend on the first of two features.
func regressionRaters(t *testing.T, raters int, effect float64, r *rand.Rand) (*RaterModel, [][]float64) {
	c := drawRaterModel(t, 2, raters, r)
	x := make([][]float64, raters)
	c.BiasSD = math.Hypot(effect, 0.5)
	for k := range c.Bias {
		x[k] = []float64{float64(1 - 2*(k%2)), r.NormFloat64()}
		c.Votes[k] = 10 + float64(r.IntN(20))
		v := 1 / (0.2 * c.Votes[k]) // of what votes say
		y := effect*x[k][0] + 0.5*r.NormFloat64() + math.Sqrt(v)*r.NormFloat64()
		c.BiasSE[k] = 1 / math.Sqrt(1/v+1/(c.BiasSD*c.BiasSD))
		c.Bias[k] = y * c.BiasSE[k] * c.BiasSE[k] / v
	}
	if err := c.Finalize(); err != nil {
		t.Fatal(err)
	}
	return c, x
}

// The posterior equals that of all biases together as one normal vector, in which features are covariances.
func TestRegressJoint(t *testing.T) {
	const n = 12
	c, x := regressionRaters(t, n, 0.8, rand.New(rand.NewPCG(30, 6)))
	x[n-1] = nil
	g, err := c.Regress(x)
	if err != nil {
		t.Fatal(err)
	}
	for _, fit := range g.fits {
		omega := 0.0
		if f := 1 - fit.rest/(c.BiasSD*c.BiasSD); f > 1e-9 {
			size, votes := 0.0, 0.0
			for r := range n - 1 {
				votes += c.Votes[r]
				size += c.Votes[r] * dot(g.rows[r], g.rows[r])
			}
			omega = f * c.BiasSD * c.BiasSD * votes / size
		}
		m := n - 1
		cov := make([]float64, m*m)
		y := make([]float64, m)
		for a := range m {
			var v float64
			y[a], v = c.votesOn(a)
			for b := range m {
				cov[a*m+b] = omega * dot(g.rows[a], g.rows[b])
			}
			cov[a*m+a] += fit.rest + v
		}
		inv, _ := inverse(cov, m)
		// The mean for a rater without votes: K_* K⁻¹ y.
		features := []float64{1, -0.5}
		at, want := g.center(features), 0.0
		for a := range m {
			want += omega * dot(at, g.rows[a]) * dot(inv[a*m:(a+1)*m], y)
		}
		one := *g
		one.fits = []raterShare{fit}
		one.fits[0].weight = 1
		if got := one.Posterior(-1, features); math.Abs(got.Bias-want) > 1e-6 {
			t.Errorf("rest %.2f: bias %v, expected %v", fit.rest, got.Bias, want)
		}
		for a := range m {
			want, variance := 0.0, omega*dot(g.rows[a], g.rows[a])+fit.rest
			k := make([]float64, m)
			for b := range m {
				k[b] = omega * dot(g.rows[a], g.rows[b])
			}
			k[a] += fit.rest
			for b := range m {
				want += k[b] * dot(inv[b*m:(b+1)*m], y)
				variance -= k[b] * dot(inv[b*m:(b+1)*m], k)
			}
			got := one.Posterior(a, nil)
			if math.Abs(got.Bias-want) > 1e-6 || math.Abs(got.BiasSD*got.BiasSD-variance) > 1e-6 {
				t.Errorf("rest %.2f, rater %d: %v ± %v, expected %v ± %v", fit.rest, a, got.Bias, got.BiasSD, want, math.Sqrt(variance))
			}
		}
	}
	if got := g.Posterior(n-1, nil); got != c.Posterior(n-1) {
		t.Errorf("without features %v, expected %v", got, c.Posterior(n-1))
	}
}

// Features that matter predict raters without votes; features that do not hardly change what votes say.
func TestRegress(t *testing.T) {
	c, x := regressionRaters(t, 200, 1, rand.New(rand.NewPCG(30, 7)))
	g, err := c.Regress(x)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []float64{-1, 1} {
		if got := g.Posterior(-1, []float64{side, 0}); math.Abs(got.Bias-side) > 0.2 || math.Abs(got.BiasSD-0.5) > 0.15 {
			t.Errorf("features %v: bias %.2f ± %.2f, expected %v ± 0.5", side, got.Bias, got.BiasSD, side)
		}
	}
	c, x = regressionRaters(t, 200, 0, rand.New(rand.NewPCG(30, 8)))
	if g, err = c.Regress(x); err != nil {
		t.Fatal(err)
	}
	for r := range 5 {
		if got, want := g.Posterior(r, nil), c.Posterior(r); math.Abs(got.Bias-want.Bias) > 0.1 {
			t.Errorf("rater %d: bias %.2f, without features %.2f", r, got.Bias, want.Bias)
		}
	}
	if _, err := c.Regress(x[:3]); err == nil {
		t.Error("no error for features of few raters")
	}
	if _, err := c.Regress(make([][]float64, 200)); err == nil {
		t.Error("no error for raters without features")
	}
	if _, err := drawRaterModel(t, 3, 4, rand.New(rand.NewPCG(1, 1))).Regress(make([][]float64, 4)); err == nil {
		t.Error("no error for classes without order")
	}
}
