package evaluate

import (
	"fmt"
	"math"
	"slices"
)

// The ways to tell which predictions to withhold ([Options.AbstainBy]).
const (
	// ByTop is by the probability that the predicted class is the most probable one.
	ByTop = "p_top"
	// ByWidth is by the width of its interval.
	ByWidth = "width"
)

// AbstentionPoint is what is left, and what is handed on, if the least sure
// predictions are withheld.
type AbstentionPoint struct {
	Answered Number `json:"answered"` // share of items answered
	// Threshold is the smallest probability or the largest width that is answered.
	Threshold Number   `json:"threshold"`
	Accuracy  Estimate `json:"accuracy"`
	NLL       Estimate `json:"nll_per_vote"` // of an item's votes together
	// What is handed on; unknown where it is nothing.
	HandedAccuracy Estimate `json:"handed_on_accuracy"`
	HandedNLL      Estimate `json:"handed_on_nll_per_vote"`
}

// AbstentionTarget is the threshold at which what is answered reaches a wanted
// accuracy: the one that answers most.
type AbstentionTarget struct {
	Wanted float64 `json:"wanted"`
	// Threshold is unknown if no share of the items reaches the accuracy. Lo and Hi
	// are the ends of its 95% bootstrap interval; an end is unknown where too many
	// draws do not reach the accuracy at all.
	Threshold Number `json:"threshold"`
	Lo        Number `json:"threshold_lo"`
	Hi        Number `json:"threshold_hi"`
	Answered  Number `json:"answered"`
	Accuracy  Number `json:"accuracy"`
	// Reached is the share of bootstrap draws in which it is reached at all.
	Reached Number `json:"reached"`
}

// unsureness returns a number for every item that is larger the less sure its prediction
// is, and the sign that makes it a threshold.
func (s *sample) unsureness(by string, width []float64) (unsure []float64, sign float64, err error) {
	switch by {
	case ByTop:
		unsure = make([]float64, s.n)
		forItems(s.ctx, s.n, func(j int) { unsure[j] = -s.mixtures[j].TopClass(nil)[s.top[j]] })
		return unsure, -1, nil
	case ByWidth:
		return width, 1, nil
	}
	return nil, 0, fmt.Errorf("abstaining by %q: expected %s or %s", by, ByTop, ByWidth)
}

// tallyAbstention adds the curve of accuracy and loss against the share of items
// answered, from the surest to all, in at most opt.Steps points, and the threshold
// of a wanted accuracy.
func tallyAbstention(t *tally, s *sample, r *Result, width, joint []float64, opt Options) error {
	unsure, sign, err := s.unsureness(opt.AbstainBy, width)
	if err != nil {
		return err
	}
	r.AbstentionBy = opt.AbstainBy
	voted := make([]float64, s.n)
	for j, m := range s.total {
		if m > 0 {
			voted[j] = 1
		}
	}
	all := sum(voted)
	of, bins := equalMass(unsure, voted, opt.Steps)
	items, credit, votes, loss := t.column(bins), t.column(bins), t.column(bins), t.column(bins)
	count, most := make([]float64, bins), slices.Repeat([]float64{math.Inf(-1)}, bins)
	for j, b := range of {
		if voted[j] == 0 {
			continue
		}
		u := s.unit[j]
		t.add(u, items+b, 1)
		t.add(u, credit+b, MajorityCredit(s.top[j], s.votes.Item(j)))
		t.add(u, votes+b, s.total[j])
		t.add(u, loss+b, joint[j])
		count[b]++
		most[b] = max(most[b], unsure[j])
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
		r.AbstentionTarget = s.abstentionTarget(unsure, sign, opt)
	}
	return nil
}

// abstentionTarget finds the threshold that reaches a wanted accuracy.
func (s *sample) abstentionTarget(unsure []float64, sign float64, opt Options) *AbstentionTarget {
	var order []int // of voted items, the surest first
	for _, j := range ascending(unsure) {
		if s.total[j] > 0 {
			order = append(order, j)
		}
	}
	credit := make([]float64, len(order))
	for i, j := range order {
		credit[i] = MajorityCredit(s.top[j], s.votes.Item(j))
	}
	// reach returns the place of the last item that is answered, −1 if there is none,
	// its share and the accuracy, with items taken as often as weight says. Items that
	// are equally sure are answered together.
	reach := func(weight func(j int) float64) (last int, answered, accuracy float64) {
		last = -1
		n, right := 0.0, 0.0
		for i, j := range order {
			n += weight(j)
			right += weight(j) * credit[i]
			tied := i+1 < len(order) && unsure[order[i+1]] == unsure[j]
			if !tied && weight(j) > 0 && right >= opt.Accuracy*n*(1-1e-12) {
				last, answered, accuracy = i, n, right/n
			}
		}
		return last, answered / n, accuracy
	}
	target := &AbstentionTarget{Wanted: opt.Accuracy, Threshold: unknown, Lo: unknown, Hi: unknown,
		Answered: unknown, Accuracy: unknown, Reached: unknown}
	if last, answered, accuracy := reach(func(int) float64 { return 1 }); last >= 0 {
		target.Threshold = Number(sign * unsure[order[last]])
		target.Answered, target.Accuracy = Number(answered), Number(accuracy)
	}
	if s.units < 2 {
		return target
	}
	draws := make([]float64, opt.Bootstrap.replicates(s.units)) // +∞ where it is not reached
	opt.Bootstrap.each(s.units, func(r int, times []int32) {
		draws[r] = math.Inf(1)
		if last, _, _ := reach(func(j int) float64 { return float64(times[s.unit[j]]) }); last >= 0 {
			draws[r] = -unsure[order[last]]
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
