package evaluate

// Difference compares the losses of two models on the same items: first less
// second, so a negative value says that the first is better.
type Difference struct {
	IntervalEstimate
	// PValue is that of no difference, two-sided: twice the share of replicates
	// on the other side of zero, and never below 2/(replicates + 1).
	PValue Number `json:"p_value"`
}

// compare has a Difference set to that of two models' losses per vote,
//
//	Σ_j (first_j − second_j) / Σ_j votes_j,
//
// first and second being summed over the votes of each item ([N] each, as
// jointLosses returns them). Items or groups are drawn together for both models.
func (s *sample) compare(t *tally, first, second []float64) *Difference {
	loss, weight := t.column(1), t.column(1)
	for j := range first {
		t.add(s.unit[j], loss, first[j]-second[j])
		t.add(s.unit[j], weight, s.total[j])
	}
	d := &Difference{}
	t.difference(d, func(s []float64) float64 { return s[loss] / s[weight] })
	return d
}
