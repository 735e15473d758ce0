package evaluate

// ResolutionStratum is how predictions score among the items whose interval the
// resolution rule touched, or did not. Those it touched claim more than votes
// could tell, so they are judged apart.
type ResolutionStratum struct {
	// Stratum is "resolved" or "below resolution".
	Stratum           string `json:"stratum"`
	Items             int    `json:"items"`
	NLL               Number `json:"nll_per_vote"`
	NLLSE             Number `json:"nll_per_vote_se"`
	Accuracy          Number `json:"accuracy"`
	AccuracySE        Number `json:"accuracy_se"`
	DispersionRatio   Number `json:"dispersion_ratio"`
	DispersionRatioSE Number `json:"dispersion_ratio_se"`
}

// tallyResolution adds the two strata, from the joint loss of every item.
func tallyResolution(t *tally, s *sample, r *Result, joint []float64, touched []bool) {
	const votes, loss, items, credit, spread, variance, columns = 0, 1, 2, 3, 4, 5, 6
	r.Resolution = make([]ResolutionStratum, len(resolutionStrata))
	first := t.column(len(resolutionStrata) * columns)
	for j := range s.n {
		b := 0
		if touched[j] {
			b = 1
		}
		r.Resolution[b].Items++
		if s.total[j] == 0 {
			continue
		}
		u, at, v := s.unit[j], first+b*columns, s.votes.Item(j)
		t.add(u, at+votes, s.total[j])
		t.add(u, at+loss, joint[j])
		t.add(u, at+items, 1)
		t.add(u, at+credit, MajorityCredit(s.top[j], v))
		if s.total[j] >= 2 {
			t.add(u, at+spread, spreadAboutMean(s.means(j), v))
			t.add(u, at+variance, sum(s.variances(j)))
		}
	}
	for b, name := range resolutionStrata {
		x, at := &r.Resolution[b], first+b*columns
		x.Stratum = name
		t.ratioOf(x.Items, &x.NLL, &x.NLLSE, at+loss, at+votes)
		t.ratioOf(x.Items, &x.Accuracy, &x.AccuracySE, at+credit, at+items)
		t.ratioOf(x.Items, &x.DispersionRatio, &x.DispersionRatioSE, at+spread, at+variance)
	}
}
