package evaluate

import "credence/internal/kernel"

// Agreement compares the predicted chance that two votes on an item agree with
// the share of pairs that did.
type Agreement struct {
	Items     int    `json:"items"`
	Predicted Number `json:"predicted"`
	Observed  Number `json:"observed"`
	SE        Number `json:"se"` // of Observed − Predicted
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

// pairs is one group of items with two or more votes: the sums of predicted
// and observed agreement, and the number of items.
const (
	pairItems = iota
	pairPredicted
	pairObserved
	columnsPerPairBin
)

// tallyAgreement adds the agreement of pairs of votes, over all items and in bins
// of predicted agreement.
func tallyAgreement(t *tally, s *sample, r *Result, bins int) {
	paired := make([]float64, s.n) // 1 for items with two votes
	agree := make([]float64, s.n)
	for j := range s.n {
		agree[j] = kernel.Dot64(s.means(j), s.means(j)) + sum(s.variances(j))
		if s.total[j] >= 2 {
			paired[j] = 1
			r.Agreement.Items++
		}
	}
	tallyBins := func(value []float64, bins int) (first int, counts []int) {
		of, n := equalMass(value, paired, bins)
		first, counts = t.column(n*columnsPerPairBin), make([]int, n)
		for j, b := range of {
			if paired[j] == 0 {
				continue
			}
			counts[b]++
			at, u := first+b*columnsPerPairBin, s.unit[j]
			t.add(u, at+pairItems, 1)
			t.add(u, at+pairPredicted, agree[j])
			t.add(u, at+pairObserved, PairAgreement(s.votes.Item(j)))
		}
		return first, counts
	}
	all, _ := tallyBins(make([]float64, s.n), 1)
	agreementAt(t, &r.Agreement, all)
	first, counts := tallyBins(agree, bins)
	r.AgreementBins = make([]Agreement, len(counts))
	for b, n := range counts {
		r.AgreementBins[b].Items = n
		agreementAt(t, &r.AgreementBins[b], first+b*columnsPerPairBin)
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
