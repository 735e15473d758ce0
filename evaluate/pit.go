package evaluate

import (
	"math"
	"slices"

	"credence/internal/logistic"
	"credence/internal/rng"
	"credence/mixture"
)

// PIT says how well the predicted distribution of an item's vote counts fits the
// counts seen, by the probability integral transform.
type PIT struct {
	// PValue is that of the predictions being right: the smallest of the
	// coordinates' after Holm's adjustment.
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
// and u_i = P(< S_i) + v_i P(S_i). Where no trials are left S_i tells nothing,
// and u_i is NaN. Counts are whole numbers.
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
	a, b := make([]float64, k), make([]float64, k)
	var pmf []float64
	for i := range u {
		if left == 0 {
			u[i] = math.NaN()
			continue
		}
		for c := range k {
			a[c], b[c] = alpha[c][i], sum(alpha[c][i+1:])
		}
		below, at := 0.0, 0.0
		for c := range k {
			one, err := mixture.NewBeta([]float64{1}, a[c:c+1], b[c:c+1])
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
		copy(weights, logs)
		normalizeLogs(weights)
	}
	return u, nil
}

// normalizeLogs replaces logarithms of weights by weights that sum to one. If
// all are −Inf, the weights are equal.
func normalizeLogs(w []float64) {
	if math.IsInf(slices.Max(w), -1) {
		clear(w)
	}
	logistic.Softmax(w, w)
}

// pit transforms all items with whole counts and tests each coordinate.
func (s *sample) pit(r *Result, seed uint64) {
	values := make([][]float64, s.n)
	forItems(s.ctx, s.n, func(j int) {
		if !whole(s.votes.Item(j)) {
			return
		}
		v := make([]float64, s.d-1)
		uniform := rng.New(seed, "evaluate.PIT", uint64(j))
		for i := range v {
			v[i] = uniform.Float64()
		}
		values[j], _ = pitValues(s.mixtures[j], s.votes.Item(j), v)
	})
	fractional := 0
	for j := range s.n {
		if !whole(s.votes.Item(j)) {
			fractional++
		}
	}
	if fractional > 0 {
		r.warn("%d items have fractional vote counts and are left out of the PIT", fractional)
	}
	p := &r.PIT
	p.PValue, p.Distance = unknown, unknown
	ps := make([]float64, s.d-1)
	for i := range ps {
		c := PITCoordinate{Class: s.names[i]}
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
		r.warn("items come in groups, but the p-value of the PIT takes them as independent: it may be too small")
	}
}
