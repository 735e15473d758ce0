package head

import (
	"fmt"
	"math"
	"math/bits"

	"credence/internal/rng"
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

// logShares sets logits whose softmax is the shares.
func logShares(bias, shares []float64) {
	for i, p := range shares {
		bias[i] = max(math.Log(p), -5)
	}
}

// Confidence is the confidence network.
type Confidence struct {
	Lambda float64 `json:"lambda" default:"0.1" help:"weight of -log confidence at the start"`
	Budget float64 `json:"budget" default:"0.3" help:"mean of -log confidence to aim at"`
}

// Name returns "confidence".
func (Confidence) Name() string { return "confidence" }

// New implements [Method].
func (m Confidence) New(t Task) (Head, error) {
	m = Complete(m).(Confidence)
	h := &confidence{Confidence: m, classes: t.Classes}
	return &labels{labeled: h, classes: t.Classes}, checked(m, t)
}

// confidence is the confidence network (DeVries and Taylor 2018): d logits of
// the class probabilities p and one of the confidence c. While it is trained the
// network may ask for hints, at a price:
//
//	p' = c·p + (1−c)·y,    loss = −log p'_y − λ log c
//
// averaged over labels. Each label gets a hint with probability ½; the others
// have p' = p. After each step λ grows by
// 1% if the mean of −log c is above the budget β, and shrinks by 1% if below.
type confidence struct {
	DefaultHead
	Confidence
	classes    int
	log, hints []float64 // scratch
}

// confidenceStep is the factor by which λ changes after a step.
const confidenceStep = 1.01

func (h *confidence) Outputs() int { return h.classes + 1 }

// State returns λ, which training adapts.
func (h *confidence) State() []float64 { return []float64{h.Lambda} }

func (h *confidence) SetState(state []float64) error {
	if len(state) != 1 || !(state[0] > 0) || math.IsInf(state[0], 0) {
		return noState(state)
	}
	h.Lambda = state[0]
	return nil
}

func (h *confidence) loss(grad, out, votes []float64, at Step) float64 {
	d := h.classes
	h.hints = room(h.hints, len(votes))
	hints := h.hints
	var s rng.Stream
	for j := range len(votes) / d {
		s.Reset(at.Seed, "confidence.hints", at.Member, at.Epoch, at.Step, uint64(j))
		for i := range d {
			hints[j*d+i] = half(&s, votes[j*d+i])
		}
	}
	loss, price := h.hinted(grad, out, votes, hints)
	loss += h.Lambda * price
	if grad != nil {
		if price > h.Budget {
			h.Lambda *= confidenceStep
		} else {
			h.Lambda /= confidenceStep
		}
	}
	return loss
}

// half returns the number of labels that get a hint: a fair draw for each whole
// label, and one for the remaining fraction.
func half(s *rng.Stream, labels float64) float64 {
	whole := math.Floor(labels)
	hinted := 0.0
	for left := whole; left > 0; left -= 64 {
		draw := s.Uint64()
		if left < 64 {
			draw &= 1<<uint(left) - 1
		}
		hinted += float64(bits.OnesCount64(draw))
	}
	if rest := labels - whole; rest > 0 && s.Uint64()&1 == 1 {
		hinted += rest
	}
	return hinted
}

// hinted returns the mean of −log p'_y over the labels, and the mean of −log c;
// hints [N, d] are the numbers of labels with a hint. The gradient is that of
// their sum, the latter times λ.
func (h *confidence) hinted(grad, out, votes, hints []float64) (loss, price float64) {
	d, width := h.classes, h.Outputs()
	h.log = room(h.log, d)
	n := special.Sum(votes)
	for j := range len(votes) / d {
		o, s := out[j*width:(j+1)*width], votes[j*d:(j+1)*d]
		logSoftmax(h.log, o[:d])
		m, c := special.Sum(s), special.Sigmoid(o[d])
		price += m * special.Softplus(-o[d]) / n
		var g []float64
		if grad != nil {
			g = grad[j*width : (j+1)*width]
			g[d] = -h.Lambda * m * (1 - c) / n
		}
		for y, count := range s {
			if count == 0 {
				continue
			}
			p := math.Exp(h.log[y])
			asked := hints[j*d+y]
			q := c*p + (1 - c) // p'_y with a hint
			loss -= ((count-asked)*h.log[y] + asked*math.Log(q)) / n
			if g == nil {
				continue
			}
			// ∂p_y/∂o_i = p_y (δ_iy − p_i): of −log p_y it leaves p_i − δ_iy, of
			// −log q that times c·p_y/q.
			pull := (count - asked + asked*c*p/q) / n
			for i, l := range h.log {
				g[i] += pull * math.Exp(l)
			}
			g[y] -= pull
			g[d] += asked / n * (1 - p) / q * c * (1 - c)
		}
	}
	return loss, price
}

// criterion is the negative log-likelihood per label, without hints.
func (h *confidence) criterion(out, votes []float64) float64 {
	loss, _ := h.hinted(nil, out, votes, make([]float64, len(votes)))
	return loss
}

func (h *confidence) decode(outputs [][]float64) Decoded {
	e := Decoded{Mean: make([]float64, h.classes)}
	log := make([]float64, h.classes)
	each := 1 / float64(len(outputs))
	for _, out := range outputs {
		logSoftmax(log, out[:h.classes])
		for i, l := range log {
			e.Mean[i] += each * math.Exp(l)
		}
		e.Uncertainty += each * special.Sigmoid(-out[h.classes])
	}
	return e
}

func (h *confidence) Traits() Traits {
	return Traits{
		Meaning: "One minus the confidence, a number between 0 and 1 by which the network chose how often to see " +
			"the label while it was trained. It ranks items; it is no variance and has no unit.",
		Columns: func(int) []Column {
			return []Column{{"confidence", func(a *Decoded, _ int) float64 { return 1 - a.Uncertainty }}}
		},
	}
}

func (h *confidence) start(bias, shares []float64) { logShares(bias, shares) }
