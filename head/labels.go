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

// Softmax is the plain classifier; several networks are a deep ensemble.
type Softmax struct{}

// Name returns "softmax".
func (Softmax) Name() string { return "softmax" }

// New implements [Method].
func (m Softmax) New(t Task) (Head, error) {
	return &labels{labeled: &softmax{classes: t.Classes}, classes: t.Classes}, checked(m, t)
}

// Dropout is Monte Carlo dropout.
type Dropout struct {
	Passes int `json:"passes" default:"50" help:"passes through each network, with dropout on"`
}

// Name returns "dropout".
func (Dropout) Name() string { return "dropout" }

// New implements [Method].
func (m Dropout) New(t Task) (Head, error) {
	m = Complete(m).(Dropout)
	if m.Passes < 2 || m.Passes > 10000 {
		return nil, outOfRange(m, "passes", "a number from 2 to 10000", m.Passes)
	}
	return &labels{labeled: &softmax{classes: t.Classes, passes: m.Passes}, classes: t.Classes}, checked(m, t)
}

// softmax is the plain classifier: d logits, cross-entropy
//
//	loss = −(1/n) Σ_labels log p_y,    ∂/∂out_i = (m·p_i − S_i)/n
//
// for an item with m of the n labels. Outputs of several networks are combined
// as a deep ensemble, those of several passes through a network with dropout as
// Monte Carlo dropout: the mean of the probabilities, and their variance
// (1/M) Σ (p − mean)².
type softmax struct {
	DefaultHead
	classes int
	passes  int // of Monte Carlo dropout; 0 is the plain method
	log     []float64
}

func (h *softmax) Outputs() int { return h.classes }

func (h *softmax) loss(grad, out, votes []float64, _ Step) float64 {
	d := h.classes
	h.log = room(h.log, d)
	sum, n := 0.0, special.Sum(votes)
	for j := 0; j < len(out); j += d {
		s := votes[j : j+d]
		logSoftmax(h.log, out[j:j+d])
		m := special.Sum(s)
		for i, l := range h.log {
			if s[i] > 0 {
				sum -= s[i] * l
			}
			if grad != nil {
				grad[j+i] = (m*math.Exp(l) - s[i]) / n
			}
		}
	}
	return sum / n
}

// criterion is the negative log-likelihood per label.
func (h *softmax) criterion(out, votes []float64) float64 {
	return h.loss(nil, out, votes, Step{})
}

func (h *softmax) decode(outputs [][]float64) Decoded {
	d := h.classes
	e := Decoded{Mean: make([]float64, d), Variance: make([]float64, d)}
	p := make([][]float64, len(outputs))
	for k, out := range outputs {
		p[k] = make([]float64, d)
		logSoftmax(p[k], out)
		for i := range p[k] {
			p[k][i] = math.Exp(p[k][i])
			e.Mean[i] += p[k][i] / float64(len(outputs))
		}
	}
	for i, mean := range e.Mean {
		if len(outputs) == 1 {
			e.Variance[i] = mean * (1 - mean)
			continue
		}
		for k := range p {
			e.Variance[i] += (p[k][i] - mean) * (p[k][i] - mean) / float64(len(outputs))
		}
	}
	e.Uncertainty = e.Variance[e.Top()]
	return e
}

func (h *softmax) Traits() Traits {
	t := Traits{Passes: h.passes}
	if h.passes > 0 {
		t.Meaning = fmt.Sprintf("The variance of the probability between %d passes through the network with dropout on: "+
			"how unsure the network is of its weights, which shrinks as the data grow. "+
			"It is not how much the probability varies between similar items.", h.passes)
		t.Columns = func(int) []Column { return []Column{{"pass_sd", sdOf}} }
		return t
	}
	t.Meaning = "With one network, the variance p(1 - p) of a single label, which the mean alone determines. " +
		"With several, the variance of p between the networks: how much they disagree, " +
		"not how much the probability varies between similar items."
	t.Columns = func(members int) []Column {
		if members > 1 {
			return []Column{{"member_sd", sdOf}}
		}
		return []Column{{"label_sd", sdOf}}
	}
	return t
}

func (h *softmax) start(bias, shares []float64) { logShares(bias, shares) }

// logShares sets logits whose softmax is the shares.
func logShares(bias, shares []float64) {
	for i, p := range shares {
		bias[i] = max(math.Log(p), -5)
	}
}
