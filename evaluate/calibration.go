package evaluate

import "math"

// ReliabilityBin is one point of a reliability diagram: the share of the votes
// on the items of a bin that are for the class, and the predicted
// probability.
type ReliabilityBin struct {
	Items     int    `json:"items"`
	Votes     Number `json:"votes"`
	Predicted Number `json:"predicted"` // mean predicted probability over votes
	Observed  Number `json:"observed"`
	SE        Number `json:"se"` // of Observed
	// Lo and Hi are a 95% interval for the expected share.
	Lo Number `json:"lo"`
	Hi Number `json:"hi"`
}

// Reliability is a reliability diagram.
type Reliability struct {
	// Class is the class, or "" if the diagram is for the predicted class of each
	// item.
	Class string           `json:"class"`
	Bins  []ReliabilityBin `json:"bins"`
}

// calibration locates the columns that the bins of a diagram are computed from.
// In bin b, unit u (an item or a group) has m votes, s votes for the class, and
// e = Σ m μ expected votes for it.
type calibration struct {
	bins  int
	first int // first column; columnsPerBin for each bin
}

// The columns of a bin: sums over units, with r = s − e.
const (
	binVotes    = iota // Σ m
	binHits            // Σ s
	binExpected        // Σ e
	binRR              // Σ r²
	binRM              // Σ r m
	binMM              // Σ m²
	binUnits           // units with votes
	columnsPerBin
)

// calibrate tallies the votes for one class per item (hits, [N]) and its
// predicted probability, in equal-mass bins of the latter.
func calibrate(t *tally, s *sample, predicted, hits []float64, bins int) (c calibration, of []int) {
	of, n := equalMass(predicted, s.total, bins)
	c = calibration{bins: n, first: t.column(n * columnsPerBin)}
	type key struct{ unit, bin int }
	type entry struct{ m, s, e float64 }
	entries := map[key]*entry{}
	var order []key
	for j, b := range of {
		if s.total[j] == 0 {
			continue
		}
		k := key{s.unit[j], b}
		e := entries[k]
		if e == nil {
			e = &entry{}
			entries[k] = e
			order = append(order, k)
		}
		e.m += s.total[j]
		e.s += hits[j]
		e.e += s.total[j] * predicted[j]
	}
	for _, k := range order {
		e := entries[k]
		r := e.s - e.e
		// In the order of the columns of a bin.
		t.addAll(k.unit, c.first+k.bin*columnsPerBin, e.m, e.s, e.e, r*r, r*e.m, e.m*e.m, 1)
	}
	return c, of
}

// gap returns observed minus predicted share of a bin and its variance, with
// units as the independent observations:
//
//	Δ = Σr/Σm,   Var Δ ≈ n/(n−1) Σ(r − Δm)²/(Σm)².
func (c calibration) gap(sums []float64, bin int) (delta, variance float64) {
	s := sums[c.first+bin*columnsPerBin:]
	m := s[binVotes]
	delta = (s[binHits] - s[binExpected]) / m
	n := s[binUnits]
	if n < 2 {
		return delta, math.NaN()
	}
	return delta, max(0, n/(n-1)*(s[binRR]-2*delta*s[binRM]+delta*delta*s[binMM])/(m*m))
}

// ece returns the expected calibration error Σ_b ω_b |Δ_b|, ω_b being the share
// of votes in bin b, with and without a correction for sampling noise.
//
// An observed gap is Δ = δ + noise of variance σ², so |Δ| is too large on
// average, most of all for a perfect prediction. If the true gaps are drawn
// from N(0, τ²), with τ² = max(0, Σω(Δ² − σ²)) by moments, the excess is
//
//	√(2/π) Σ_b ω_b (√(τ² + σ_b²) − τ).
//
// For a calibrated prediction this is all of Σω|Δ|; for large gaps it vanishes.
// The result is truncated at zero. (Kumar, Liang and Ma 2019,
// "Verified uncertainty calibration", correct Δ² in the same way.)
func (c calibration) ece(sums []float64) (corrected, plain float64) {
	type gap struct{ weight, variance float64 }
	gaps := make([]gap, 0, c.bins) // with a known variance
	votes, tau2 := 0.0, 0.0
	for b := range c.bins {
		votes += sums[c.first+b*columnsPerBin+binVotes]
	}
	for b := range c.bins {
		w := sums[c.first+b*columnsPerBin+binVotes] / votes
		if w == 0 {
			continue
		}
		delta, v := c.gap(sums, b)
		plain += w * math.Abs(delta)
		if !math.IsNaN(v) {
			tau2 += w * (delta*delta - v)
			gaps = append(gaps, gap{w, v})
		}
	}
	tau := math.Sqrt(max(0, tau2))
	corrected = plain
	for _, g := range gaps {
		corrected -= g.weight * math.Sqrt(2/math.Pi) * (math.Sqrt(tau*tau+g.variance) - tau)
	}
	return max(0, corrected), plain
}

