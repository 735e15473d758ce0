package evaluate

import (
	"math"
	"slices"

	"credence/internal/kernel"
)

// scale is the distance between two classes that Krippendorff's alpha is
// based on.
type scale int

const (
	nominal scale = iota // equal or not
	ordinal              // by rank, in the order of classes
	byValue              // by the values of classes
)

// distances returns δ²_ck, [d × d], for marginal frequencies n and class values.
//
//	nominal   1{c ≠ k}
//	ordinal   (Σ_{g=c}^{k} n_g − (n_c + n_k)/2)²
//	interval  (v_c − v_k)²
//
// (Krippendorff 2011, "Computing Krippendorff's alpha-reliability".)
func (s scale) distances(n, values []float64) []float64 {
	d := len(n)
	delta := make([]float64, d*d)
	for c := range d {
		between := 0.0
		for k := c + 1; k < d; k++ {
			x := 1.0
			switch s {
			case ordinal:
				x = n[c]/2 + between + n[k]/2
				between += n[k]
			case byValue:
				x = values[c] - values[k]
			}
			delta[c*d+k], delta[k*d+c] = x*x, x*x
		}
	}
	return delta
}

// addCoincidences calls add with each of the coincidences of an item's votes,
//
//	o_ck = S_c (S_k − 1{c=k}) / (m − 1),   m ≥ 2.
func addCoincidences(votes []float64, add func(c, k int, v float64)) {
	m := sum(votes)
	if m < 2 {
		return
	}
	for c, s := range votes {
		if s == 0 {
			continue
		}
		for k, r := range votes {
			if k == c {
				r--
			}
			add(c, k, s*r/(m-1))
		}
	}
}

// marginals returns the sums n_c of the rows of pairs, [d × d].
func marginals(pairs []float64, d int) (n []float64) {
	for row := range slices.Chunk(pairs, d) {
		n = append(n, sum(row))
	}
	return n
}

// alpha computes Krippendorff's alpha from coincidences, [d × d]:
//
//	1 − (n−1) Σ_{c<k} o_ck δ²_ck / Σ_{c<k} n_c n_k δ²_ck.
//
// It is NaN if all votes are for one class or no item has two.
func alpha(pairs []float64, d int, by scale, values []float64) float64 {
	n := marginals(pairs, d)
	delta := by.distances(n, values)
	observed, expected := 0.0, 0.0
	for c := range d {
		for k := c + 1; k < d; k++ {
			observed += pairs[c*d+k] * delta[c*d+k]
			expected += n[c] * n[k] * delta[c*d+k]
		}
	}
	if expected == 0 {
		return math.NaN()
	}
	return 1 - (sum(n)-1)*observed/expected
}

// The columns of kappa, followed by those of the class shares.
const (
	kappaItems     = iota // items with votes
	kappaPairs            // items with two or more votes
	kappaAgreement        // sum of their agreement
	kappaColumns
)

func addKappa(votes []float64, add func(column int, v float64)) {
	m := sum(votes)
	if m == 0 {
		return
	}
	add(kappaItems, 1)
	if m >= 2 {
		add(kappaPairs, 1)
		add(kappaAgreement, PairAgreement(votes))
	}
	for c, s := range votes {
		add(kappaColumns+c, s/m)
	}
}

// kappa computes Fleiss' kappa, generalized to items with different numbers of
// votes: with P the mean over items with two or more votes of the share of pairs
// that agree, and π_c the mean over all voted items of the share of votes for
// class c,
//
//	κ = (P − Σπ_c²) / (1 − Σπ_c²).
//
// With equal numbers it is that of Fleiss 1971; otherwise that of Gwet 2014
// (Handbook of Inter-Rater Reliability, chapter 2).
func kappa(k []float64) float64 {
	chance := 0.0
	for _, share := range k[kappaColumns:] {
		p := share / k[kappaItems]
		chance += p * p
	}
	if chance >= 1 {
		return math.NaN()
	}
	return (k[kappaAgreement]/k[kappaPairs] - chance) / (1 - chance)
}

// Agreement compares the predicted probability that two votes on an item agree with
// the observed share of pairs that do.
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

// The columns of a group of items with two or more votes: the number of items,
// and the sums of predicted and observed agreement.
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
	items := s.itemsWith(2)
	for _, j := range items {
		paired[j] = 1
		agree[j] = kernel.Dot64(s.means(j), s.means(j)) + sum(s.variances(j))
	}
	tallyBins := func(value []float64, bins int) []Agreement {
		of, n := equalMass(value, paired, bins)
		first, list := t.column(n*columnsPerPairBin), make([]Agreement, n)
		for _, j := range items {
			list[of[j]].Items++
			t.addAll(s.unit[j], first+of[j]*columnsPerPairBin, 1, agree[j], PairAgreement(s.Votes.Item(j)))
		}
		for b := range list {
			a, at := &list[b], first+b*columnsPerPairBin
			t.estimate(&a.Predicted, nil, ratio(at+pairPredicted, at+pairItems))
			t.estimate(&a.Observed, nil, ratio(at+pairObserved, at+pairItems))
			t.estimate(new(Number), &a.SE, func(s []float64) float64 {
				return (s[at+pairObserved] - s[at+pairPredicted]) / s[at+pairItems]
			})
		}
		return list
	}
	all := tallyBins(make([]float64, s.n), 1)
	t.then(func() { r.Agreement = all[0] })
	r.AgreementBins = tallyBins(agree, bins)
}
