package evaluate

import (
	"fmt"
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/special"
	"credence/internal/words"
	"credence/mixture"
)

// Support describes whether votes can support intervals. m votes on an item
// identify the first m moments of the distribution of its probabilities: with
// one vote per item, only the mean.
type Support struct {
	// Intervals is "no", "weak" or "yes".
	Intervals string `json:"intervals"`
	// PairedItems is the number of items with two or more votes.
	PairedItems int `json:"paired_items"`
	// MixedItems is the number of items with votes for different classes.
	MixedItems int `json:"mixed_items"`
	// Order is the largest number of votes that at least a hundred items have: the
	// highest moment that can be learned from the votes.
	Order int `json:"order"`
	// RatioSE is the predicted standard error of the dispersion ratio R of a model
	// trained on these votes, if features explain half of the spread between items;
	// see [Design]. Above 0.25 the support for intervals is weak, above 0.5 there is
	// none.
	RatioSE Number `json:"ratio_se"`
	// RatioSEHigh is the same if features explain four fifths of the spread: little is left then, and its ratio is less
	// certain. Without spread given the features it can be larger still, which training reports.
	RatioSEHigh Number `json:"ratio_se_high"`
	// Reasons explain the verdict.
	Reasons Messages `json:"reasons"`
}

// enoughItems is the number of items required to learn a moment from their votes.
const enoughItems = 100

// supportOf returns the support by the votes; by is nil if the spread between items is unknown.
func supportOf(votes Votes, by *designer) Support {
	s := Support{Intervals: "no", RatioSE: unknown, RatioSEHigh: unknown}
	have, items := newHistogram(votes.Len(), votes.Total), 0.0
	voted := votes.Len() - int(have.times[0])
	for _, m := range slices.Backward(have.values) {
		if items += have.times[m]; items >= enoughItems && s.Order == 0 {
			s.Order = int(m)
		}
		if m >= 2 {
			s.PairedItems = int(items)
		}
	}
	for j := range votes.Len() {
		if item := votes.Item(j); item[argmax(item)] < sum(item) {
			s.MixedItems++
		}
	}
	say := s.Reasons.add
	switch {
	case voted == 0:
		say("there are no votes")
		return s
	case s.PairedItems == 0:
		say("no item has two votes: one vote per item shows the mean probability and nothing about its spread")
		return s
	}
	s.Intervals = "yes"
	s.judgeRatio(votes, by)
	if s.Intervals == "yes" && (s.PairedItems < enoughItems || s.MixedItems == 0) {
		s.Intervals = "weak"
	}
	if s.PairedItems < enoughItems {
		say("only %s with two votes or more: the spread is learned from these alone", words.Plural(s.PairedItems, "item"))
	}
	if s.MixedItems == 0 {
		say("votes on an item never differ: intervals would depend on the assumed shape of the distribution")
	}
	if 2*s.PairedItems < voted {
		say("%d of %d items have a single vote: the spread is learned from the others, which must be similar", voted-s.PairedItems, voted)
	}
	if s.Order >= 2 {
		say("enough items have %d votes or more to learn %d moments of the distribution; the rest of its shape is assumed", s.Order, s.Order)
	}
	return s
}

// noSpread is the correlation between votes on an item below which they are considered
// to agree no more than if all items had the same probabilities.
const noSpread = 0.02

// judgeRatio sets the verdict by the predicted standard error of the dispersion ratio.
func (s *Support) judgeRatio(votes Votes, by *designer) {
	if by == nil {
		return
	}
	se, high := by.left.ratioSE(votes), by.least.ratioSE(votes)
	s.RatioSE, s.RatioSEHigh, s.Intervals = Number(se), Number(high), verdict(se)
	switch {
	case s.Intervals == "yes" && verdict(high) != "yes":
		s.Reasons.add("the variance that intervals depend on would be known to about ±%.0f%% if features explain half of the spread between items, "+
			"but only to ±%.0f%% if they explain four fifths", 100*se, 100*high)
	case s.Intervals == "yes":
	case 1/(1+sum(by.alpha)) < noSpread: // the correlation of two votes on an item
		s.Reasons.add("votes on the same item hardly agree more than votes on different items: " +
			"there is no spread between items to learn")
	case se > 1:
		s.Reasons.add("there are too few votes to determine the variance that intervals depend on: " +
			"more items, or more votes per item, help")
	default:
		s.Reasons.add("the variance that intervals depend on would be known to about ±%.0f%%: "+
			"more items, or more votes per item, help", 100*se)
	}
}

