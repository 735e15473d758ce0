package head

import (
	"math"

	"credence/internal/special"
)

// MVE is mean-variance estimation.
type MVE struct {
	Floor  float64 `json:"floor" default:"0.0001" help:"least variance"`
	Warmup int     `json:"warmup" default:"5" help:"epochs that fit the mean alone; -1 for none"`
}

// Name returns "mve".
func (MVE) Name() string { return "mve" }

// New implements [Method].
func (m MVE) New(t Task) (Head, error) {
	m = Complete(m).(MVE)
	h := &mve{newPaired(t.Classes), m}
	return &labels{labeled: h, classes: t.Classes}, checked(m, t, "warmup")
}

// mve is mean-variance estimation: a network with two outputs, the mean μ and
// the variance σ² of a label y that is 1 for the class and 0 for the others,
// fitted by the Gaussian likelihood (Nix and Weigend 1994)
//
//	½ [(y − μ)²/σ² + log σ² + log 2π],    μ = sigmoid(out₀),  σ² = exp(out₁) + floor
//
// The variance is exponential as in the paper. The mean there is linear, for
// targets on the real line; here it is a probability, and a sigmoid keeps it
// one. On labels of 0 and 1 the likelihood is unbounded as σ² → 0, hence the
// floor. In the first epochs the mean is fitted alone, by least squares: the
// paper's phase I, without which the network may explain items by a large
// variance that it could explain by the mean. After that mean and variance are
// fitted together, the paper's phase III; its phase II, the variance alone on a
// second set of items, is left out.
//
// Raw outputs are pairs, one for each class against the others; two classes
// need one. The loss is the mean over labels and pairs.
type mve struct {
	paired
	MVE
}

// startVariance is what the warm-up takes for σ²: that of a fair coin.
const startVariance = 0.25

// largestLog bounds the log variance, so that exp cannot overflow.
const largestLog = 20

func (h *mve) loss(grad, out, votes []float64, at Step) float64 {
	return h.gaussian(grad, out, votes, at.Epoch < uint64(max(0, h.Warmup)))
}

// criterion is the Gaussian negative log-likelihood per label.
func (h *mve) criterion(out, votes []float64) float64 { return h.gaussian(nil, out, votes, false) }

func (h *mve) gaussian(grad, out, votes []float64, meanOnly bool) float64 {
	d, width := h.classes, h.Outputs()
	sum, scale := 0.0, 1/(special.Sum(votes)*float64(h.pairs))
	for j := range len(votes) / d {
		s := votes[j*d : (j+1)*d]
		m := special.Sum(s)
		for i := range h.pairs {
			at := j*width + 2*i
			mean, variance := h.read(out[at], out[at+1])
			if meanOnly {
				variance = startVariance
			}
			// Labels: s[i] times 1, m − s[i] times 0.
			squares := s[i]*(1-mean)*(1-mean) + (m-s[i])*mean*mean
			sum += 0.5 * (squares/variance + m*math.Log(2*math.Pi*variance))
			if grad == nil {
				continue
			}
			grad[at] = scale * (m*mean - s[i]) / variance * mean * (1 - mean)
			if !meanOnly && math.Abs(out[at+1]) < largestLog {
				grad[at+1] = scale * 0.5 * (m - squares/variance) / variance * (variance - h.Floor)
			}
		}
	}
	return sum * scale
}

// read turns a pair of raw outputs into mean and variance.
func (h *mve) read(a, b float64) (mean, variance float64) {
	return special.Sigmoid(a), math.Exp(min(max(b, -largestLog), largestLog)) + h.Floor
}

// answer reads several networks as an equal mixture of their Gaussians
// (Lakshminarayanan et al. 2017): its mean and variance.
func (h *mve) answer(outputs [][]float64) Answer {
	mean, variance := make([]float64, h.pairs), make([]float64, h.pairs)
	each := 1 / float64(len(outputs))
	for i := range h.pairs {
		for _, out := range outputs {
			m, _ := h.read(out[2*i], out[2*i+1])
			mean[i] += each * m
		}
		for _, out := range outputs {
			m, v := h.read(out[2*i], out[2*i+1])
			variance[i] += each * (v + (m-mean[i])*(m-mean[i]))
		}
	}
	var e Answer
	e.Mean, e.Variance = mirrored(mean, variance)
	e.Uncertainty = e.Variance[e.Top()]
	return e
}

func (h *mve) Traits() Traits {
	return Traits{
		Warmup: max(0, h.Warmup),
		Meaning: "The variance of a single label, 0 or 1, as if it were Gaussian. At its best it is p(1 - p), " +
			"which the mean alone determines; it is not the variance of the probability.",
		Columns: func(int) []Column { return []Column{{"label_sd", sdOf}} },
	}
}

func (h *mve) start(bias, shares []float64) {
	for i := range h.pairs {
		p := shares[i]
		bias[2*i], bias[2*i+1] = logit(p), math.Log(max(p*(1-p), 1e-3))
	}
}
