package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/internal/logistic"
	"credence/internal/par"
	"credence/internal/rng"
)

// Shapes: n items, f features, d classes.

// checkFeatures returns an error unless x is a matrix [n × f] of finite numbers. Features are
// standardized: every column has about mean 0 and variance 1 on the training items.
func checkFeatures(x *logistic.Dense, items int) error {
	if x.Columns < 1 || len(x.Values) != items*x.Columns {
		return fmt.Errorf("expected features of %d items in %d columns, found %d values", items, x.Columns, len(x.Values))
	}
	for k, v := range x.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("feature %d of item %d: expected a finite number, found %v", k%x.Columns, k/x.Columns, v)
		}
	}
	return nil
}

// logisticModel is multinomial logistic regression, the reference that a network
// with features has to beat. Its probabilities are
//
//	p_c(x) ∝ exp(b_c + Σ_k W_ck x_k).
//
// It scores votes as independent or, with the concentration c, as drawn from
// Dirichlet(c·p) item by item.
type logisticModel struct {
	Classes int       `json:"classes"`
	Columns int       `json:"columns"`
	Weights []float32 `json:"weights"` // [Classes × Columns]
	Bias    []float64 `json:"bias"`
	// Penalty is λ of ½λ‖W‖², relative to the number of votes.
	Penalty float64 `json:"penalty"`
	// Concentration is c; 0 if no item had two votes, in which case it cannot be
	// determined and both losses are the same.
	Concentration float64 `json:"concentration"`
}

// probabilities returns the class probabilities of a row.
func (l *logisticModel) probabilities(row []float64) []float64 {
	p := make([]float64, l.Classes)
	for c := range p {
		w := l.Weights[c*l.Columns : (c+1)*l.Columns]
		p[c] = l.Bias[c]
		for k, x := range row {
			p[c] += float64(w[k]) * x
		}
	}
	logistic.Softmax(p, p)
	return p
}

// losses returns, for every item, the loss of independent votes and that of
// votes drawn from a Dirichlet distribution,
//
//	−Σ_i S_i ln p_i(x_j)   and   −ln B(cp(x_j) + S)/B(cp(x_j)).
func (l *logisticModel) losses(x *logistic.Dense, votes Votes) (independent, dirichlet []float64, err error) {
	if err := checkFeatures(x, votes.Len()); err != nil {
		return nil, nil, err
	}
	if len(l.Weights) != l.Classes*l.Columns || len(l.Bias) != l.Classes {
		return nil, nil, fmt.Errorf("logistic regression of %d classes and %d columns: found %d weights and %d biases",
			l.Classes, l.Columns, len(l.Weights), len(l.Bias))
	}
	if x.Columns != l.Columns || votes.Classes != l.Classes {
		return nil, nil, fmt.Errorf("logistic regression: expected %d features and %d classes, found %d and %d",
			l.Columns, l.Classes, x.Columns, votes.Classes)
	}
	independent, dirichlet = make([]float64, votes.Len()), make([]float64, votes.Len())
	forItems(context.Background(), votes.Len(), func(j int) {
		p, s := l.probabilities(x.Row(j)), votes.Item(j)
		independent[j], dirichlet[j] = independentLoss(p, s), concentratedLoss(l.Concentration, p, s)
	})
	return independent, dirichlet, nil
}

// concentratedLoss returns the loss of votes s under Dirichlet(c·p), or of
// independent votes under p if c is 0.
func concentratedLoss(c float64, p, s []float64) float64 {
	if c == 0 {
		return independentLoss(p, s)
	}
	return dirichletLoss(c, c, p, s)
}