// Design is a number of items with a number of votes on each, and its predicted
// accuracy before any training, assuming votes like the current ones.
type Design struct {
	Items int `json:"items"`
	Votes int `json:"votes_per_item"`
	// RatioSE is the standard error of the dispersion ratio R, by which intervals are
	// calibrated and evaluated: the relative error that may remain in their squared width.
	RatioSE Number `json:"ratio_se"`
	// Needed is the number of items with as many votes that reduces RatioSE to 0.25,
	// where intervals are supported.
	Needed Number `json:"items_needed"`
	// Loss is the joint loss of an item's votes, in nats per vote, on new items, of
	// one Dirichlet distribution fitted to the votes: that of a model without
	// features. LossSE is its standard error over as many items.
	Loss   Number `json:"nll_per_vote"`
	LossSE Number `json:"nll_per_vote_se"`
	// Intervals is "no", "weak" or "yes", depending on RatioSE.
	Intervals string `json:"intervals"`
}

// explained is the share of the spread between items that features are assumed to
// explain, before any training. The rest is the spread that a model has to learn, and
// the more features explain, the harder it is to measure: with none explained the
// standard error of R would be about half as large.
const explained = 0.5

// mostExplained is the share for [Support].RatioSEHigh. In a simulation with p a function of the features, the standard
// error was 0.22 by half and 0.39 in fact.
const mostExplained = 0.8

// Above weakRatioSE, a standard error of R, votes support intervals weakly; above noRatioSE not at all.
const weakRatioSE, noRatioSE = 0.25, 0.5

// verdict returns the verdict for a standard error of R. An unknown error counts as too large.
func verdict(se float64) string {
	switch {
	case se <= weakRatioSE:
		return "yes"
	case se <= noRatioSE:
		return "weak"
	}
	return "no"
}

// designer predicts the accuracy of designs from one Dirichlet distribution of the
// class probabilities, fitted to votes. n is the number of items, m that of votes.
type designer struct {
	alpha []float64
	// left is the spread that features leave unexplained, least the smallest that is expected.
	left, least leftSpread
}

// leftSpread is the distribution of the spread that features leave unexplained, assumed to lie about the overall mean:
// votes are noisiest there, so the error of R is overstated rather than understated for that share.
type leftSpread struct {
	dist  *mixture.Dirichlet
	trace float64 // of its covariance
}

// newDesigner returns nil if the spread between items cannot be determined from the votes.
func newDesigner(votes Votes) *designer {
	fit := fitConstantDirichlet(votes)
	if !fit.Identified {
		return nil
	}
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{fit.Alpha})
	if err != nil {
		return nil
	}
	d := &designer{alpha: fit.Alpha}
	for _, x := range []struct {
		left  *leftSpread
		share float64
	}{{&d.left, 1 - explained}, {&d.least, 1 - mostExplained}} {
		if x.left.dist, err = dist.Rescale(x.share); err != nil {
			return nil
		}
		x.left.trace = sum(x.left.dist.Variance(nil))
	}
	return d
}

// ratioSE returns the standard error of R over items with as many votes as these,
// without those that have fewer than two:
//
//	√(Σ_j Var D_j) / Σ_j Σ_i Var p_i.
func (l *leftSpread) ratioSE(votes Votes) float64 {
	of := map[float64]float64{}
	n, variance := 0.0, 0.0
	for j := range votes.Len() {
		m := votes.Total(j)
		if m < 2 {
			continue
		}
		v, ok := of[m]
		if !ok {
			v = l.dist.PairVariance(m)
			of[m] = v
		}
		n++
		variance += v
	}
	return math.Sqrt(variance) / (n * l.trace)
}

// design predicts the accuracy of n items with m votes each.
func (d *designer) design(n, m int) Design {
	items, votes := float64(n), float64(m)
	se := math.NaN()
	if m >= 2 {
		se = math.Sqrt(d.left.dist.PairVariance(votes)/items) / d.left.trace
	}
	mean, variance := jointLoss(d.alpha, m)
	// A fit of k parameters loses k/2 nats on as many new votes as it was fitted to
	// (Akaike 1973): here per vote, with k = d.
	fit := float64(len(d.alpha)) / (2 * items * votes)
	return Design{Items: n, Votes: m, RatioSE: Number(se), Needed: Number(math.Ceil(items * se * se / (weakRatioSE * weakRatioSE))),
		Loss:   Number(mean/votes + fit),
		LossSE: Number(math.Sqrt(variance/items) / votes), Intervals: verdict(se)}
}

// designs predicts every number of items with every number of votes; the list is empty
// if d is nil.
func (d *designer) designs(items, votes []int) []Design {
	list := []Design{}
	if d == nil {
		return list
	}
	for _, m := range votes {
		for _, n := range items {
			list = append(list, d.design(n, m))
		}
	}
	return list
}

// planned returns the numbers of items and of votes per item to predict for.
func (r *CheckResult) planned(o CheckOptions) (items, votes []int, err error) {
	for _, n := range o.Items {
		if n < 1 {
			return nil, nil, fmt.Errorf("plan: expected at least 1 item, found %d", n)
		}
	}
	for _, m := range o.Votes {
		if m < 2 || m > MaxPlannedVotes {
			return nil, nil, fmt.Errorf("plan: expected 2 to %d votes per item, found %d", MaxPlannedVotes, m)
		}
	}
	items, votes = o.Items, o.Votes
	if n := r.Support.PairedItems; len(items) == 0 {
		items = []int{n, 2 * n, 4 * n}
	}
	if len(votes) == 0 {
		votes = []int{2, 3, 5, 10}
		if m := int(math.Round(float64(r.Votes) / float64(max(1, r.VotedItems)))); m > 1 && m <= MaxPlannedVotes {
			votes = append(votes, m)
		}
	}
	return distinct(items), distinct(votes), nil
}

