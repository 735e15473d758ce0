package evaluate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"credence/internal/rng"
)

// newLogistic fits a logistic regression to votes, every vote counting once.
//
// The penalty is chosen, from strong to weak, by the loss on items held out:
// five folds of at most about 5,000 items, or one where features and classes are
// many. The folds respect groups (nil: every item is its own). With the predictions of the
// chosen penalty on the items held out, the concentration is fitted by
// likelihood: on the items of the fit itself it would come out too high. The
// weights are then fitted again to all items. When ctx is canceled it returns the context's error.
func newLogistic(ctx context.Context, x features, votes Votes, groups []int, seed uint64) (*logisticModel, error) {
	if err := votes.check(); err != nil {
		return nil, err
	}
	if err := x.check(votes.Len()); err != nil {
		return nil, err
	}
	of, units, err := unitsOf(votes.Len(), groups)
	if err != nil {
		return nil, err
	}
	var voted []int
	total := 0.0
	for j := range votes.Len() {
		if m := votes.Total(j); m > 0 {
			voted = append(voted, j)
			total += m
		}
	}
	if len(voted) == 0 {
		return nil, errors.New("no votes to fit a logistic regression to")
	}
	s := selection{x: x, votes: votes, rows: voted, fold: foldsOf(of, units, seed), folds: min(selectionFolds, units)}
	if share := float64(selectionItems) / float64(len(voted)); share < 1 {
		s.rows = nil
		r := rng.New(seed, "evaluate.FitLogistic.part")
		for _, j := range voted {
			if r.Float64() < share {
				s.rows = append(s.rows, j)
			}
		}
	}
	if float64(len(s.rows))*float64(x.columns)*float64(votes.Classes) > selectionWork {
		s.folds = 1
	}
	penalty, concentration := s.choose(ctx)
	theta := make([]float64, votes.Classes*(x.columns+1))
	fitLogistic(ctx, theta, x, votes, voted, penalty*total, fitTolerance)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &logisticModel{
		Classes: votes.Classes, Columns: x.columns, Penalty: penalty, Concentration: concentration,
		Bias: theta[votes.Classes*x.columns:],
	}
	for _, w := range theta[:votes.Classes*x.columns] {
		l.Weights = append(l.Weights, float32(w))
	}
	return l, nil
}

const (
	selectionItems = 5000 // how many items the penalty is chosen by, about
	selectionFolds = 5
	selectionWork  = 5e6 // items × features × classes beyond which one fold must do
	penaltySteps   = 13  // half-decades from a penalty of 1 a vote downwards
	patience       = 3   // how many penalties in a row may fail to improve
)

// foldsOf deals the units out into folds at random.
func foldsOf(of []int, units int, seed uint64) []int {
	order := rand.New(rng.New(seed, "evaluate.FitLogistic.folds")).Perm(units)
	fold := make([]int, len(of))
	for j, u := range of {
		fold[j] = order[u] % selectionFolds
	}
	return fold
}

// selection holds what the choice of the penalty is made by.
type selection struct {
	x     features
	votes Votes
	rows  []int
	fold  []int // of every item
	folds int   // how many of them are held out in turn
}

// choose returns the penalty per vote with the smallest held-out loss, and the
// concentration that suits its held-out predictions.
func (s *selection) choose(ctx context.Context) (penalty, concentration float64) {
	d := s.votes.Classes
	thetas := make([][]float64, s.folds)
	fit, out := make([][]int, s.folds), make([][]int, s.folds)
	weight := make([]float64, s.folds)
	for k := range thetas {
		thetas[k] = make([]float64, d*(s.x.columns+1))
		for _, j := range s.rows {
			if s.fold[j] == k {
				out[k] = append(out[k], j)
			} else {
				fit[k] = append(fit[k], j)
				weight[k] += s.votes.Total(j)
			}
		}
	}
	best, since := math.Inf(1), 0
	penalty = 1
	p := make([]float64, d)
	for step := range penaltySteps {
		lambda := math.Pow(10, -float64(step)/2)
		loss := 0.0
		var held, counts []float64
		for k := range thetas {
			if weight[k] == 0 || len(out[k]) == 0 || ctx.Err() != nil {
				continue
			}
			fitLogistic(ctx, thetas[k], s.x, s.votes, fit[k], lambda*weight[k], pathTolerance)
			for _, j := range out[k] {
				predictLogistic(p, thetas[k], s.x.row(j))
				loss += independentLoss(p, s.votes.Item(j))
				held = append(held, p...)
				counts = append(counts, s.votes.Item(j)...)
			}
		}
		if loss < best {
			best, penalty, since = loss, lambda, 0
			concentration = fitConcentration(held, Votes{d, counts})
		} else if since++; since == patience {
			break
		}
	}
	return penalty, concentration
}

// fitConcentration returns the c that maximizes the likelihood of votes drawn
// from Dirichlet(c·p_j), means being [N × d]; 0 if no item has two votes.
func fitConcentration(means []float64, votes Votes) float64 {
	d := votes.Classes
	pairs := false
	for j := range votes.Len() {
		pairs = pairs || votes.Total(j) >= 2
	}
	if !pairs {
		return 0
	}
	loss := func(logC float64) float64 {
		c, l := math.Exp(logC), 0.0
		for j := range votes.Len() {
			l += concentratedLoss(c, means[j*d:(j+1)*d], votes.Item(j))
		}
		return l
	}
	// A coarse grid, then golden-section search between the neighbors of the
	// best point.
	const lo, hi, grid = -7.0, 14.0, 42
	best, at := math.Inf(1), 0
	for i := range grid + 1 {
		if l := loss(lo + (hi-lo)*float64(i)/grid); l < best {
			best, at = l, i
		}
	}
	step := (hi - lo) / grid
	return math.Exp(goldenMinimum(loss, lo+step*float64(max(at-1, 0)), lo+step*float64(min(at+1, grid))))
}

// goldenMinimum returns where f is smallest between lo and hi, to about 1e-6.
func goldenMinimum(f func(float64) float64, lo, hi float64) float64 {
	const ratio = 0.6180339887498949
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := f(a), f(b)
	for hi-lo > 1e-6 {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = f(b)
		}
	}
	return lo + (hi-lo)/2
}
