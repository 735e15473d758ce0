package head

import (
	"math"

	"credence/internal/par"
	"credence/internal/special"
	"credence/mixture"
)

// A fit of raters' parameters evaluates the likelihood with raters at every step. Whether there is anything to fit shows without
// that: near raters who are all alike, the likelihood of an item's votes is that of its posterior, which is again a mixture of
// Dirichlet distributions, and the scores of single votes are in closed form. In one component, with n the counts of the item's
// votes, a = α + n without the vote itself, A = Σa, and L the sum of a over the classes below that of the vote,
//
//	1/P(v | other votes)   = A/a_v,
//	∂ log P/∂b             = (2L + a_v − A)/(A+1),
//	∂ log P/∂ log s        = (T(L + a_v) − T(L)) A/a_v,    T(x) = x(A−x)/(A(A+1)) (ψ(x+1) − ψ(A−x+1)),
//
// for two classes and for ordered ones; over components they are averaged with the posterior weights. With s_j the sum of the
// scores of an item's votes times the parameters of their raters, and scores squared for the information, the log-likelihood changes by
//
//	s_j − s_j²/2 + Σ_v log(1 − g + g π_v/P(v | other votes)),
//
// exactly so for guesses by one rater on an item, and to second order for biases and scales.

// RaterGains returns, for each item, by how much its votes are more probable, as a difference of log-likelihoods, with raters'
// parameters that are fitted to the votes on items of other folds, than if raters are alike. It approximates what
// [FitRaterModel] and [RaterModel.LogVotes] find, in a small fraction of their time. The distributions of the items should not have been
// fitted to the same votes; b holds the votes, with ratings in the order of items, and fold the fold of each item, from 0.
func RaterGains(t Task, dists []*mixture.Dirichlet, b Batch, fold []int) ([]float64, error) {
	scores, folds := alikeScores(t, dists, b), 0
	for _, k := range fold {
		folds = max(folds, k+1)
	}
	gains := make([]float64, len(dists))
	for k := range folds {
		h, own, err := boundRaters(t, 1)
		if err != nil {
			return nil, err
		}
		var rest, held gainVotes
		for i, r := range b.Ratings {
			if fold[r.Item] == k {
				held.add(r, scores[i])
			} else {
				rest.add(r, scores[i])
			}
		}
		rest.fitGuesses(h, own)
		effects := rest.fitEffects(h)
		for _, votes := range held.items() {
			x := 0.0
			for i, r := range votes.ratings {
				x += effects.of(h, r.Rater, votes.scores[i])
				g := special.Sigmoid(float64(h.guess[r.Rater]))
				gains[r.Item] += math.Log1p(g * (h.guessed(r, votes.scores[i]) - 1))
			}
			gains[votes.ratings[0].Item] += x - x*x/2
		}
	}
	return gains, nil
}

// gainVotes are votes with their scores if raters are alike; guessed is 1/P(v | other votes).
type gainVotes struct {
	ratings []Rating
	scores  []score
}

func (v *gainVotes) add(r Rating, s score) {
	v.ratings, v.scores = append(v.ratings, r), append(v.scores, s)
}

// items returns the votes on each item.
func (v *gainVotes) items() (list []gainVotes) {
	for lo, hi := 0, 0; lo < len(v.ratings); lo = hi {
		for hi < len(v.ratings) && v.ratings[hi].Item == v.ratings[lo].Item {
			hi++
		}
		list = append(list, gainVotes{v.ratings[lo:hi], v.scores[lo:hi]})
	}
	return list
}

// guessed returns π_v/P(v | other votes).
func (h *raterHead) guessed(r Rating, s score) float64 {
	if h.classes == 2 {
		return s.guessed / 2
	}
	return s.guessed * float64(h.taste[int(r.Rater)*h.classes+int(r.Class)])
}

// fitGuesses fits guess rates, and the distributions of guesses.
func (v *gainVotes) fitGuesses(h *raterHead, own [][]float32) {
	h.batch, h.scores = Batch{Ratings: v.ratings}, make([]score, len(v.ratings))
	fitSteps(h, own, func() {
		h.recall(v.ratings)
		for i, r := range v.ratings {
			g := h.known[r.Rater].guess
			ratio := g * h.guessed(r, v.scores[i])
			guessed := ratio / (1 - g + ratio)
			h.scores[i] = score{guess: guessed - g, guessed: guessed}
		}
	})
}

// raterEffects are biases [R] followed, for ordered classes, by log scales [R]; empty if classes have no biases.
type raterEffects []float64

// of returns the contribution of a vote to s_j.
func (e raterEffects) of(h *raterHead, rater int32, s score) float64 {
	switch {
	case h.bias == nil:
		return 0
	case h.scaled:
		return e[rater]*s.bias + e[h.raters+int(rater)]*s.scale
	}
	return e[rater] * s.bias
}

// fitEffects maximizes Σ_j (s_j − s_j²/2) and the priors of biases and log scales, one parameter after the other. With many
// raters, the products of the scores of different raters are left out.
func (v *gainVotes) fitEffects(h *raterHead) raterEffects {
	switch {
	case h.bias == nil:
		return nil
	case h.scaled:
		return newGainSums(h, 2*h.raters, v).solve(h)
	}
	return newGainSums(h, h.raters, v).solve(h)
}

// gainSums are the sums of scores [P] over votes, and of products of scores on the same item: [P, P], or [P] of squares alone.
type gainSums struct {
	score, product []float64
	joint          bool
}

