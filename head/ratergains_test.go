package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/internal/special"
	"credence/mixture"
)

// screened are items with votes by raters, three or so on each, and the distributions that the votes were drawn from.
type screened struct {
	task  Task
	dists []*mixture.Dirichlet
	batch Batch
	fold  []int
}

// drawScreened draws items with votes by raters with the given biases, on the logits of two or ordered classes, and guess rates.
func drawScreened(t *testing.T, classes, items int, ordered bool, bias, guess []float64, seed uint64) *screened {
	r := rand.New(rand.NewPCG(seed, 5))
	s := &screened{task: Task{Classes: classes, Raters: len(bias), Ordered: ordered}}
	s.batch.Counts.Classes = classes
	s.task.RaterVotes, s.task.ClassVotes = make([]float64, len(bias)), make([]float64, classes)
	for j := range items {
		alpha := make([][]float64, 2)
		for k := range alpha {
			for range classes {
				alpha[k] = append(alpha[k], math.Exp(0.7*r.NormFloat64()))
			}
		}
		dist, err := mixture.NewDirichlet([]float64{0.3, 0.7}, alpha)
		if err != nil {
			t.Fatal(err)
		}
		p := dist.Sample(nil, r)
		counts := make([]float32, classes)
		for _, rater := range r.Perm(len(bias))[:3] {
			u, v := r.Float64(), 0
			for below := p[0]; v < classes-1; below += p[v] {
				// P(v ≤ k) = σ(logit P_k − b)
				if u < special.Sigmoid(math.Log(below/(1-below))-bias[rater]) {
					break
				}
				v++
			}
			if r.Float64() < guess[rater] {
				v = r.IntN(classes)
			}
			counts[v]++
			s.task.RaterVotes[rater]++
			s.task.ClassVotes[v]++
			s.batch.Ratings = append(s.batch.Ratings, Rating{Item: int32(j), Rater: int32(rater), Class: int32(v)})
		}
		s.batch.Counts.Values = append(s.batch.Counts.Values, counts...)
		s.dists, s.fold = append(s.dists, dist), append(s.fold, j%2)
	}
	return s
}

// exact returns what RaterGains approximates.
func (s *screened) exact(t *testing.T) []float64 {
	gains := make([]float64, len(s.dists))
	for k := range 2 {
		rest := Batch{Counts: Counts{Classes: s.task.Classes}}
		var dists []*mixture.Dirichlet
		votes := map[int][]Rating{}
		for j, dist := range s.dists {
			if s.fold[j] != k {
				dists, rest.Counts.Values = append(dists, dist), append(rest.Counts.Values, s.batch.Counts.Item(j)...)
			}
		}
		for _, v := range s.batch.Ratings {
			if s.fold[v.Item] == k {
				votes[int(v.Item)] = append(votes[int(v.Item)], v)
			} else {
				rest.Ratings = append(rest.Ratings, Rating{v.Item / 2, v.Rater, v.Class})
			}
		}
		c, err := FitRaterModel(s.task, dists, rest)
		if err != nil {
			t.Fatal(err)
		}
		for j, list := range votes {
			with, err := c.LogVotes(s.dists[j], list)
			if err != nil {
				t.Fatal(err)
			}
			counts := make([]float64, s.task.Classes)
			for i, n := range s.batch.Counts.Item(j) {
				counts[i] = float64(n)
			}
			alike, err := s.dists[j].LogVotes(counts)
			if err != nil {
				t.Fatal(err)
			}
			gains[j] = with - alike
		}
	}
	return gains
}

// perVote returns the mean of gains per vote, and its standard error over items with three votes each.
func perVote(gains []float64) (gain, se float64) {
	n := float64(len(gains))
	gain = special.Sum(gains) / n
	for _, x := range gains {
		se += (x - gain) * (x - gain)
	}
	return gain / 3, math.Sqrt(se/(n-1)/n) / 3
}

