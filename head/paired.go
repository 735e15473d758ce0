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

// startVariance is the σ² that the warm-up assumes: that of a fair coin.
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

// read converts a pair of raw outputs to mean and variance.
func (h *mve) read(a, b float64) (mean, variance float64) {
	return special.Sigmoid(a), math.Exp(min(max(b, -largestLog), largestLog)) + h.Floor
}

// decode combines several networks as an equal mixture of their Gaussians
// (Lakshminarayanan et al. 2017) and returns its mean and variance.
func (h *mve) decode(outputs [][]float64) Decoded {
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
	var e Decoded
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

// leastQD is the least number of items in a batch of qd: its loss compares the
// share of captured labels with a level, which fewer cannot show.
const leastQD = 100

// QD is quality-driven intervals.
type QD struct {
	Lambda float64 `json:"lambda" default:"15" help:"weight of a shortfall in coverage"`
	Soften float64 `json:"soften" default:"160" help:"steepness of the soft capture"`
	Level  float64 `json:"level" default:"0.95" help:"share of labels to capture"`
}

// Name returns "qd".
func (QD) Name() string { return "qd" }

// New implements [Method].
func (m QD) New(t Task) (Head, error) {
	m = Complete(m).(QD)
	if !(m.Level > 0 && m.Level < 1) {
		return nil, outOfRange(m, "level", "a number between 0 and 1", m.Level)
	}
	h := &qd{newPaired(t.Classes), m}
	return &labels{labeled: h, classes: t.Classes}, checked(m, t)
}

// qd is quality-driven intervals (Pearce et al. 2018): the raw outputs are the
// ends L and U of an interval of a label y that is 1 for the class and 0 for the
// others, fitted by
//
//	MPIW_capt + λ n/(α(1−α)) max(0, (1−α) − PICP_soft)²
//	MPIW_capt = Σ (U−L) k / Σ k,    k = 1 if L < y < U, else 0
//	PICP_soft = (1/n) Σ sigmoid(s(y−L)) sigmoid(s(U−y))
//
// over the n labels of the batch, with 1−α the level. As in the paper k has no
// derivative. A batch that captures nothing has MPIW_capt = 0.
//
// Raw outputs are pairs, one for each class against the others; two classes
// need one. The loss is the mean over the pairs.
type qd struct {
	paired
	QD
}

func (h *qd) loss(grad, out, votes []float64, _ Step) float64 {
	sum := 0.0
	for i := range h.pairs {
		sum += h.pair(grad, out, votes, i)
	}
	return sum / float64(h.pairs)
}

// labels returns the numbers of zeros and of ones among the labels of one item for a pair.
func (h *qd) labels(votes []float64, j, pair int) [2]float64 {
	s := votes[j*h.classes : (j+1)*h.classes]
	return [2]float64{special.Sum(s) - s[pair], s[pair]}
}

// pair returns the loss of one class and adds its gradient.
func (h *qd) pair(grad, out, votes []float64, pair int) float64 {
	n := special.Sum(votes)
	width, captured, soft := 0.0, 0.0, 0.0
	each := func(f func(at int, lo, hi, y, count float64)) {
		for j := range len(votes) / h.classes {
			at := j*h.Outputs() + 2*pair
			for y, count := range h.labels(votes, j, pair) {
				if count > 0 {
					f(at, out[at], out[at+1], float64(y), count)
				}
			}
		}
	}
	each(func(_ int, lo, hi, y, count float64) {
		if lo < y && y < hi {
			width += count * (hi - lo)
			captured += count
		}
		soft += count * special.Sigmoid(h.Soften*(y-lo)) * special.Sigmoid(h.Soften*(hi-y))
	})
	loss := 0.0
	if captured > 0 {
		loss = width / captured
	}
	shortfall := max(0, h.Level-soft/n)
	penalty := h.Lambda * n / (h.Level * (1 - h.Level))
	loss += penalty * shortfall * shortfall
	if grad == nil {
		return loss
	}
	scale := 1 / float64(h.pairs)
	each(func(at int, lo, hi, y, count float64) {
		if lo < y && y < hi {
			grad[at] -= scale * count / captured
			grad[at+1] += scale * count / captured
		}
		a, b := special.Sigmoid(h.Soften*(y-lo)), special.Sigmoid(h.Soften*(hi-y))
		slope := scale * penalty * 2 * shortfall * count / n * h.Soften * a * b
		grad[at] += slope * special.Sigmoid(-h.Soften*(y-lo))
		grad[at+1] -= slope * special.Sigmoid(-h.Soften*(hi-y))
	})
	return loss
}

// missed is the criterion of intervals that contain too few labels, before the
// shortfall is added: more than any width.
const missed = 1000

// criterion is the mean width if the intervals of each class contain at least the
// level's share of the labels; otherwise it grows with the shortfall.
func (h *qd) criterion(out, votes []float64) float64 {
	n := special.Sum(votes)
	widths, shortfall := 0.0, 0.0
	for i := range h.pairs {
		held := 0.0
		for j := range len(votes) / h.classes {
			at := j*h.Outputs() + 2*i
			lo, hi := out[at], out[at+1]
			for y, count := range h.labels(votes, j, i) {
				widths += count * max(0, hi-lo)
				if lo < float64(y) && float64(y) < hi {
					held += count
				}
			}
		}
		shortfall += max(0, h.Level-held/n)
	}
	if shortfall > 0 {
		return missed + shortfall
	}
	return widths / (n * float64(h.pairs))
}

// normal returns z such that mean ± z sd contains the level's share of a Gaussian:
// 1.96 for 0.95.
func (h *qd) normal() float64 { return math.Sqrt2 * math.Erfinv(h.Level) }

// decode combines the intervals of several networks as the paper does: the mean
// of each end, moved outwards by z standard deviations between the networks. The
// variance is that of the Gaussian whose central interval of this level it is.
func (h *qd) decode(outputs [][]float64) Decoded {
	z := h.normal()
	mean, variance := make([]float64, h.pairs), make([]float64, h.pairs)
	lower, upper := make([]float64, h.pairs), make([]float64, h.pairs)
	ends := make([]float64, len(outputs))
	for i := range h.pairs {
		end := func(at int, sign float64) float64 {
			for k, out := range outputs {
				ends[k] = out[at]
			}
			m, sd := spread(ends)
			return m + sign*z*sd
		}
		lower[i] = end(2*i, -1)
		upper[i] = max(lower[i], end(2*i+1, 1))
		mean[i] = lower[i] + (upper[i]-lower[i])/2
		sd := (upper[i] - lower[i]) / (2 * z)
		variance[i] = sd * sd
	}
	var e Decoded
	e.Mean, e.Variance = mirrored(mean, variance)
	e.Lower, e.Upper = lower, upper
	if h.pairs == 1 {
		e.Lower, e.Upper = []float64{lower[0], 1 - upper[0]}, []float64{upper[0], 1 - lower[0]}
	}
	top := e.Top()
	e.Uncertainty = e.Upper[top] - e.Lower[top]
	return e
}

// spread returns the mean and the standard deviation (with n−1, and 0 for one number).
func spread(x []float64) (mean, sd float64) {
	mean = special.Sum(x) / float64(len(x))
	if len(x) < 2 {
		return mean, 0
	}
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sum / float64(len(x)-1))
}

func (h *qd) Traits() Traits {
	return Traits{
		LeastBatch: leastQD, Coarse: true,
		Meaning: "The width of an interval that should contain a single label, 0 or 1, most of the time. " +
			"Where both labels are plausible the right interval is [0, 1]; it does not show how far the probability " +
			"can be from the mean, which is the interval's midpoint.",
		Columns: func(int) []Column {
			return []Column{
				{"label_lower", func(a *Decoded, i int) float64 { return a.Lower[i] }},
				{"label_upper", func(a *Decoded, i int) float64 { return a.Upper[i] }},
				{"label_width", func(a *Decoded, i int) float64 { return a.Upper[i] - a.Lower[i] }},
			}
		},
	}
}

// start sets mean ± 3 standard deviations of all labels, as the paper does with 3
// and −3 for standardized labels. It captures all labels, so that training only
// has to narrow intervals.
func (h *qd) start(bias, shares []float64) {
	for i := range h.pairs {
		p := shares[i]
		sd := math.Sqrt(max(p*(1-p), 0.01))
		bias[2*i], bias[2*i+1] = p-3*sd, p+3*sd
	}
}
