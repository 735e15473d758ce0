package evaluate

import (
	"math"
	"slices"
)

// The criteria for withholding predictions ([Options.AbstainBy]).
const (
	// ByTop uses the probability that the predicted class is the most probable one.
	ByTop = "p_top"
	// ByWidth uses the width of its interval.
	ByWidth = "width"
)

// AbstentionPoint is the quality of the predictions that are given, and of those
// that are withheld, if the least certain predictions are withheld.
type AbstentionPoint struct {
	Answered Number `json:"answered"` // share of items with a prediction
	// Threshold is the smallest probability or the largest width that is not withheld.
	Threshold Number   `json:"threshold"`
	Accuracy  Estimate `json:"accuracy"`
	NLL       Estimate `json:"nll_per_vote"` // joint, of an item's votes
	// The withheld predictions; unknown if there are none.
	HandedAccuracy Estimate `json:"handed_on_accuracy"`
	HandedNLL      Estimate `json:"handed_on_nll_per_vote"`
}

// AbstentionTarget is the threshold at which the predictions that are not withheld
// reach a target accuracy: the one that withholds fewest.
type AbstentionTarget struct {
	Wanted float64 `json:"wanted"`
	// Threshold is unknown if no threshold reaches the accuracy. Lo and Hi are the
	// ends of its 95% bootstrap interval; an end is unknown if too many draws do not
	// reach the accuracy at all.
	Threshold Number `json:"threshold"`
	Lo        Number `json:"threshold_lo"`
	Hi        Number `json:"threshold_hi"`
	Answered  Number `json:"answered"`
	Accuracy  Number `json:"accuracy"`
	// Reached is the share of bootstrap draws that reach the accuracy at all.
	Reached Number `json:"reached"`
}

// uncertainty returns a number for every item that is larger the less certain its prediction
// is, and the sign that converts it to a threshold.
func (s *sample) uncertainty(by string, width []float64) (uncertain []float64, sign float64) {
	if by == ByWidth {
		return width, 1
	}
	uncertain = make([]float64, s.n)
	forItems(s.ctx, s.n, func(j int) { uncertain[j] = -s.mixtures[j].TopClass(nil)[s.top[j]] })
	return uncertain, -1
}

// tallyAbstention adds the curve of accuracy and loss against the share of items
// that are not withheld, most certain first, in at most opt.Steps points, and the
// threshold of a target accuracy.
func tallyAbstention(t *tally, s *sample, r *Result, width, joint []float64, opt Options) {
	uncertain, sign := s.uncertainty(opt.AbstainBy, width)
	r.AbstentionBy = opt.AbstainBy
	voted := make([]float64, s.n)
	for _, j := range s.itemsWith(anyVotes) {
		voted[j] = 1
	}
	all := sum(voted)
	of, bins := equalMass(uncertain, voted, opt.Steps)
	items, credit, votes, loss := t.column(bins), t.column(bins), t.column(bins), t.column(bins)
	count, most := make([]float64, bins), slices.Repeat([]float64{math.Inf(-1)}, bins)
	for j, b := range of {
		if voted[j] == 0 {
			continue
		}
		u := s.unit[j]
		t.add(u, items+b, 1)
		t.add(u, credit+b, MajorityCredit(s.top[j], s.Votes.Item(j)))
		t.add(u, votes+b, s.total[j])
		t.add(u, loss+b, joint[j])
		count[b]++
		most[b] = max(most[b], uncertain[j])
	}
	r.Abstention = make([]AbstentionPoint, bins)
	answered := 0.0
	for b := range r.Abstention {
		p := &r.Abstention[b]
		answered += count[b]
		p.Answered, p.Threshold = Number(answered/all), Number(sign*most[b])
		between := func(e *Estimate, from, to, numerator, denominator int) {
			t.estimate(&e.Value, &e.SE, func(s []float64) float64 {
				return sum(s[numerator+from:numerator+to]) / sum(s[denominator+from:denominator+to])
			})
		}
		between(&p.Accuracy, 0, b+1, credit, items)
		between(&p.NLL, 0, b+1, loss, votes)
		between(&p.HandedAccuracy, b+1, bins, credit, items)
		between(&p.HandedNLL, b+1, bins, loss, votes)
	}
	if opt.Accuracy > 0 {
		r.AbstentionTarget = s.abstentionTarget(uncertain, sign, opt)
	}
}

// abstentionTarget returns the threshold that reaches the target accuracy.
func (s *sample) abstentionTarget(uncertain []float64, sign float64, opt Options) *AbstentionTarget {
	// The voted items, the most certain first.
	order := slices.DeleteFunc(ascending(uncertain), func(j int) bool { return s.total[j] == 0 })
	credit := make([]float64, len(order))
	for i, j := range order {
		credit[i] = MajorityCredit(s.top[j], s.Votes.Item(j))
	}
	// reach returns the position of the last item that is not withheld, −1 if there is
	// none, the share of items up to it and their accuracy, with items weighted by weight.
	// Items that are equally certain are kept or withheld together.
	reach := func(weight func(j int) float64) (last int, answered, accuracy float64) {
		last = -1
		n, right := 0.0, 0.0
		for i, j := range order {
			n += weight(j)
			right += weight(j) * credit[i]
			tied := i+1 < len(order) && uncertain[order[i+1]] == uncertain[j]
			if !tied && weight(j) > 0 && right >= opt.Accuracy*n*(1-1e-12) {
				last, answered, accuracy = i, n, right/n
			}
		}
		return last, answered / n, accuracy
	}
	target := &AbstentionTarget{Wanted: opt.Accuracy, Threshold: unknown, Lo: unknown, Hi: unknown,
		Answered: unknown, Accuracy: unknown, Reached: unknown}
	if last, answered, accuracy := reach(func(int) float64 { return 1 }); last >= 0 {
		target.Threshold = Number(sign * uncertain[order[last]])
		target.Answered, target.Accuracy = Number(answered), Number(accuracy)
	}
	if s.units < 2 {
		return target
	}
	draws := make([]float64, opt.Bootstrap.replicates(s.units)) // +∞ if it is not reached
	opt.Bootstrap.each(s.units, func(r int, times []int32) {
		draws[r] = math.Inf(1)
		if last, _, _ := reach(func(j int) float64 { return float64(times[s.unit[j]]) }); last >= 0 {
			draws[r] = -uncertain[order[last]]
		}
	})
	slices.Sort(draws)
	reached, _ := slices.BinarySearch(draws, math.Inf(1))
	target.Reached = Number(float64(reached) / float64(len(draws)))
	target.Lo, target.Hi = Number(-sign*sortedQuantile(draws, 0.025)), Number(-sign*sortedQuantile(draws, 0.975))
	if sign > 0 {
		target.Lo, target.Hi = target.Hi, target.Lo
	}
	return target
}
