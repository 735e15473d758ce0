package evaluate

import (
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/internal/words"
)

// leastRival is the number of items below which a rater is not compared.
const leastRival = 10

// RaterRivals returns the raters of ds as rivals, those with most votes first. Items on which a rater voted more than once are
// left out.
func RaterRivals(ds *dataset.Dataset) []Rival {
	list, votes := make([]Rival, len(ds.Raters)), make([]int, len(ds.Raters))
	for r, name := range ds.Raters {
		list[r] = Rival{Name: name, Labels: slices.Repeat([]int32{-1}, ds.Len())}
	}
	const twice = -2
	for _, v := range ds.Ratings {
		votes[v.Rater]++
		label := &list[v.Rater].Labels[v.Item]
		if *label == -1 {
			*label = v.Class
		} else {
			*label = twice
		}
	}
	order := make([]int, len(list))
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(a, b int) int { return votes[b] - votes[a] })
	sorted := make([]Rival, len(list))
	for i, r := range order {
		sorted[i] = list[r]
	}
	return sorted
}

// WithPseudonyms returns a copy in which the names of raters are replaced; see [Pseudonyms].
func (d *Decisions) WithPseudonyms(seed uint64) *Decisions {
	c := *d
	c.Comparisons, c.Pseudonymous = slices.Clone(d.Comparisons), true
	names := Pseudonyms(words.Each(c.Comparisons, func(x Comparison) string { return x.Rival }), seed)
	for i := range c.Comparisons {
		if c.Comparisons[i].Rater {
			c.Comparisons[i].Rival = names[i]
		}
	}
	return &c
}

// comparisons compares the predictions with all rivals.
func (s *sample) comparisons(r *Result, o DecisionOptions, positive int) (list []Comparison, err error) {
	few := 0
	for _, rival := range s.Rivals {
		pair, err := s.pair(rival, o.Reference, positive)
		if err != nil {
			return nil, fmt.Errorf("comparing with %s: %w", rival.Name, err)
		}
		if rival.Labels != nil && len(pair.model.ref) < leastRival {
			few++
			continue
		}
		list = append(list, pair.compare(rival, o))
	}
	if few > 0 {
		r.Warnings.add("%d raters are not compared: fewer than %d of their items have another reference", few, leastRival)
	}
	return list, nil
}

// paired are the decisions of a model and of a rival on the same items.
type paired struct{ model, rival *decided }

// pair returns the items on which both decide.
func (s *sample) pair(rival Rival, reference string, positive int) (p paired, err error) {
	if n := max(len(rival.Means), len(rival.Labels)); n != s.n {
		return p, fmt.Errorf("expected decisions on %d items, found %d", s.n, n)
	}
	ref := s.references(reference)
	scores, y := make([]float64, s.n), make([]float64, s.n)
	var items []int
	for j := range s.n {
		of := ref(j)
		if rival.Means != nil {
			if len(rival.Means[j]) == 0 {
				continue
			}
			if err := checkProbabilities(rival.Means[j], s.d); err != nil {
				return p, fmt.Errorf("item %d: %w", j, err)
			}
			scores[j] = rival.Means[j][positive]
		} else {
			if rival.Labels[j] < 0 {
				continue
			}
			if scores[j] = 0; int(rival.Labels[j]) == positive {
				scores[j] = 1
			}
			if reference != ReferenceGold {
				of = s.withoutVote(j, int(rival.Labels[j]), reference)
			}
		}
		if of != nil {
			y[j] = of[positive]
			items = append(items, j)
		}
	}
	p.model = s.decided(items, func(j int) (float64, float64) { return s.means(j)[positive], y[j] })
	p.rival = s.decided(items, func(j int) (float64, float64) { return scores[j], y[j] })
	return p, nil
}

// withoutVote returns the reference of an item without one vote for a class, nil if no vote remains.
func (s *sample) withoutVote(j, class int, reference string) []float64 {
	votes := slices.Clone(s.Votes.Item(j))
	votes[class] = max(0, votes[class]-1)
	if sum(votes) < anyVotes {
		return nil
	}
	return referenceOf(reference, votes)
}

// compare returns the differences of the scores.
func (p paired) compare(rival Rival, o DecisionOptions) Comparison {
	c := Comparison{Rival: rival.Name, Rater: rival.Labels != nil, Items: len(p.model.ref), Units: p.model.units}
	add := func(score string, threshold, margin Number, a, b influence) {
		e := p.model.plain(a.minus(b))
		d := PairedDifference{Score: score, Threshold: threshold, Model: Number(a.value), Rival: Number(b.value), Margin: margin,
			Difference: Difference{e, Number(normalP(2, math.Abs(float64(e.Value)), float64(e.SE)))}, NoninferiorP: unknown}
		if margin.Known() {
			d.NoninferiorP = Number(normalP(1, float64(e.Value+margin), float64(e.SE)))
		}
		c.Differences = append(c.Differences, d)
	}
	margin := unknown
	if o.Margin > 0 {
		margin = Number(o.Margin)
	}
	if !c.Rater { // a rater ranks no items
		add("auc", unknown, margin, p.model.auc(), p.rival.auc())
	}
	for _, t := range o.Thresholds {
		a, b := p.model.at(t), p.rival.at(t)
		add("sensitivity", Number(t), margin, a.sensitivity, b.sensitivity)
		add("specificity", Number(t), margin, a.specificity, b.specificity)
		add("ppv", Number(t), margin, a.ppv, b.ppv)
		add("npv", Number(t), margin, a.npv, b.npv)
		add("net_benefit", Number(t), unknown, a.netBenefit, b.netBenefit) // a margin of probabilities is not one of benefit
	}
	return c
}

// normalP returns the p-value of x ≤ 0, one-sided or two-sided, for an x with a normal error. Without an error, x is exact.
func normalP(sides, x, se float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsNaN(se):
		return math.NaN()
	case se == 0 && x > 0:
		return 0
	case se == 0:
		return 1
	}
	return sides * math.Erfc(x/se/math.Sqrt2) / 2
}
