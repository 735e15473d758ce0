package head

import (
	"fmt"
	"math"
	"math/bits"

	"credence/internal/rng"
	"credence/internal/special"
	"credence/mixture"
)

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
			"the label while it was trained. It ranks items; it is not a variance and has no unit.",
		Columns: func(int) []Column {
			return []Column{{"confidence", func(a *Decoded, _ int) float64 { return 1 - a.Uncertainty }}}
		},
	}
}

func (h *confidence) start(bias, shares []float64) { logShares(bias, shares) }

// Evidential is evidential classification.
type Evidential struct {
	Anneal   int    `json:"anneal" default:"10" help:"epochs until the divergence term has full weight"`
	Evidence string `json:"evidence" default:"softplus" help:"softplus, relu or exp of the outputs"`
}

// Name returns "evidential".
func (Evidential) Name() string { return "evidential" }

// New implements [Method].
func (m Evidential) New(t Task) (Head, error) {
	m = Complete(m).(Evidential)
	if evidences[m.Evidence] == nil {
		return nil, fmt.Errorf("method evidential: evidence: expected one of [softplus relu exp], found %q", m.Evidence)
	}
	h := &evidential{classes: t.Classes, anneal: m.Anneal, evidence: evidences[m.Evidence]}
	return &labels{labeled: h, classes: t.Classes}, checked(m, t)
}

// evidential is evidential classification (Sensoy, Kaplan and Kandemir 2018):
// evidence e ≥ 0 of d raw outputs gives a Dirichlet distribution with α = e + 1,
// fitted by the expected squared error of a label and a divergence
// that takes evidence away from the wrong classes:
//
//	Σ_i (y_i − α_i/α₀)² + α_i(α₀ − α_i)/(α₀²(α₀ + 1)) + min(1, t/anneal)·KL(Dir(α̃) ‖ Dir(1))
//
// with α̃ = y + (1 − y)α and t the epoch, averaged over labels. The paper's
// networks end in a rectifier, whose outputs can die; softplus is its smooth
// form, and the authors' code also offers the exponential.
type evidential struct {
	DefaultHead
	classes, anneal int
	evidence        *evidence
	alpha, slope    []float64
	dAlpha, tilde   []float64
}

// evidence is a function from raw outputs to evidence, its derivative, and the
// output at which the evidence is 1.
type evidence struct {
	value, slope func(x float64) float64
	one          float64
}

// largestExponent bounds outputs before the exponential, as the authors do.
const largestExponent = 10

var evidences = map[string]*evidence{
	"softplus": {special.Softplus, special.Sigmoid, math.Log(math.E - 1)},
	"relu": {func(x float64) float64 { return max(x, 0) }, func(x float64) float64 {
		if x > 0 {
			return 1
		}
		return 0
	}, 1},
	"exp": {func(x float64) float64 { return math.Exp(min(max(x, -largestExponent), largestExponent)) }, func(x float64) float64 {
		if math.Abs(x) > largestExponent {
			return 0
		}
		return math.Exp(x)
	}, 0},
}

func (h *evidential) Outputs() int { return h.classes }

func (h *evidential) loss(grad, out, votes []float64, at Step) float64 {
	d := h.classes
	h.alpha, h.slope, h.dAlpha, h.tilde = room(h.alpha, d), room(h.slope, d), room(h.dAlpha, d), room(h.tilde, d)
	share := min(1, float64(at.Epoch)/float64(h.anneal))
	sum, n := 0.0, special.Sum(votes)
	for j := 0; j < len(out); j += d {
		for i, x := range out[j : j+d] {
			h.alpha[i], h.slope[i] = 1+h.evidence.value(x), h.evidence.slope(x)
		}
		clear(h.dAlpha)
		for y, count := range votes[j : j+d] {
			if count > 0 {
				sum += count * (h.squares(y, count) + share*h.divergence(y, share*count))
			}
		}
		if grad != nil {
			for i, g := range h.dAlpha {
				grad[j+i] = g * h.slope[i] / n
			}
		}
	}
	return sum / n
}

