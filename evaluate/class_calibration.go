package evaluate

import "math"

// ClassCalibration compares how many votes a class received with how many were
// predicted. An error that is small in points, such as 4% for 2%, is large for a
// class that is rare.
type ClassCalibration struct {
	Class    string `json:"class"`
	Observed Number `json:"observed"` // share of votes
	Expected Number `json:"expected"` // mean predicted probability, a vote
	// Ratio is observed over expected. Its standard error is that if predictions are
	// right: exact under the predicted laws or, where there are none or it is larger
	// for items in groups, by bootstrap.
	Ratio Estimate `json:"ratio"`
	// PValue is that of the ratio being one, adjusted for the number of classes.
	PValue Number `json:"p_value"`
}

// Off reports whether the class gets other than the predicted share of votes: by more
// than chance, and by more than a tenth of it.
func (c *ClassCalibration) Off() bool {
	return c.PValue < 0.01 && math.Abs(float64(c.Ratio.Value)-1) > 0.1
}

// Near reports whether it surely gets about the predicted share: two standard errors
// about the ratio lie within two thirds and three halves.
func (c *ClassCalibration) Near() bool {
	return c.Ratio.Value-2*c.Ratio.SE >= 2./3 && c.Ratio.Value+2*c.Ratio.SE <= 1.5
}

// tallyClasses adds the calibration of every class on the whole.
func tallyClasses(t *tally, s *sample, r *Result) {
	r.ClassCalibration = make([]ClassCalibration, s.d)
	boot, p := make([]Number, s.d), make([]float64, s.d)
	votes := t.column(1)
	for j, m := range s.total {
		t.add(s.unit[j], votes, m)
	}
	for i := range r.ClassCalibration {
		c := &r.ClassCalibration[i]
		c.Class = s.names[i]
		observed, expected := t.column(1), t.column(1)
		variance, total := 0.0, 0.0
		for j, m := range s.total {
			mu := s.means(j)[i]
			t.add(s.unit[j], observed, s.votes.Item(j)[i])
			t.add(s.unit[j], expected, m*mu)
			// Var S = m μ(1 − μ) + m(m−1) Var p.
			variance += m*mu*(1-mu) + m*(m-1)*s.variances(j)[i]
			total += m * mu
		}
		t.ratio(&c.Observed, nil, observed, votes)
		t.ratio(&c.Expected, nil, expected, votes)
		t.ratio(&c.Ratio.Value, &boot[i], observed, expected)
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