// fitLogistic fits a logistic regression to votes; every vote has the same weight.
//
// The penalty is chosen, from strong to weak, by the loss on items held out:
// five folds of at most about 5,000 items, or a single fold if there are many features
// and classes. Items of a group stay in one fold (nil: no groups). The concentration is
// fitted by likelihood to the predictions of the chosen penalty on the items held out,
// since it would be too high on the items of the fit itself. The weights are then
// refitted to all items. When ctx is canceled it returns the context's error.
func (d *referenceData) fitLogistic(ctx context.Context, seed uint64) (*logisticModel, error) {
	x, votes := d.x, d.votes
	if err := checkFeatures(x, votes.Len()); err != nil {
		return nil, err
	}
	of, units, err := unitsOf(votes.Len(), d.groups)
	if err != nil {
		return nil, err
	}
	var voted []int
	for j := range votes.Len() {
		if votes.Total(j) > 0 {
			voted = append(voted, j)
		}
	}
	if len(voted) == 0 {
		return nil, errors.New("no votes to fit a logistic regression to")
	}
	share, r := float64(selectionItems)/float64(len(voted)), rng.New(seed, "evaluate.FitLogistic.part")
	rows := slices.DeleteFunc(voted, func(int) bool { return r.Float64() >= share })
	folds := min(selectionFolds, units)
	if float64(len(rows))*float64(x.Columns)*float64(votes.Classes) > selectionWork {
		folds = 1
	}
	order := rand.New(rng.New(seed, "evaluate.FitLogistic.folds")).Perm(units)
	fold := make([]int, len(rows))
	for i, j := range rows {
		fold[i] = order[of[j]] % selectionFolds
	}
	penalty, concentration := d.selected(rows).choosePenalty(ctx, fold, folds)
	p, total := logisticProblem(x, votes, func(int) bool { return true })
	p.Penalty, p.Tolerance = penalty*total, fitTolerance
	at := p.Start()
	p.Solve(ctx, at)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	weights := votes.Classes * x.Columns
	l := &logisticModel{Classes: votes.Classes, Columns: x.Columns, Bias: at.Theta[weights:],
		Penalty: penalty, Concentration: concentration}
	for _, w := range at.Theta[:weights] {
		l.Weights = append(l.Weights, float32(w))
	}
	return l, nil
}

const (
	selectionItems = 5000 // approximate number of items for choosing the penalty
	selectionFolds = 5
	selectionWork  = 5e6 // items × features × classes above which a single fold is used
	penaltySteps   = 13  // half-decades, downwards from a penalty of 1 per vote
	patience       = 3   // number of penalties in a row that may fail to improve
)

// Fits stop when the gradient has decreased to pathTolerance of that at the start while the
// penalty is chosen, and to fitTolerance in the final fit.
const (
	pathTolerance = 1e-2
	fitTolerance  = 1e-4
)

// logisticProblem is the minimum over (W, b) of
//
//	Σ_{j ∈ rows} −Σ_i S_ji ln p_i(x_j) + ½ λ ‖W‖²
//
// where the caller sets λ. It also returns the number of votes on the rows.
func logisticProblem(x *logistic.Dense, votes Votes, in func(row int) bool) (p *logistic.Problem, total float64) {
	d := votes.Classes
	p = &logistic.Problem{X: x, Classes: d, Outputs: d,
		Labels: make([]float64, len(votes.Counts)), Weights: make([]float64, votes.Len())}
	for j := range p.Weights {
		if m := votes.Total(j); m > 0 && in(j) {
			p.Weights[j] = m
			total += m
			for i, s := range votes.Item(j) {
				p.Labels[j*d+i] = s / m
			}
		}
	}
	return p, total
}

// choosePenalty returns the penalty per vote with the smallest loss on the first folds, held out in turn,
// and the concentration that suits the predictions on them. foldOf is the fold of each row.
func (d *referenceData) choosePenalty(ctx context.Context, foldOf []int, folds int) (penalty, concentration float64) {
	c := d.votes.Classes
	fits, total, at := make([]*logistic.Problem, folds), make([]float64, folds), make([]*logistic.Solution, folds)
	for k := range fits {
		fits[k], total[k] = logisticProblem(d.x, d.votes, func(j int) bool { return foldOf[j] != k })
		fits[k].X = &logistic.Dense{Columns: d.x.Columns, Values: d.x.Values} // with memory of its own
		fits[k].Tolerance, at[k] = pathTolerance, fits[k].Start()
	}
	atOnce := par.Limit(1) // folds: all if they are too small to be split
	if len(d.x.Values)*c < 1<<17 {
		atOnce = 0
	}
	best, since := math.Inf(1), 0
	penalty = 1
	p := make([]float64, c)
	for step := range penaltySteps {
		lambda := math.Pow(10, -float64(step)/2)
		loss := 0.0
		var held, counts []float64
		atOnce.For(folds, func(k int) {
			if total[k] > 0 && ctx.Err() == nil {
				fits[k].Penalty = lambda * total[k]
				fits[k].Solve(ctx, at[k])
			}
		})
		for k := range fits {
			if total[k] == 0 || ctx.Err() != nil {
				continue
			}
			for j, fold := range foldOf {
				if fold != k {
					continue
				}
				logistic.Softmax(p, at[k].Z[j*c:(j+1)*c])
				loss += independentLoss(p, d.votes.Item(j))
				held = append(held, p...)
				counts = append(counts, d.votes.Item(j)...)
			}
		}
		if loss < best {
			best, penalty, since = loss, lambda, 0
			concentration = fitConcentration(held, Votes{c, counts})
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

// goldenMinimum returns the minimizer of f between lo and hi, to about 1e-6.
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
