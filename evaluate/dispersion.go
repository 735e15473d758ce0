package evaluate

// Agreement compares the predicted chance that two votes on an item agree with
// the share of pairs that did.
type Agreement struct {
	Items     int    `json:"items"`
	Predicted Number `json:"predicted"`
	Observed  Number `json:"observed"`
	SE        Number `json:"se"` // of Observed − Predicted
}

// Dispersion compares the spread of the true probabilities about the predicted
// mean, as pairs of votes show it, with the predicted variance.
type Dispersion struct {
	Items    int    `json:"items"`
	Variance Number `json:"variance"` // predicted, ΣV_i, mean over items
	Observed Number `json:"observed"` // D, mean over items
	// Ratio is ΣD/ΣV: below one if intervals are too wide, above if they are
	// too narrow or the means are wrong.
	Ratio   Number `json:"ratio"`
	RatioSE Number `json:"ratio_se"`
}

// PairAgreement returns the share of pairs of votes that agree,
//
//	Σ_i S_i(S_i−1) / (m(m−1)),   m ≥ 2.
func PairAgreement(votes []float64) float64 {
	m, a := sum(votes), 0.0
	for _, s := range votes {
		a += s * (s - 1)
	}
	return a / (m * (m - 1))
}

// spreadAboutMean returns, from m ≥ 2 votes and the predicted mean μ,
//
//	D = Σ_i [ S_i(S_i−1)/(m(m−1)) − 2μ_i S_i/m + μ_i² ],
//
// which is unbiased for Σ_i E(p_i − μ_i)².
func spreadAboutMean(mean, votes []float64) float64 {
	return PairAgreement(votes) - 2*dot(mean, votes)/sum(votes) + dot(mean, mean)
}

// pairs is one group of items with two or more votes: the sums of predicted
// and observed agreement, of V and of D, and the number of items.
const (
	pairItems = iota
	pairPredicted
	pairObserved
	pairVariance
	pairSpread
	columnsPerPairBin
)

// tallyPairs adds the second moments: agreement in bins of predicted agreement,
// dispersion in bins of predicted variance, and both overall.
func tallyPairs(t *tally, s *sample, r *Result, bins int) {
	paired := make([]float64, s.n) // 1 for items with two votes
	agree, spread := make([]float64, s.n), make([]float64, s.n)
	items := 0
	for j := range s.n {
		mu, v := s.means(j), s.variances(j)
		spread[j] = sum(v)
		agree[j] = dot(mu, mu) + spread[j]
		if s.total[j] >= 2 {
			paired[j] = 1
			items++
		}
	}
	if items == 0 {
		r.Agreement = Agreement{Predicted: unknown, Observed: unknown, SE: unknown}
		r.DispersionRatio, r.DispersionRatioSE = unknown, unknown
		r.warn("no item has two votes: agreement and dispersion cannot be judged")
		return
	}
	tallyBins := func(value []float64, bins int) (first int, counts []int) {
		of, n := equalMass(value, paired, bins)
		first, counts = t.column(n*columnsPerPairBin), make([]int, n)
		for j, b := range of {
			if paired[j] == 0 {
				continue
			}
			counts[b]++
			at, u, votes := first+b*columnsPerPairBin, s.unit[j], s.votes.Item(j)
			t.add(u, at+pairItems, 1)
			t.add(u, at+pairPredicted, agree[j])
			t.add(u, at+pairObserved, PairAgreement(votes))
			t.add(u, at+pairVariance, spread[j])
			t.add(u, at+pairSpread, spreadAboutMean(s.means(j), votes))
		}
		return first, counts
	}
	all, _ := tallyBins(make([]float64, s.n), 1)
	r.Agreement.Items = items
	agreementAt(t, &r.Agreement, all)
	t.ratio(&r.DispersionRatio, &r.DispersionRatioSE, all+pairSpread, all+pairVariance)

	first, counts := tallyBins(agree, bins)
	r.AgreementBins = make([]Agreement, len(counts))
	for b, n := range counts {
		r.AgreementBins[b].Items = n
		agreementAt(t, &r.AgreementBins[b], first+b*columnsPerPairBin)
	}
	first, counts = tallyBins(spread, bins)
	r.DispersionBins = make([]Dispersion, len(counts))
	for b, n := range counts {
		d, at := &r.DispersionBins[b], first+b*columnsPerPairBin
		d.Items = n
		t.ratio(&d.Variance, nil, at+pairVariance, at+pairItems)
		t.ratio(&d.Observed, nil, at+pairSpread, at+pairItems)
		t.ratioOf(n, &d.Ratio, &d.RatioSE, at+pairSpread, at+pairVariance)
	}
}

func agreementAt(t *tally, a *Agreement, at int) {
	t.ratio(&a.Predicted, nil, at+pairPredicted, at+pairItems)
	t.ratio(&a.Observed, nil, at+pairObserved, at+pairItems)
	var difference Number
	t.estimate(&difference, &a.SE, func(s []float64) float64 {
		return (s[at+pairObserved] - s[at+pairPredicted]) / s[at+pairItems]
	})
}