// squares returns the expected squared error of one label and adds its
// derivative, times scale, to dAlpha. With the means m = α/α₀,
//
//	Σ (y − m)² + Σ m(1 − m)/(α₀ + 1) = Q + 1 − 2m_y + (1 − Q)/(α₀ + 1),    Q = Σ m²
func (h *evidential) squares(y int, scale float64) float64 {
	a0 := special.Sum(h.alpha)
	q := 0.0
	for _, a := range h.alpha {
		q += a / a0 * (a / a0)
	}
	my := h.alpha[y] / a0
	keep := 1 - 1/(a0+1)
	for i, a := range h.alpha {
		// ∂m_k/∂α_i = (δ_ki − m_k)/α₀, ∂Q/∂α_i = 2(m_i − Q)/α₀.
		g := keep*2*(a/a0-q)/a0 + 2*my/a0 - (1-q)/((a0+1)*(a0+1))
		if i == y {
			g -= 2 / a0
		}
		h.dAlpha[i] += scale * g
	}
	return keep*q + 1 - 2*my + 1/(a0+1)
}

// divergence returns KL(Dir(α̃) ‖ Dir(1)) for a label and adds its derivative,
// times scale, to dAlpha.
//
//	log Γ(α̃₀) − log Γ(d) − Σ log Γ(α̃_i) + Σ (α̃_i − 1)(ψ(α̃_i) − ψ(α̃₀))
func (h *evidential) divergence(y int, scale float64) float64 {
	copy(h.tilde, h.alpha)
	h.tilde[y] = 1
	a0, d := special.Sum(h.tilde), float64(h.classes)
	kl := special.LogGamma(a0) - special.LogGamma(d)
	slope0 := (a0 - d) * trigamma(a0)
	for i, a := range h.tilde {
		kl -= special.LogGamma(a) + (a-1)*special.DigammaDiff(a, a0-a)
		if i != y {
			h.dAlpha[i] += scale * ((a-1)*trigamma(a) - slope0)
		}
	}
	return kl
}

// trigamma is ψ'(x) for x ≥ 1, to about 15 digits: the recurrence
// ψ'(x) = ψ'(x+1) + 1/x² up to 12, then the asymptotic series (Abramowitz and
// Stegun 6.4.12).
func trigamma(x float64) float64 {
	sum := 0.0
	for x < 12 {
		sum += 1 / (x * x)
		x++
	}
	t := 1 / (x * x)
	return sum + 1/x*(1+t*(1./6-t*(1./30-t*(1./42-t*(1./30-t*(5./66-t*691./2730)))))) + t/2
}

// criterion is the negative log-likelihood per label of the mean α/α₀.
func (h *evidential) criterion(out, votes []float64) float64 {
	d := h.classes
	sum := 0.0
	for j := 0; j < len(out); j += d {
		a0 := 0.0
		for _, x := range out[j : j+d] {
			a0 += 1 + h.evidence.value(x)
		}
		for i, count := range votes[j : j+d] {
			if count > 0 {
				sum -= count * math.Log((1+h.evidence.value(out[j+i]))/a0)
			}
		}
	}
	return sum / special.Sum(votes)
}

// decode combines several networks as the equal mixture of their distributions.
// The uncertainty is the mean of the paper's u = d/α₀.
func (h *evidential) decode(outputs [][]float64) Decoded {
	var e Decoded
	weights, alpha := make([]float64, len(outputs)), make([][]float64, len(outputs))
	for k, out := range outputs {
		weights[k] = 1 / float64(len(outputs))
		for _, x := range out {
			// Larger parameters make no difference any more.
			alpha[k] = append(alpha[k], min(1+h.evidence.value(x), 1e7))
		}
		e.Uncertainty += weights[k] * float64(h.classes) / special.Sum(alpha[k])
	}
	m, err := mixture.NewDirichlet(weights, alpha)
	if err != nil {
		// Only NaN could be invalid here, and no finite output gives NaN.
		panic(fmt.Sprintf("evidential: %v", err))
	}
	e.Opinion, e.Mean, e.Variance = m, m.Mean(nil), m.Variance(nil)
	return e
}

func (h *evidential) Traits() Traits {
	return Traits{
		Meaning: "The number of classes over the total evidence: 1 without any, near 0 with much. " +
			"Its Dirichlet distribution shows how much evidence the network sees for its mean; it is fitted to single labels " +
			"by a regularized squared error, so it does not estimate how the probability varies between similar items.",
		Columns: func(int) []Column {
			return []Column{
				{"evidential_sd", sdOf},
				{"vacuity", func(a *Decoded, _ int) float64 { return a.Uncertainty }},
			}
		},
	}
}

// start sets evidence 1 for every class: not 0, where a rectifier would be dead,
// and not much more.
func (h *evidential) start(bias, _ []float64) {
	for i := range bias {
		bias[i] = h.evidence.one
	}
}