// diagram returns a reliability diagram with bins that are computed when t is run.
func (c calibration) diagram(t *tally, class string, s *sample, of []int) Reliability {
	r := Reliability{Class: class, Bins: make([]ReliabilityBin, c.bins)}
	for j, b := range of {
		if s.total[j] > 0 {
			r.Bins[b].Items++
		}
	}
	for b := range r.Bins {
		at := c.first + b*columnsPerBin
		t.estimate(&r.Bins[b].Votes, nil, func(s []float64) float64 { return s[at+binVotes] })
		t.estimate(&r.Bins[b].Predicted, nil, ratio(at+binExpected, at+binVotes))
		t.estimateOf(r.Bins[b].Items, &r.Bins[b].Observed, &r.Bins[b].SE, ratio(at+binHits, at+binVotes))
		t.then(r.Bins[b].interval)
	}
	return r
}

// interval sets the ends of the Wilson interval, with the number of votes
// reduced to that of independent votes with the same standard error or, if all
// votes are equal, to the number of items.
func (b *ReliabilityBin) interval() {
	p, n := float64(b.Observed), float64(b.Votes)
	if se := float64(b.SE); se > 0 {
		n = min(n, p*(1-p)/(se*se))
	} else {
		n = float64(b.Items)
	}
	lo, hi := wilson(p, n, normal975)
	b.Lo, b.Hi = Number(lo), Number(hi)
}

// wilson returns the score interval of a share p of n trials, at z standard
// deviations (Wilson 1927).
func wilson(p, n, z float64) (lo, hi float64) {
	if !(n > 0) {
		return math.NaN(), math.NaN()
	}
	z2 := z * z
	center := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return max(0, center-half), min(1, center+half)
}

// ClassCalibration compares the number of votes for a class with the predicted
// number. An error that is small in percentage points, such as 4% instead of 2%, is
// large for a rare class.
type ClassCalibration struct {
	Class    string `json:"class"`
	Observed Number `json:"observed"` // share of votes
	Expected Number `json:"expected"` // mean predicted probability over votes
	// Ratio is observed over expected. Its standard error is that if predictions are
	// right: exact under the predicted distributions or, if there are none or it is
	// larger for items in groups, by bootstrap.
	Ratio Estimate `json:"ratio"`
	// PValue is the p-value for a ratio of one, adjusted for the number of classes.
	PValue Number `json:"p_value"`
}

// Off reports whether the share of votes for the class differs from the prediction by
// more than chance, and by more than a tenth.
func (c *ClassCalibration) Off() bool {
	return c.PValue < 0.01 && math.Abs(float64(c.Ratio.Value)-1) > 0.1
}

// Near reports whether the share is close to the prediction with certainty: the ratio
// plus or minus two standard errors lies between two thirds and three halves.
func (c *ClassCalibration) Near() bool {
	return c.Ratio.Value-2*c.Ratio.SE >= 2./3 && c.Ratio.Value+2*c.Ratio.SE <= 1.5
}

// tallyClasses adds the overall calibration of every class.
func tallyClasses(t *tally, s *sample, r *Result) {
	r.ClassCalibration = make([]ClassCalibration, s.d)
	boot, p := make([]Number, s.d), make([]float64, s.d)
	votes := t.column(1)
	for j, m := range s.total {
		t.add(s.unit[j], votes, m)
	}
	for i := range r.ClassCalibration {
		c := &r.ClassCalibration[i]
		c.Class = s.Classes[i]
		observed, expected := t.column(1), t.column(1)
		variance, total := 0.0, 0.0
		for j, m := range s.total {
			mu := s.means(j)[i]
			t.add(s.unit[j], observed, s.Votes.Item(j)[i])
			t.add(s.unit[j], expected, m*mu)
			// Var S = m μ(1 − μ) + m(m−1) Var p.
			variance += m*mu*(1-mu) + m*(m-1)*s.variances(j)[i]
			total += m * mu
		}
		t.estimate(&c.Observed, nil, ratio(observed, votes))
		t.estimate(&c.Expected, nil, ratio(expected, votes))
		t.estimate(&c.Ratio.Value, &boot[i], ratio(observed, expected))
		t.then(func() {
			c.Ratio.SE = Number(math.Sqrt(variance) / total)
			if s.mixtures == nil || s.units < s.n && boot[i] > c.Ratio.SE {
				c.Ratio.SE = boot[i]
			}
			p[i] = twoSidedNormal(float64(c.Ratio.Value-1) / float64(c.Ratio.SE))
		})
	}
	t.then(func() {
		for i, adjusted := range holm(p) {
			r.ClassCalibration[i].PValue = Number(adjusted)
		}
	})
}
