package head

import (
	"fmt"
	"math"
)

// Softmax is the plain classifier: the d raw outputs of an item are the logits
// of one vector of class probabilities p, and the loss of an item is the
// negative log-likelihood of its votes, taken as independent:
//
//	NLL = −Σ_i S_i log p_i,    ∂NLL/∂out_i = m·p_i − S_i
//
// With one vote an item it is the usual cross-entropy.
type Softmax struct {
	Classes int
	exps    []float32 // [N, d]
}

// Outputs returns d.
func (h *Softmax) Outputs() int { return h.Classes }

// Loss implements [Head].
func (h *Softmax) Loss(grad, out []float32, votes Counts, _ Step) float64 {
	n, d := votes.Items(), h.Classes
	if votes.Classes != d || len(out) != n*d || grad != nil && len(grad) != len(out) {
		panic(fmt.Sprintf("softmax head: %d outputs, %d gradients for %d items of %d classes, want %d classes",
			len(out), len(grad), n, votes.Classes, d))
	}
	voted := 0
	for j := range n {
		if m, _ := total(votes.Item(j)); m != 0 {
			voted++
		}
	}
	if voted == 0 {
		clear(grad)
		return 0
	}
	if cap(h.exps) < len(out) {
		h.exps = make([]float32, len(out))
	}
	exps := h.exps[:len(out)]
	for j := 0; j < len(out); j += d {
		o, e := out[j:j+d], exps[j:j+d]
		top := o[0]
		for _, x := range o[1:] {
			top = max(top, x)
		}
		for i, x := range o {
			e[i] = x - top
		}
	}
	// log p_i = (out_i − top) − log Σ exp(out − top).
	sum, scale := 0.0, 1/float64(voted)
	for j := range n {
		s := votes.Item(j)
		if m, _ := total(s); m != 0 {
			for i, x := range exps[j*d:][:d] {
				sum -= float64(s[i]) * float64(x)
			}
		}
	}
	exp(exps, exps)
	for j := range n {
		s, e := votes.Item(j), exps[j*d:][:d]
		m, _ := total(s)
		if m == 0 {
			if grad != nil {
				clear(grad[j*d:][:d])
			}
			continue
		}
		z := 0.0
		for _, x := range e {
			z += float64(x)
		}
		sum += m * math.Log(z)
		if grad != nil {
			g := grad[j*d:][:d]
			for i, x := range e {
				g[i] = float32((m*float64(x)/z - float64(s[i])) * scale)
			}
		}
	}
	return sum * scale
}
