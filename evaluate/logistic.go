package evaluate

import (
	"context"
	"fmt"
	"math"

	"credence/internal/kernel"
	"credence/internal/par"
	"credence/internal/special"
)

// Shapes: n items, f features, d classes.

// features is a matrix [n × f] in row-major order, one row per item,
// standardized: every column about mean 0 and variance 1 on the training part.
type features struct {
	columns int
	values  []float32
}

// row returns row j, a slice of values.
func (x features) row(j int) []float32 { return x.values[j*x.columns : (j+1)*x.columns] }

func (x features) check(items int) error {
	if x.columns < 1 || len(x.values) != items*x.columns {
		return fmt.Errorf("%d feature values in %d columns for %d items", len(x.values), x.columns, items)
	}
	for k, v := range x.values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("feature %d of item %d is %v: features are finite", k%x.columns, k/x.columns, v)
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
	// Concentration is c; 0 if no item had two votes, in which case there is no
	// telling and both losses are the same.
	Concentration float64 `json:"concentration"`
}

// probabilities appends the class probabilities of a row to dst.
func (l *logisticModel) probabilities(dst []float64, row []float32) []float64 {
	from := len(dst)
	for c := range l.Classes {
		w := l.Weights[c*l.Columns : (c+1)*l.Columns]
		z := l.Bias[c]
		for k, x := range row {
			z += float64(w[k]) * float64(x)
		}
		dst = append(dst, z)
	}
	softmax(dst[from:])
	return dst
}

// losses returns, for every item, the loss of independent votes and that of
// votes drawn from a Dirichlet distribution,
//
//	−Σ_i S_i ln p_i(x_j)   and   −ln B(cp(x_j) + S)/B(cp(x_j)).
func (l *logisticModel) losses(x features, votes Votes) (independent, dirichlet []float64, err error) {
	if err := votes.check(); err != nil {
		return nil, nil, err
	}
	if err := x.check(votes.Len()); err != nil {
		return nil, nil, err
	}
	if len(l.Weights) != l.Classes*l.Columns || len(l.Bias) != l.Classes {
		return nil, nil, fmt.Errorf("a logistic regression of %d classes and %d columns with %d weights and %d biases",
			l.Classes, l.Columns, len(l.Weights), len(l.Bias))
	}
	if x.columns != l.Columns || votes.Classes != l.Classes {
		return nil, nil, fmt.Errorf("%d features and %d classes for a logistic regression of %d and %d",
			x.columns, votes.Classes, l.Columns, l.Classes)
	}
	independent, dirichlet = make([]float64, votes.Len()), make([]float64, votes.Len())
	forItems(context.Background(), votes.Len(), func(j int) {
		p, s := l.probabilities(nil, x.row(j)), votes.Item(j)
		independent[j], dirichlet[j] = independentLoss(p, s), concentratedLoss(l.Concentration, p, s)
	})
	return independent, dirichlet, nil
}

// concentratedLoss is the loss of votes s under Dirichlet(c·p), or of
// independent votes under p if c is 0.
func concentratedLoss(c float64, p, s []float64) float64 {
	if c == 0 {
		return independentLoss(p, s)
	}
	l := special.LogRising(c, sum(s))
	for i, n := range s {
		if n > 0 {
			l -= special.LogRising(max(c*p[i], 1e-300), n)
		}
	}
	return l
}

// softmax replaces z by exp(z)/Σ exp(z). No probability is smaller than 1e-300.
func softmax(z []float64) {
	top := z[argmax(z)]
	total := 0.0
	for i := range z {
		z[i] = math.Exp(z[i] - top)
		total += z[i]
	}
	for i := range z {
		z[i] = max(z[i]/total, 1e-300)
	}
}

// logisticPieces is into how many pieces the items of a fit are split; the
// gradients of the pieces are added in order.
const logisticPieces = 16

// A fit is taken to a relative loss of pathTolerance while the penalty is
// chosen, and of fitTolerance at the end.
const (
	pathTolerance = 1e-5
	fitTolerance  = 1e-7
)

// fitLogistic minimizes, from the start theta = (W, b) of length d·f + d,
//
//	Σ_{j ∈ rows} −Σ_i S_ji ln p_i(x_j) + ½ λ ‖W‖²,
//
// whose gradient with respect to the logits of item j is m_j p − S_j. When ctx is canceled it ends where it is.
func fitLogistic(ctx context.Context, theta []float64, x features, votes Votes, rows []int, lambda, tolerance float64) {
	d, f := votes.Classes, x.columns
	grads := make([][]float64, logisticPieces)
	losses := make([]float64, logisticPieces)
	for p := range grads {
		grads[p] = make([]float64, len(theta))
	}
	minimize(func(theta, grad []float64) float64 {
		if ctx.Err() != nil {
			return math.NaN() // no step is better
		}
		par.For(logisticPieces, func(piece int) {
			from, to := piece*len(rows)/logisticPieces, (piece+1)*len(rows)/logisticPieces
			losses[piece] = logisticGradient(grads[piece], theta, x, votes, rows[from:to])
		})
		clear(grad)
		loss := 0.0
		for p, g := range grads {
			axpy(1, g, grad)
			loss += losses[p]
		}
		w := theta[:d*f]
		axpy(lambda, w, grad)
		return loss + lambda/2*dot(w, w)
	}, theta, tolerance, 300)
}

// logisticGradient sets grad to the gradient over the rows, less the penalty,
// and returns the loss. A few items at a time add to a stretch of the gradient
// while it and they are in the first-level cache; each of its elements still
// sees one item after the other.
func logisticGradient(grad, theta []float64, x features, votes Votes, rows []int) float64 {
	const few, stretch = 4, 512
	d, f := votes.Classes, x.columns
	clear(grad)
	loss := 0.0
	p := make([]float64, d)
	values := make([]float64, few*f) // [few, f]
	slopes := make([]float64, d*few) // [d, few]
	n := 0                           // items in values
	add := func() {
		for c := range d {
			for _, r := range slopes[c*few : c*few+n] {
				grad[d*f+c] += r
			}
		}
		for k := 0; k < f; k += stretch {
			end := min(k+stretch, f)
			for c := range d {
				kernel.AddRows64(grad[c*f+k:c*f+end], slopes[c*few:c*few+n], values[k:], f)
			}
		}
		n = 0
	}
	for _, j := range rows {
		s := votes.Item(j)
		m := sum(s)
		if m == 0 {
			continue
		}
		row := values[n*f : (n+1)*f]
		for k, v := range x.row(j) {
			row[k] = float64(v)
		}
		kernel.Dots64(p, theta, row)
		for c := range p {
			p[c] += theta[d*f+c]
		}
		softmax(p)
		loss += independentLoss(p, s)
		for c := range p {
			slopes[c*few+n] = m*p[c] - s[c]
		}
		if n++; n == few {
			add()
		}
	}
	add()
	return loss
}

// predictLogistic sets p to the probabilities of a row, theta = (W, b).
func predictLogistic(p, theta []float64, row []float32) {
	d, f := len(p), len(row)
	for c := range p {
		w := theta[c*f : (c+1)*f]
		z := theta[d*f+c]
		for k, v := range row {
			z += w[k] * float64(v)
		}
		p[c] = z
	}
	softmax(p)
}
