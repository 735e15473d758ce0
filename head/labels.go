package head

import (
	"fmt"
	"math"

	"credence/internal/special"
	"credence/nn"
)

// labeled is a method that learns from one label at a time, in float64. Votes [N, d] contain at least
// one label. Methods without a comment are those of [Head].
type labeled interface {
	Outputs() int
	Traits() Traits
	Own() []nn.HeadParam
	Bind(own []*nn.Param)
	State() []float64
	SetState(state []float64) error

	// loss returns the mean loss over the labels and, unless grad is nil, fills grad
	// [N, outputs()] with its derivative.
	loss(grad, out, votes []float64, at Step) float64
	// criterion judges all held-out items at once.
	criterion(out, votes []float64) float64
	// decode returns the prediction for one item, given its raw outputs [M, outputs()], which are finite.
	decode(outputs [][]float64) Decoded
	start(bias, shares []float64)
}

// labels adapts a labeled method to the float32 of networks. The loss is the mean over the labels of a
// batch, where a fractional count is a fraction of a label and an item's weight multiplies its labels.
type labels struct {
	labeled
	classes          int
	out, grad, votes []float64 // scratch
}

// Loss implements [Head].
func (r *labels) Loss(grad, out []float32, b Batch, at Step) Loss {
	checkShape(grad, out, b.Counts, r.classes, r.Outputs())
	r.out = append64(r.out[:0], out)
	r.votes = appendVotes(r.votes[:0], b)
	n := special.Sum(r.votes)
	if n == 0 {
		clear(grad)
		return Loss{}
	}
	var g []float64
	if grad != nil {
		r.grad = room(r.grad, len(out))
		g = r.grad
		clear(g)
	}
	loss := r.loss(g, r.out, r.votes, at)
	for i, x := range g {
		grad[i] = float32(x)
	}
	return Loss{Mean: loss, Over: n, Votes: n}
}

// checkShape panics unless there are votes on the expected number of classes, and width outputs and gradients per
// item; grad may be nil.
func checkShape(grad, out []float32, votes Counts, classes, width int) {
	n := votes.Items()
	if votes.Classes != classes || len(out) != n*width || grad != nil && len(grad) != len(out) {
		panic(fmt.Sprintf("head: expected %d outputs per item of %d classes, found %d outputs and %d gradients for %d items of %d classes",
			width, classes, len(out), len(grad), n, votes.Classes))
	}
}

// appendVotes appends the counts of a batch times the weights of its items.
func appendVotes(dst []float64, b Batch) []float64 {
	if b.Weights == nil {
		return append64(dst, b.Counts.Values)
	}
	for k, s := range b.Counts.Values {
		dst = append(dst, float64(s*float32(b.Weights[k/b.Counts.Classes])))
	}
	return dst
}

// Criterion implements [Head].
func (r *labels) Criterion() Criterion { return &labelsCriterion{of: r.labeled} }

// labelsCriterion keeps all held-out items, because qd's criterion is not a sum over them.
type labelsCriterion struct {
	of         labeled
	out, votes []float64
}

func (c *labelsCriterion) Add(out []float32, b Batch) {
	c.out = append64(c.out, out)
	c.votes = appendVotes(c.votes, b)
}

func (c *labelsCriterion) Value() float64 {
	if special.Sum(c.votes) == 0 {
		return 0
	}
	return c.of.criterion(c.out, c.votes)
}

// Decode implements [Head].
func (r *labels) Decode(dst []Decoded, outputs []Output) {
	width := r.Outputs()
	wide := make([][]float64, len(outputs))
	for j := range dst {
		var err error
		for i, out := range outputs {
			raw := out.Raw[j*width : (j+1)*width]
			if e := finite(raw); err == nil {
				err = e
			}
			wide[i] = append64(wide[i][:0], raw)
		}
		if err != nil {
			dst[j] = Decoded{Err: err}
			continue
		}
		dst[j] = r.decode(wide)
	}
}

// Start implements [Head].
func (r *labels) Start(b Batch) []float32 {
	shares, sum := make([]float64, r.classes), 0.0
	for k, s := range appendVotes(nil, b) {
		shares[k%r.classes] += s
		sum += s
	}
	for i := range shares {
		shares[i] /= sum
	}
	wide, bias := make([]float64, r.Outputs()), make([]float32, r.Outputs())
	r.start(wide, shares)
	for i, x := range wide {
		bias[i] = float32(x)
	}
	return bias
}

// paired has two outputs for each class against all others; with two classes one pair is enough, because the second
// class mirrors the first.
type paired struct {
	DefaultHead
	classes, pairs int
}

func newPaired(classes int) paired {
	if classes == 2 {
		return paired{classes: 2, pairs: 1}
	}
	return paired{classes: classes, pairs: classes}
}

func (h *paired) Outputs() int { return 2 * h.pairs }

func append64(dst []float64, x []float32) []float64 {
	for _, v := range x {
		dst = append(dst, float64(v))
	}
	return dst
}

// logit returns the inverse of the sigmoid, clamped to ±5.
func logit(p float64) float64 { return min(max(math.Log(p/(1-p)), -5), 5) }

// logSoftmax fills dst with the logarithms of the softmax of x.
func logSoftmax(dst, x []float64) {
	top, sum := sumExp(x)
	log := math.Log(sum)
	for i, v := range x {
		dst[i] = v - top - log
	}
}

// mirrored returns the means and variances of d classes, given those of the
// pairs of outputs: one pair stands for two classes; several means, each that of
// its class against all others, are scaled to sum to one. Means are kept a
// millionth away from 0 and 1, so that no label is impossible.
func mirrored(mean, variance []float64) (means, variances []float64) {
	const least = 1e-6
	means = make([]float64, 0, len(mean)+1)
	for _, m := range mean {
		means = append(means, min(max(m, least), 1-least))
	}
	if len(mean) == 1 {
		return append(means, 1-means[0]), []float64{variance[0], variance[0]}
	}
	special.Normalize(means)
	return means, variance
}
