package head

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/mixture"
)

// The mean bias over votes is 0 in each group, also where the groups of items differ, and standard errors
// are of differences within a group: those of two groups are what each has by itself.
func TestRaterGroups(t *testing.T) {
	const each = 400
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{1.5, 1.5}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 26))
	bias := []float64{-1, 1, 0, 2} // of two groups of two: the second group as a whole is biased towards the second class
	task := Task{Classes: 2, Raters: 4, RaterVotes: []float64{each, each, each, each}, RaterGroups: []int{0, 0, 1, 1}}
	var dists []*mixture.Dirichlet
	b := Batch{Counts: Counts{Classes: 2}}
	for j := range 2 * each {
		dists = append(dists, dist)
		p := dist.Sample(nil, r)
		counts := [2]float32{}
		for k := range 2 {
			rater, class := j/each*2+k, 0
			if r.Float64() < 1/(1+p[0]/p[1]*math.Exp(-bias[rater])) {
				class = 1
			}
			counts[class]++
			b.Ratings = append(b.Ratings, Rating{int32(j), int32(rater), int32(class)})
		}
		b.Counts.Values = append(b.Counts.Values, counts[:]...)
	}
	both, err := FitRaterModel(task, dists, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := both.AddVotes(task, dists, b, 1); err != nil {
		t.Fatal(err)
	}
	for g := range 2 {
		if sum := both.Bias[2*g] + both.Bias[2*g+1]; math.Abs(sum) > 1e-5 {
			t.Errorf("group %d: biases %v, expected a mean of 0", g, both.Bias[2*g:][:2])
		}
		if d := both.Bias[2*g+1] - both.Bias[2*g]; math.Abs(d-2) > 5*2*both.BiasSE[2*g] { // a false alarm in 1e6
			t.Errorf("group %d: biases differ by %.2f ± %.2f, expected 2", g, d, 2*both.BiasSE[2*g])
		}
	}
	// One group by itself, with the same prior.
	one := Task{Classes: 2, Raters: 2, RaterVotes: []float64{each, each}}
	alone := newRaterModel(one)
	copy(alone.Bias, both.Bias[:2])
	copy(alone.GuessLogit, both.GuessLogit[:2])
	alone.BiasSD = both.BiasSD
	first := Batch{Counts: Counts{Classes: 2, Values: b.Counts.Values[:2*each]}, Ratings: b.Ratings[:2*each]}
	if err := alone.AddVotes(one, dists[:each], first, 1); err != nil {
		t.Fatal(err)
	}
	if d := alone.BiasSE[0]/both.BiasSE[0] - 1; math.Abs(d) > 1e-5 {
		t.Errorf("standard error %v in two groups, %v by itself", both.BiasSE[0], alone.BiasSE[0])
	}
	for _, groups := range [][]int{{0, 0, 1}, {0, 0, -1, 1}} {
		task.RaterGroups = groups
		if _, err := FitRaterModel(task, dists, b); err == nil {
			t.Errorf("groups %v of 4 raters: no error", groups)
		}
	}
}

// A vote without a name is that of a rater whose bias is drawn from the prior N(0, τ²): the loss is that of
// an integral over p and b, to the 2e-4 that five nodes of b leave with τ = 1.5.
func TestUnnamedVotes(t *testing.T) {
	const tau, guess = 1.5, 0.1
	h := ratedHead(t, 1, 2, 2, rand.New(rand.NewPCG(1, 27)))
	h.mark[1] = tau * tau
	for r := range h.guess {
		h.guess[r] = float32(math.Log(guess / (1 - guess)))
	}
	out := []float32{0, float32(math.Log(1.2)), float32(math.Log(0.8))}
	alpha, beta := 0.8, 1.2 // of the second class
	for _, counts := range [][]float32{{0, 1}, {1, 0}, {2, 1}} {
		b := Batch{Counts: Counts{Classes: 2, Values: counts}}
		got := h.Loss(nil, out, b, Step{}).Mean
		like, mass := 0.0, 0.0
		for z := -40.0; z <= 40; z += 0.02 {
			p := 1 / (1 + math.Exp(-z))
			u := math.Exp(alpha*math.Log(p) + beta*math.Log1p(-p))
			if p == 1 {
				continue
			}
			one, whole := 0.0, 0.0
			for x := -6.0; x <= 6; x += 0.05 {
				w := math.Exp(-x * x / 2)
				one += w * ((1-guess)/(1+math.Exp(-z-tau*x)) + guess/2)
				whole += w
			}
			one /= whole
			mass += u
			like += u * math.Pow(1-one, float64(counts[0])) * math.Pow(one, float64(counts[1]))
		}
		if want := -math.Log(like / mass); math.Abs(got-want) > 2e-4 {
			t.Errorf("votes %v: loss %.6f, expected %.6f", counts, got, want)
		}
	}
}
