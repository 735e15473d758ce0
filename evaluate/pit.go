package evaluate

import (
	"cmp"
	"math"
	"slices"

	"credence/internal/logistic"
	"credence/internal/rng"
	"credence/mixture"
)

// PIT measures how well the predicted distributions of vote counts fit the observed
// counts, by the probability integral transform.
type PIT struct {
	// PValue is the p-value for correct predictions: the smallest of the
	// coordinates, after Holm's adjustment.
	PValue Number `json:"p_value"`
	// Distance is the largest sup|ECDF − u| of the coordinates.
	Distance    Number          `json:"distance"`
	Coordinates []PITCoordinate `json:"coordinates"`
}

// PITCoordinate is the transform of the counts of one class given those of the
// classes before it. There are d − 1: the last count follows from the others.
type PITCoordinate struct {
	Class    string `json:"class"`
	Items    int    `json:"items"`
	Distance Number `json:"distance"` // sup|ECDF − u|
	PValue   Number `json:"p_value"`  // Kolmogorov–Smirnov
	Adjusted Number `json:"adjusted"` // after Holm
	// Values are the transforms, sorted: uniform on [0, 1] if predictions are
	// right.
	Values []float64 `json:"-"`
}

// pitValues returns the d − 1 transforms of an item's counts, v being d − 1
// uniform numbers. Given the counts before it, S_i is a mixture of beta-binomials
// with m − Σ_{l<i} S_l trials, the parameters (α_ki, Σ_{l>i} α_kl), and weights
//
//	w_ki ∝ w_k ∏_{l<i} P_k(S_l | S_1 … S_{l−1}),
//
// and u_i = P(< S_i) + v_i P(S_i). If no trials are left, S_i carries no
// information and u_i is NaN. Counts are whole numbers.
func pitValues(m *mixture.Dirichlet, counts, v []float64) ([]float64, error) {
	d, k := m.Classes(), m.K()
	logs, weights := make([]float64, k), make([]float64, k)
	alpha := make([][]float64, k)
	for c := range k {
		weights[c], alpha[c] = m.Component(c)
		logs[c] = math.Log(weights[c])
	}
	u := make([]float64, d-1)
	left := sum(counts)
	var pmf []float64
	for i := range u {
		if left == 0 {
			u[i] = math.NaN()
			continue
		}
		below, at := 0.0, 0.0
		for c, a := range alpha {
			one, err := mixture.NewBeta([]float64{1}, a[i:i+1], []float64{sum(a[i+1:])})
			if err != nil {
				return nil, err
			}
			pmf = one.VoteCounts(pmf[:0], int(left))
			s := int(counts[i])
			below += weights[c] * sum(pmf[:s])
			at += weights[c] * pmf[s]
			logs[c] += math.Log(pmf[s])
		}
		u[i] = min(1, below+v[i]*at)
		left -= counts[i]
		// If all logarithms are −Inf, the weights are equal.
		if copy(weights, logs); math.IsInf(slices.Max(logs), -1) {
			clear(weights)
		}
		logistic.Softmax(weights, weights)
	}
	return u, nil
}

// pit transforms all items with whole counts and tests each coordinate.
func (s *sample) pit(r *Result, seed uint64) {
	values := make([][]float64, s.n)
	forItems(s.ctx, s.n, func(j int) {
		if !whole(s.Votes.Item(j)) {
			return
		}
		v := make([]float64, s.d-1)
		uniform := rng.New(seed, "evaluate.PIT", uint64(j))
		for i := range v {
			v[i] = uniform.Float64()
		}
		values[j], _ = pitValues(s.mixtures[j], s.Votes.Item(j), v)
	})
	fractional := 0
	for j := range s.n {
		if !whole(s.Votes.Item(j)) {
			fractional++
		}
	}
	if fractional > 0 {
		r.Warnings.add("%d items have fractional vote counts and are left out of the PIT", fractional)
	}
	p := &r.PIT
	p.PValue, p.Distance = unknown, unknown
	ps := make([]float64, s.d-1)
	for i := range ps {
		c := PITCoordinate{Class: s.Classes[i]}
		for _, u := range values {
			if u != nil && !math.IsNaN(u[i]) {
				c.Values = append(c.Values, u[i])
			}
		}
		c.Items = len(c.Values)
		var d float64
		d, ps[i] = kolmogorovSmirnov(c.Values)
		c.Distance, c.PValue = Number(d), Number(ps[i])
		if !(float64(p.Distance) >= d) {
			p.Distance = c.Distance
		}
		p.Coordinates = append(p.Coordinates, c)
	}
	for i, a := range holm(ps) {
		p.Coordinates[i].Adjusted = Number(a)
		if !(float64(p.PValue) <= a) {
			p.PValue = Number(a)
		}
	}
	r.PITPValue = p.PValue
	if s.units < s.n && p.PValue.Known() {
		r.Warnings.add("items come in groups, but the p-value of the PIT assumes independent items: it may be too small")
	}
}

// kolmogorovSmirnov returns sup|ECDF − u| of a sample u from [0, 1], and the
// p-value for a uniform distribution. The sample is sorted in place.
//
// With n observations the p-value is 1 − K((√n + 0.12 + 0.11/√n) D), K being
// Kolmogorov's limiting distribution (Stephens 1970). From n = 10 on it is within
// 0.001 of the exact one where that is below 0.1, within 0.023 elsewhere.
func kolmogorovSmirnov(u []float64) (d, p float64) {
	n := float64(len(u))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(u)
	for i, x := range u {
		d = max(d, x-float64(i)/n, float64(i+1)/n-x)
	}
	root := math.Sqrt(n)
	return d, kolmogorovTail((root + 0.12 + 0.11/root) * d)
}

// kolmogorovTail returns 2 Σ_{k≥1} (−1)^{k−1} e^{−2k²x²} or, for small x, one
// minus √(2π)/x Σ_{k≥1} e^{−(2k−1)²π²/(8x²)}, which then converges faster.
func kolmogorovTail(x float64) float64 {
	if x <= 0 {
		return 1
	}
	if x < 1 {
		s := 0.0
		for k := 1.0; k < 20; k += 2 {
			s += math.Exp(-k * k * math.Pi * math.Pi / (8 * x * x))
		}
		return min(1, 1-math.Sqrt(2*math.Pi)/x*s)
	}
	s, sign := 0.0, 1.0
	for k := 1.0; k < 20; k++ {
		s += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return 2 * s
}

// holm adjusts p-values for multiple tests (Holm 1979): in increasing order, the
// k-th of n is multiplied by n − k + 1, and none is smaller than the one before.
// NaNs do not count and stay NaN.
func holm(p []float64) []float64 {
	adjusted := slices.Clone(p)
	var order []int
	for i, x := range p {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	last := 0.0
	for k, i := range order {
		last = max(last, min(1, p[i]*float64(len(order)-k)))
		adjusted[i] = last
	}
	return adjusted
}

// twoSidedNormal returns the probability that a standard normal variable is further
// from zero than z.
func twoSidedNormal(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// normal975 is the 97.5% quantile of the standard normal distribution.
const normal975 = 1.959963984540054
