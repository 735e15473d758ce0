package evaluate

import (
	"cmp"
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
	list := make([]Rival, len(ds.Raters))
	for r, name := range ds.Raters {
		list[r].Name = name
	}
	for _, v := range ds.Ratings {
		list[v.Rater].Labels = append(list[v.Rater].Labels, RivalLabel{v.Item, v.Class})
	}
	for r := range list {
		labels := list[r].Labels
		slices.SortStableFunc(labels, func(a, b RivalLabel) int { return cmp.Compare(a.Item, b.Item) })
		var once []RivalLabel
		for i, l := range labels {
			if (i == 0 || labels[i-1].Item != l.Item) && (i+1 == len(labels) || labels[i+1].Item != l.Item) {
				once = append(once, l)
			}
		}
		list[r].Labels = once
	}
	slices.SortStableFunc(list, func(a, b Rival) int { return cmp.Compare(len(b.Labels), len(a.Labels)) })
	return list
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

// comparisons compares the predictions with all rivals, given the reference of each item.
func (s *sample) comparisons(r *Result, o DecisionOptions, ref func(j int) []float64) (list []Comparison, err error) {
	few := 0
	for _, rival := range s.Rivals {
		pair, err := s.pair(rival, o, ref)
		if err != nil {
			return nil, fmt.Errorf("comparing with %s: %w", rival.Name, err)
		}
		if rival.Means == nil && len(pair.model.ref) < leastRival {
			few++
			continue
		}
		list = append(list, pair.compare(rival, o))
	}
	if few > 0 {
		r.Warnings.add("%s not compared: fewer than %d of their items have another reference", words.Plural(few, "rater"), leastRival)
	}
	return list, nil
}

// paired are the decisions of a model and of a rival on the same items.
type paired struct{ model, rival *decided }

// pair returns the items on which both decide.
func (s *sample) pair(rival Rival, o DecisionOptions, ref func(j int) []float64) (p paired, err error) {
	positive := slices.Index(s.Classes, o.Positive)
	var items []int
	var scores, y []float64
	add := func(j int, score float64, of []float64) {
		if of != nil {
			items, scores, y = append(items, j), append(scores, score), append(y, of[positive])
		}
	}
	if rival.Means != nil && len(rival.Means) != s.n {
		return p, fmt.Errorf("expected decisions on %d items, found %d", s.n, len(rival.Means))
	}
	for j, mean := range rival.Means {
		if len(mean) == 0 {
			continue
		}
		if err := checkProbabilities(mean, s.d); err != nil {
			return p, fmt.Errorf("item %d: %w", j, err)
		}
		add(j, mean[positive], ref(j))
	}
	for _, l := range rival.Labels {
		j, class := int(l.Item), int(l.Class)
		if j < 0 || j >= s.n || class < 0 || class >= s.d {
			return p, fmt.Errorf("expected votes on %d items for %d classes, found one on item %d for class %d", s.n, s.d, j, class)
		}
		of, score := ref(j), 0.0
		if o.Reference != ReferenceGold {
			of = s.withoutVote(j, class, o.Reference)
		}
		if class == positive {
			score = 1
		}
		add(j, score, of)
	}
	p.model, p.rival = s.decided(items), s.decided(items)
	for i, j := range items {
		p.model.score[i], p.rival.score[i] = s.means(j)[positive], scores[i]
	}
	copy(p.model.ref, y)
	copy(p.rival.ref, y)
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
	c := Comparison{Rival: rival.Name, Rater: rival.Means == nil, Items: len(p.model.ref), Units: p.model.units}
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
