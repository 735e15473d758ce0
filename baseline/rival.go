package baseline

import (
	"fmt"
	"math"

	"credence/head"
)

// method is a rival in float64. Votes [N, d] hold at least one label. What is
// not documented here is as in [Rival].
type method interface {
	outputs() int
	// loss returns the mean loss over the labels and, unless grad is nil, fills
	// grad [N, outputs()] with its derivative.
	loss(grad, out, votes []float64, at head.Step) float64
	criterion(out, votes []float64) float64
	estimate(outputs [][]float64) Estimate
	meaning() string
	start(bias, shares []float64)
	passes() int
	warmup() int
	state() []float64
	setState(state []float64) error
}

// plain is what a method embeds that needs no passes and no warm-up, and whose
// loss does not adapt; one that does overrides the method in question.
type plain struct{}

func (plain) passes() int      { return 0 }
func (plain) warmup() int      { return 0 }
func (plain) state() []float64 { return nil }

func (plain) setState(state []float64) error {
	if len(state) != 0 {
		return noState(state)
	}
	return nil
}

// noState is the error for a state that the loss cannot be in.
func noState(state []float64) error { return fmt.Errorf("the loss has no state like %v", state) }

// rival brings a method to the float32 of networks.
type rival struct {
	method
	classes          int
	out, grad, votes []float64 // scratch
}

// Outputs implements [Rival].
func (r *rival) Outputs() int { return r.outputs() }

// Meaning implements [Rival].
func (r *rival) Meaning() string { return r.meaning() }

// Passes implements [Rival].
func (r *rival) Passes() int { return r.passes() }

// Warmup implements [Rival].
func (r *rival) Warmup() int { return r.warmup() }

// State implements [Rival].
func (r *rival) State() []float64 { return r.state() }

// SetState implements [Rival].
func (r *rival) SetState(state []float64) error { return r.setState(state) }

// Loss implements [Rival].
func (r *rival) Loss(grad, out []float32, votes head.Counts, at head.Step) float64 {
	if grad != nil && len(grad) != len(out) {
		panic(fmt.Sprintf("rival: %d gradients for %d outputs", len(grad), len(out)))
	}
	if r.load(out, votes) == 0 {
		clear(grad)
		return 0
	}
	if grad == nil {
		return r.loss(nil, r.out, r.votes, at)
	}
	if cap(r.grad) < len(out) {
		r.grad = make([]float64, len(out))
	}
	g := r.grad[:len(out)]
	clear(g)
	loss := r.loss(g, r.out, r.votes, at)
	for i, x := range g {
		grad[i] = float32(x)
	}
	return loss
}

// Criterion implements [Rival].
func (r *rival) Criterion(out []float32, votes head.Counts) float64 {
	if r.load(out, votes) == 0 {
		return 0
	}
	return r.criterion(r.out, r.votes)
}

// load copies a batch to float64 and returns how many labels it has.
func (r *rival) load(out []float32, votes head.Counts) (labels float64) {
	if votes.Classes != r.classes || len(out) != votes.Items()*r.outputs() {
		panic(fmt.Sprintf("rival: %d outputs for %d items of %d classes, want %d outputs an item of %d classes",
			len(out), votes.Items(), votes.Classes, r.outputs(), r.classes))
	}
	r.out = append64(r.out[:0], out)
	r.votes = append64(r.votes[:0], votes.Values)
	return total(r.votes)
}

// Estimate implements [Rival].
func (r *rival) Estimate(outputs [][]float32) Estimate {
	wide := make([][]float64, len(outputs))
	for i, out := range outputs {
		wide[i] = append64(nil, out)
	}
	return r.estimate(wide)
}

// Start implements [Rival].
func (r *rival) Start(bias []float32, shares []float64) {
	b := make([]float64, len(bias))
	r.start(b, shares)
	for i, x := range b {
		bias[i] = float32(x)
	}
}

func append64(dst []float64, x []float32) []float64 {
	for _, v := range x {
		dst = append(dst, float64(v))
	}
	return dst
}

// total returns Σ x.
func total(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}

// sigmoid returns 1/(1 + exp(−x)) without overflow.
func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// softplus returns log(1 + exp(x)) without overflow; log σ(x) = −softplus(−x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logit is the inverse of sigmoid, held within ±5.
func logit(p float64) float64 { return min(max(math.Log(p/(1-p)), -5), 5) }

// logSoftmax fills dst with the logarithms of the softmax of x.
func logSoftmax(dst, x []float64) {
	top := x[0]
	for _, v := range x[1:] {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	log := math.Log(sum)
	for i, v := range x {
		dst[i] = v - top - log
	}
}

// mirrored makes the means and variances of d classes of those of the pairs of
// outputs: one pair stands for two classes; several means, each that of its
// class against all others, are scaled to sum to one. Means are held a
// millionth away from 0 and 1, so that no label is called impossible.
func mirrored(mean, variance []float64) (means, variances []float64) {
	const least = 1e-6
	means = make([]float64, 0, len(mean)+1)
	for _, m := range mean {
		means = append(means, min(max(m, least), 1-least))
	}
	if len(mean) == 1 {
		return append(means, 1-means[0]), []float64{variance[0], variance[0]}
	}
	sum := total(means)
	for i := range means {
		means[i] /= sum
	}
	return means, variance
}
