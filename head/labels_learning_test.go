package head

import (
	"math"
	"testing"
)

// descend finds the outputs that minimize the loss of one item with the given
// votes, by gradient descent with a step that shrinks to nothing.
func descend(t *testing.T, m Method, votes []float64, rate float64) (*labels, []float64) {
	t.Helper()
	h := made(t, m, len(votes))
	out, grad := make([]float64, h.Outputs()), make([]float64, h.Outputs())
	shares := make([]float64, len(votes))
	for i := range shares {
		shares[i] = 1 / float64(len(votes))
	}
	h.start(out, shares)
	const steps = 20000
	for step := range steps {
		clear(grad)
		h.loss(grad, out, votes, Step{Epoch: uint64(step / 100), Step: uint64(step)})
		norm := 0.0
		for _, g := range grad {
			norm += g * g
		}
		// Steps no longer than 1: the capture of qd is steep.
		slow := rate * (1 - float64(step)/steps) / max(1, math.Sqrt(norm))
		for i, g := range grad {
			out[i] -= slow * g
		}
	}
	return h, out
}

// TestLearning: what each loss leads to on items alike, of whose votes 70% are
// for the first of two classes, or half for one of three.
func TestLearning(t *testing.T) {
	for _, c := range []struct {
		method Method
		votes  []float64
		rate   float64
		check  func(e Decoded)
	}{
		{Softmax{}, []float64{70, 30}, 0.5, func(e Decoded) {
			near(t, "softmax mean", e.Mean[0], 0.7, 1e-3)
			near(t, "softmax variance", e.Variance[0], 0.21, 1e-3)
		}},
		{Softmax{}, []float64{50, 30, 20}, 0.5, func(e Decoded) { near(t, "softmax mean", e.Mean[1], 0.3, 1e-3) }},
		{MVE{}, []float64{70, 30}, 0.1, func(e Decoded) {
			near(t, "mve mean", e.Mean[0], 0.7, 1e-3)
			near(t, "mve variance", e.Variance[1], 0.21, 1e-3)
		}},
		{MVE{}, []float64{50, 30, 20}, 0.1, func(e Decoded) {
			near(t, "mve mean", e.Mean[0], 0.5, 1e-3)
			near(t, "mve variance", e.Variance[1], 0.21, 1e-3)
		}},
		// Both labels are plausible: no interval narrower than [0, 1] contains 95%.
		{QD{}, []float64{70, 30}, 0.01, func(e Decoded) {
			near(t, "qd lower", e.Lower[0], 0, 0.05)
			near(t, "qd upper", e.Upper[0], 1, 0.05)
			near(t, "qd mean", e.Mean[0], 0.5, 0.05)
		}},
		// One in a hundred may be missed: the interval is about the other label.
		{QD{}, []float64{198, 2}, 0.01, func(e Decoded) {
			near(t, "qd lower", e.Lower[0], 1, 0.05)
			near(t, "qd upper", e.Upper[0], 1, 0.05)
			if e.Uncertainty > 0.1 {
				t.Errorf("qd: width %v", e.Uncertainty)
			}
		}},
		{Confidence{}, []float64{70, 30}, 0.1, func(e Decoded) {
			near(t, "confidence mean", e.Mean[0], 0.7, 0.05)
			near(t, "confidence", -math.Log(1-e.Uncertainty), 0.3, 0.05) // the budget
		}},
		// The divergence keeps evidence from items whose labels differ.
		{Evidential{}, []float64{70, 30}, 0.5, func(e Decoded) {
			if !(e.Mean[0] > 0.5 && e.Mean[0] < 0.7 && e.Uncertainty > 0.5) {
				t.Errorf("evidential: %+v", e)
			}
		}},
		{Evidential{}, []float64{100, 0}, 0.5, func(e Decoded) {
			if !(e.Mean[0] > 0.9 && e.Uncertainty < 0.2) {
				t.Errorf("evidential, unanimous: %+v", e)
			}
		}},
	} {
		h, out := descend(t, c.method, c.votes, c.rate)
		c.check(h.decode([][]float64{out}))
	}
}
