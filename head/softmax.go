package head

import (
	"fmt"
	"math"

	"credence/internal/special"
)

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
		return nil, fmt.Errorf("method dropout: passes %d, want between 2 and 10000", m.Passes)
	}
	return &labels{labeled: &softmax{classes: t.Classes, passes: m.Passes}, classes: t.Classes}, checked(m, t)
}

// softmax is the plain classifier: d logits, cross-entropy
//
//	loss = −(1/n) Σ_labels log p_y,    ∂/∂out_i = (m·p_i − S_i)/n
//
// for an item with m of the n labels. It reads the outputs of several networks
// as a deep ensemble and those of several passes through a network with dropout
// as Monte Carlo dropout: the mean of the probabilities, and their variance
// (1/M) Σ (p − mean)².
type softmax struct {
	Base
	classes int
	passes  int // of Monte Carlo dropout; 0 is the plain method
	log     []float64
}

func (h *softmax) Outputs() int { return h.classes }

func (h *softmax) loss(grad, out, votes []float64, _ Step) float64 {
	d := h.classes
	if h.log == nil {
		h.log = make([]float64, d)
	}
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

func (h *softmax) answer(outputs [][]float64) Answer {
	d := h.classes
	e := Answer{Mean: make([]float64, d), Variance: make([]float64, d)}
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
			"It is not how much the probability differs between items alike.", h.passes)
		t.Columns = func(int) []Column { return []Column{{"pass_sd", sdOf}} }
		return t
	}
	t.Meaning = "With one network, the variance p(1 - p) of a single label, which the mean alone determines. " +
		"With several, the variance of p between the networks: how much they disagree, " +
		"not how much the probability differs between items alike."
	t.Columns = func(members int) []Column {
		if members > 1 {
			return []Column{{"member_sd", sdOf}}
		}
		return []Column{{"label_sd", sdOf}}
	}
	return t
}

func (h *softmax) start(bias, shares []float64) { logShares(bias, shares) }

// logShares sets logits whose softmax are the shares.
func logShares(bias, shares []float64) {
	for i, p := range shares {
		bias[i] = max(math.Log(p), -5)
	}
}
