package evaluate

import (
	"maps"
	"math"
	"slices"

	"credence/dataset"
)

// Rater is how one rater votes compared with the others on the same items.
//
// If raters are exchangeable, as the likelihood of a mixture takes them to be, a
// rater's vote on an item is any of the item's m votes with equal chance. That
// gives the mean and the variance of what a rater does on all of her items, and
// so two tests, of agreement and of the use of classes, by the normal
// approximation.
type Rater struct {
	Rater int    `json:"rater"`
	Name  string `json:"name"`
	Votes int    `json:"votes"` // on items that others voted on too
	// Agreement is the mean share of the other votes on an item that equal the
	// rater's; Expected is the same for an exchangeable rater.
	Agreement Number `json:"agreement"`
	Expected  Number `json:"expected"`
	// AgreementP and UsageP are the p-values of the two tests, adjusted after
	// Holm for all tests of all raters; null with too few votes that could
	// differ.
	AgreementP Number `json:"agreement_p"`
	UsageP     Number `json:"usage_p"`
	// Excess is, for each class, how much more of the rater's votes go to it
	// than an exchangeable rater's would, as a share.
	Excess []float64 `json:"excess"`
	// Differs is whether a p-value is below 0.05.
	Differs bool `json:"differs"`
}

// informative is how many of a rater's votes must be on items where votes
// differ for a test.
const informative = 10

// compareRaters describes every rater, by number; those who voted on no item
// that others voted on are left out.
func compareRaters(ratings []dataset.Rating, votes Votes, names []string) []Rater {
	type sums struct {
		n, mixed                  int
		agree, expected, variance float64
		use, useVariance          []float64
	}
	of := map[int32]*sums{}
	for _, b := range ratings {
		s := votes.Item(int(b.Item))
		m := sum(s)
		if m < 2 {
			continue
		}
		r := of[b.Rater]
		if r == nil {
			r = &sums{use: make([]float64, votes.Classes), useVariance: make([]float64, votes.Classes)}
			of[b.Rater] = r
		}
		r.n++
		if s[b.Class] < m {
			r.mixed++
		}
		r.agree += (s[b.Class] - 1) / (m - 1)
		mean, square := 0.0, 0.0
		for c, k := range s {
			a, p := (k-1)/(m-1), k/m
			mean += p * a
			square += p * a * a
			r.use[c] -= p
			r.useVariance[c] += p * (1 - p)
		}
		r.use[b.Class]++
		r.expected += mean
		r.variance += square - mean*mean
	}
	var raters []Rater
	var ps []float64 // two for each rater
	for _, id := range slices.Sorted(maps.Keys(of)) {
		r := of[id]
		n := float64(r.n)
		x := Rater{Rater: int(id), Votes: r.n, Agreement: Number(r.agree / n), Expected: Number(r.expected / n)}
		if x.Rater >= 0 && x.Rater < len(names) {
			x.Name = names[x.Rater]
		}
		agreement, usage := math.NaN(), math.NaN()
		if r.mixed >= informative {
			if r.variance > 1e-9 {
				agreement = twoSidedNormal((r.agree - r.expected) / math.Sqrt(r.variance))
			}
			usage = usageP(r.use, r.useVariance)
		}
		ps = append(ps, agreement, usage)
		for _, u := range r.use {
			x.Excess = append(x.Excess, u/n)
		}
		raters = append(raters, x)
	}
	for i, p := range holm(ps) {
		x := &raters[i/2]
		if i%2 == 0 {
			x.AgreementP = Number(p)
		} else {
			x.UsageP = Number(p)
		}
		x.Differs = x.Differs || p < 0.05
	}
	return raters
}

// usageP returns the p-value of the largest standardized excess over the
// classes, after Bonferroni; of two classes one says all.
func usageP(excess, variance []float64) float64 {
	z, classes := 0.0, 0.0
	for c, v := range variance {
		if v > 1e-9 {
			z = max(z, math.Abs(excess[c])/math.Sqrt(v))
			classes++
		}
	}
	if classes == 0 {
		return math.NaN()
	}
	if classes == 2 {
		classes = 1
	}
	return min(1, classes*twoSidedNormal(z))
}