func newGainSums(h *raterHead, p int, v *gainVotes) *gainSums {
	s := &gainSums{score: make([]float64, p), product: make([]float64, p), joint: h.raters <= jointRaters}
	if s.joint {
		s.product = make([]float64, p*p)
	}
	type part struct {
		at    int
		value float64
	}
	var parts []part
	for _, votes := range v.items() {
		parts = parts[:0]
		for i, r := range votes.ratings {
			parts = append(parts, part{int(r.Rater), votes.scores[i].bias})
			if h.scaled {
				parts = append(parts, part{h.raters + int(r.Rater), votes.scores[i].scale})
			}
		}
		for _, x := range parts {
			s.score[x.at] += x.value
			if !s.joint {
				s.product[x.at] += x.value * x.value
				continue
			}
			for _, y := range parts {
				s.product[x.at*p+y.at] += x.value * y.value
			}
		}
	}
	return s
}

// slope returns the score of parameter i at x, without the prior, and its information.
func (s *gainSums) slope(i int, x []float64) (slope, information float64) {
	if !s.joint {
		return s.score[i] - s.product[i]*x[i], s.product[i]
	}
	row := s.product[i*len(x):][:len(x)]
	slope = s.score[i]
	for k, y := range x {
		slope -= row[k] * y
	}
	return slope, row[i]
}

// solve returns the parameters with the largest posterior, and estimates the scale of the prior of biases as [raterHead.update] does.
func (s *gainSums) solve(h *raterHead) raterEffects {
	x, tau2 := make([]float64, len(s.score)), 1.0
	for range maxFitSteps {
		most, second, seen := 0.0, 0.0, 0
		for i := range x {
			precision := 1 / tau2
			if i >= h.raters {
				precision = scalePrecision
			}
			slope, information := s.slope(i, x)
			step := (slope - precision*x[i]) / (information + precision)
			x[i] += step
			most = max(most, math.Abs(step))
			if i < h.raters && information > 0 {
				seen++
				second += x[i]*x[i] + 1/(information+precision)
			}
		}
		for from := 0; from < len(x); from += h.raters {
			center(h, x[from:][:h.raters])
		}
		if seen > 0 {
			tau2 = max(second/float64(seen), 1e-4)
		}
		if most < 0.001 {
			break
		}
	}
	return x
}

// alikeScores returns the scores of the ratings if raters are alike, with 1/P(v | other votes) as guessed.
func alikeScores(t Task, dists []*mixture.Dirichlet, b Batch) []score {
	list := make([]score, len(b.Ratings))
	first := make([]int, len(dists)+1)
	for _, r := range b.Ratings {
		first[r.Item+1]++
	}
	for j := range dists {
		first[j+1] += first[j]
	}
	const some = 64
	par.Limit(t.Threads).For((len(dists)+some-1)/some, func(p int) {
		var w alikeWork
		w.classes = make([]score, t.Classes)
		for j := p * some; j < min((p+1)*some, len(dists)); j++ {
			if first[j] == first[j+1] {
				continue
			}
			w.item(dists[j], b.Counts.Item(j), t.Ordered && t.Classes > 2)
			for i := first[j]; i < first[j+1]; i++ {
				list[i] = w.classes[b.Ratings[i].Class]
			}
		}
	})
	return list
}

// alikeWork computes the scores of votes on an item.
type alikeWork struct {
	weights []float64   // [K] of the posterior
	alpha   [][]float64 // [K] α + n
	classes []score     // [d] of a vote for each class that has votes
}

func (w *alikeWork) item(dist *mixture.Dirichlet, counts []float32, ordered bool) {
	w.weights, w.alpha = room(w.weights, dist.K()), room(w.alpha, dist.K())
	top, sum := math.Inf(-1), 0.0
	for c := range w.weights {
		weight, alpha := dist.Component(c)
		log, total, votes := math.Log(weight), 0.0, 0.0
		for i, a := range alpha {
			n := float64(counts[i])
			log += special.LogRising(a, n)
			total, votes = total+a, votes+n
			alpha[i] += n
		}
		w.weights[c], w.alpha[c] = log-special.LogRising(total, votes), alpha
		top = max(top, w.weights[c])
	}
	for c, log := range w.weights {
		w.weights[c] = math.Exp(log - top)
		sum += w.weights[c]
	}
	clear(w.classes)
	for v, n := range counts {
		if n == 0 {
			continue
		}
		for c, alpha := range w.alpha {
			w.classes[v].addVote(w.weights[c]/sum, alpha, v, ordered)
		}
	}
}

// addVote adds the scores of a vote in one component with the given weight and posterior parameters.
func (s *score) addVote(weight float64, alpha []float64, v int, ordered bool) {
	av, below, total := alpha[v]-1, special.Sum(alpha[:v]), special.Sum(alpha)-1
	s.guessed += weight * total / av
	s.bias += weight * (2*below + av - total) / (total + 1)
	if !ordered {
		return
	}
	slope := 0.0
	if v > 0 {
		slope -= scaleMoment(below, total-below)
	}
	if above := total - below - av; v < len(alpha)-1 {
		slope += scaleMoment(below+av, above)
	}
	s.scale += weight * total / av * slope
}

// scaleMoment returns E p(1−p) log(p/(1−p)) of the Beta distribution with parameters x and y.
func scaleMoment(x, y float64) float64 {
	between := 0.0 // ψ(x+1) − ψ(y+1)
	if x > y {
		between = special.DigammaDiff(y+1, x-y)
	} else if y > x {
		between = -special.DigammaDiff(x+1, y-x)
	}
	return x * y / ((x + y) * (x + y + 1)) * between
}
