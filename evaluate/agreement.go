package evaluate

import "math"

// Scale is how the distance between two classes is measured by Krippendorff's
// alpha.
type Scale int

const (
	Nominal  Scale = iota // equal or not
	Ordinal               // by rank, in the order of classes
	Interval              // by the values of classes
)

// distances returns δ²_ck, [d × d], for marginal frequencies n and class values.
//
//	nominal   1{c ≠ k}
//	ordinal   (Σ_{g=c}^{k} n_g − (n_c + n_k)/2)²
//	interval  (v_c − v_k)²
//
// (Krippendorff 2011, "Computing Krippendorff's alpha-reliability".)
func (s Scale) distances(n, values []float64) []float64 {
	d := len(n)
	delta := make([]float64, d*d)
	for c := range d {
		between := 0.0
		for k := c + 1; k < d; k++ {
			x := 1.0
			switch s {
			case Ordinal:
				x = n[c]/2 + between + n[k]/2
				between += n[k]
			case Interval:
				x = values[c] - values[k]
			}
			delta[c*d+k], delta[k*d+c] = x*x, x*x
		}
	}
	return delta
}

// Alpha returns Krippendorff's alpha of the votes: 1 less the observed over the
// expected disagreement. It is 1 if votes on an item always agree and 0 if they
// agree as by chance; NaN if all votes are for one class or no item has two.
// Values are those of the classes on the interval scale (nil: 0, 1, …).
func Alpha(votes Votes, scale Scale, values []float64) float64 {
	d := votes.Classes
	pairs := make([]float64, d*d)
	for j := range votes.Len() {
		addCoincidences(votes.Item(j), func(c, k int, v float64) { pairs[c*d+k] += v })
	}
	return alpha(pairs, d, scale, classValues(values, d))
}

// classValues returns values, or 0, 1, … if they are nil.
func classValues(values []float64, d int) []float64 {
	if values != nil {
		return values
	}
	values = make([]float64, d)
	for i := range values {
		values[i] = float64(i)
	}
	return values
}

// addCoincidences calls add with the coincidences of an item's votes,
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

// alpha computes Krippendorff's alpha from coincidences, [d × d]:
//
//	1 − (n−1) Σ_{c<k} o_ck δ²_ck / Σ_{c<k} n_c n_k δ²_ck.
func alpha(pairs []float64, d int, scale Scale, values []float64) float64 {
	n := make([]float64, d)
	for c := range n {
		n[c] = sum(pairs[c*d : (c+1)*d])
	}
	delta := scale.distances(n, values)
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

// FleissKappa returns Fleiss' kappa, generalised to items with different numbers
// of votes: with P the mean over items with two or more votes of the share of
// pairs that agree, and π_c the mean over all voted items of the share of votes
// for class c,
//
//	κ = (P − Σπ_c²) / (1 − Σπ_c²).
//
// With equal numbers it is that of Fleiss 1971; otherwise that of Gwet 2014
// (Handbook of Inter-Rater Reliability, chapter 2).
func FleissKappa(votes Votes) float64 {
	d := votes.Classes
	k := make([]float64, kappaColumns+d)
	for j := range votes.Len() {
		addKappa(votes.Item(j), func(column int, v float64) { k[column] += v })
	}
	return kappa(k)
}

// The columns of kappa; those of the class shares follow.
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