// MaxPlannedVotes is the largest number of votes per item of a [Design].
const MaxPlannedVotes = 1000

// maxLossTerms bounds the number of terms in the variance of a loss.
const maxLossTerms = 2e7

// fewClasses is the largest number of classes for which the parameters of the others are summed again for each pair.
const fewClasses = 16

// jointLoss returns mean and variance of −ln B(α + S)/B(α), the joint loss of the m
// votes on an item under the Dirichlet distribution that they follow. It is a constant
// minus a sum over classes,
//
//	ln α₀(α₀+1)…(α₀+m−1) − Σ_i ln α_i(α_i+1)…(α_i+S_i−1),
//
// so that the distributions of one and of two counts suffice, and outcomes need not
// be enumerated. The variance is NaN if it would take too long to compute.
func jointLoss(alpha []float64, m int) (mean, variance float64) {
	c := newVoteCounts(alpha, m)
	d := float64(len(alpha))
	feasible := d*d*float64(m)*float64(m) <= maxLossTerms
	expected := make([]float64, len(alpha))
	for i := range alpha {
		p := c.one(i)
		expected[i] = kernel.Dot64(p, c.rising[i])
		mean -= expected[i]
		for s, r := range c.rising[i] {
			variance += p[s] * (r - expected[i]) * (r - expected[i])
		}
		for l := 0; feasible && l < i; l++ {
			variance += 2 * c.covariance(i, l, expected)
		}
	}
	if !feasible {
		variance = math.NaN()
	}
	return mean + c.total, max(0, variance)
}

// voteCounts is the distribution of the counts of m votes under a Dirichlet
// distribution. Probabilities are products of rising factorials over factorials.
type voteCounts struct {
	alpha     []float64
	sum       float64     // α₀
	rising    [][]float64 // [d][m+1] ln α_i(α_i+1)…(α_i+s−1)
	factorial []float64   // [m+1] ln s!
	total     float64     // ln α₀(α₀+1)…(α₀+m−1)
}

func newVoteCounts(alpha []float64, m int) *voteCounts {
	c := &voteCounts{alpha: alpha, sum: sum(alpha), factorial: logRisings(1, m)}
	c.total = special.LogRising(c.sum, float64(m))
	for _, a := range alpha {
		c.rising = append(c.rising, logRisings(a, m))
	}
	return c
}

// logRisings returns ln a(a+1)…(a+s−1) for s = 0 … m.
func logRisings(a float64, m int) []float64 {
	list := make([]float64, m+1)
	for s := 1; s <= m; s++ {
		list[s] = special.LogRising(a, float64(s))
	}
	return list
}

// rest returns the sum of the parameters of all classes but the given ones. If there are many
// classes and the rest is most of the total, it is found by subtraction.
func (c *voteCounts) rest(classes []int) float64 {
	if len(c.alpha) > fewClasses {
		given := 0.0
		for _, i := range classes {
			given += c.alpha[i]
		}
		if given <= c.sum/2 {
			return c.sum - given
		}
	}
	rest := 0.0
	for i, a := range c.alpha {
		if !slices.Contains(classes, i) {
			rest += a
		}
	}
	return rest
}

// others returns the log-contributions of the votes for all classes but the given
// ones, by their number.
func (c *voteCounts) others(classes ...int) []float64 {
	rest := c.rest(classes)
	list := logRisings(rest, len(c.factorial)-1)
	for u := range list {
		if list[u] -= c.factorial[u]; rest == 0 && u > 0 {
			list[u] = math.Inf(-1) // there are no other classes
		}
	}
	return list
}

// one returns the distribution of the count of class i.
func (c *voteCounts) one(i int) []float64 {
	m := len(c.factorial) - 1
	others, p := c.others(i), make([]float64, m+1)
	for s, r := range c.rising[i] {
		p[s] = math.Exp(c.factorial[m] - c.factorial[s] + r + others[m-s] - c.total)
	}
	return p
}

// covariance returns the covariance of the terms of classes i and l.
func (c *voteCounts) covariance(i, l int, expected []float64) float64 {
	m := len(c.factorial) - 1
	others, v := c.others(i, l), 0.0
	for s, x := range c.rising[i] {
		for t, y := range c.rising[l][:m-s+1] {
			p := math.Exp(c.factorial[m] - c.factorial[s] - c.factorial[t] + x + y + others[m-s-t] - c.total)
			v += p * (x - expected[i]) * (y - expected[l])
		}
	}
	return v
}