// TestRaterGains: the approximate gains lead to the same decisions as the likelihood, and near the limit of two standard errors to
// nearly the same number of them.
func TestRaterGains(t *testing.T) {
	zero := func(n int) []float64 { return make([]float64, n) }
	spread := func(n int, by float64) []float64 {
		list := zero(n)
		for k := range list {
			list[k] = by * (2*float64(k)/float64(n-1) - 1)
		}
		return list
	}
	guessers := func(n int, g float64) []float64 {
		list := zero(n)
		list[0], list[1] = g, g
		return list
	}
	for _, c := range []struct {
		name           string
		classes, items int
		ordered        bool
		bias, guess    []float64
	}{
		{"alike", 2, 600, false, zero(10), zero(10)},
		{"weak", 2, 600, false, spread(10, 0.5), zero(10)},
		{"biased", 2, 600, false, spread(10, 1.5), zero(10)},
		{"guessers", 2, 600, false, zero(10), guessers(10, 0.9)},
		{"more raters than are solved together", 2, 2000, false, spread(120, 1), zero(120)},
		{"three classes alike", 3, 600, false, zero(10), zero(10)},
		{"three classes, guessers", 3, 600, false, zero(10), guessers(10, 0.8)},
		{"ordered alike", 4, 150, true, zero(6), zero(6)},
		{"ordered, weak", 4, 150, true, spread(6, 0.4), zero(6)},
		{"ordered, biased", 4, 150, true, spread(6, 1.2), zero(6)},
	} {
		s := drawScreened(t, c.classes, c.items, c.ordered, c.bias, c.guess, 3)
		gains, err := RaterGains(s.task, s.dists, s.batch, s.fold)
		if err != nil {
			t.Fatal(err)
		}
		gain, se := perVote(gains)
		want, wantSE := perVote(s.exact(t))
		z, exact := gain/se, want/wantSE
		t.Logf("%s: %.5f ± %.5f, by the likelihood %.5f ± %.5f", c.name, gain, se, want, wantSE)
		if (z > 2) != (exact > 2) || math.Abs(z-exact) > 0.5*max(1, math.Abs(exact)) {
			t.Errorf("%s: %.2f standard errors, by the likelihood %.2f", c.name, z, exact)
		}
		one := s.task
		one.Threads = 1
		if again, err := RaterGains(one, s.dists, s.batch, s.fold); err != nil || !slices.Equal(again, gains) {
			t.Errorf("%s: another result on one core, %v", c.name, err)
		}
	}
	if gains, err := RaterGains(Task{Classes: 2, Raters: 2}, nil, Batch{Counts: Counts{Classes: 2}}, nil); err != nil || len(gains) > 0 {
		t.Errorf("no items: %v, %v", gains, err)
	}
}

// TestAlikeScores: the scores in closed form are those of the likelihood with raters who hardly guess and have no bias: for two
// and for unordered classes to the digits of float32 outputs, for ordered ones as close as its sum over nodes is.
func TestAlikeScores(t *testing.T) {
	for _, c := range []struct {
		classes   int
		ordered   bool
		tolerance float64
	}{{2, false, 2e-5}, {4, false, 2e-5}, {4, true, 0.1}} {
		s := drawScreened(t, c.classes, 50, c.ordered, make([]float64, 5), make([]float64, 5), 4)
		h, own, out, err := raterWork(s.task, s.dists)
		if err != nil {
			t.Fatal(err)
		}
		for r := range own[0] {
			own[0][r] = guessStart
		}
		h.compute(make([]float32, len(out)), out, s.batch)
		g := special.Sigmoid(guessStart)
		for i, x := range alikeScores(s.task, s.dists, s.batch) {
			guessed := g * h.guessed(s.batch.Ratings[i], x)
			if !c.ordered && c.classes > 2 {
				x.bias = 0 // has no meaning there
			}
			for k, pair := range [][2]float64{{x.bias, h.scores[i].bias}, {x.scale, h.scores[i].scale}, {guessed / g, h.scores[i].guessed / g}} {
				if !(math.Abs(pair[0]-pair[1]) <= c.tolerance*max(1, math.Abs(pair[1]))) {
					t.Errorf("%s: vote %d: score %d: %v, want %v", fmt.Sprint(c.classes, " classes, ordered ", c.ordered), i, k, pair[0], pair[1])
				}
			}
		}
	}
}
