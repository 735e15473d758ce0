package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/par"
)

// brierScore returns the sum over votes of the squared distance between the
// probabilities p and the vote, a unit vector:
//
//	Σ_votes ‖p − e‖² = m (1 + Σp_i²) − 2 Σ S_i p_i.
func brierScore(p, votes []float64) float64 {
	return sum(votes)*(1+kernel.Dot64(p, p)) - 2*kernel.Dot64(p, votes)
}

// MajorityCredit returns 1 if the class has the most votes, 1/t if it is tied with
// t − 1 others, and 0 otherwise.
func MajorityCredit(class int, votes []float64) float64 {
	most, tied := 0.0, 0.0
	for _, v := range votes {
		switch {
		case v > most:
			most, tied = v, 1
		case v == most && v > 0:
			tied++
		}
	}
	if most == 0 || votes[class] < most {
		return 0
	}
	return 1 / tied
}

// tallyScores adds accuracy and the Brier score.
func tallyScores(t *tally, s *sample, r *Result) {
	voted := s.itemsWith(anyVotes)
	t.estimate(&r.Accuracy.Value, &r.Accuracy.SE, s.ratio(t, voted, func(j int) (credit, items float64) {
		return MajorityCredit(s.top[j], s.Votes.Item(j)), 1
	}))
	t.estimate(&r.Brier.Value, &r.Brier.SE, s.ratio(t, voted, func(j int) (score, votes float64) {
		return brierScore(s.means(j), s.Votes.Item(j)), s.total[j]
	}))
}

// ratio returns the statistic Σa/Σb over items, for which of returns a and b.
func (s *sample) ratio(t *tally, items []int, of func(j int) (a, b float64)) func(sums []float64) float64 {
	first := t.column(2)
	for _, j := range items {
		a, b := of(j)
		t.addAll(s.unit[j], first, a, b)
	}
	return ratio(first, first+1)
}

// tallyLosses adds the loss per vote. losses, [N], are sums over each item's votes;
// if they are nil, the loss is unknown.
func tallyLosses(t *tally, s *sample, losses []float64, e *Estimate) {
	*e = Estimate{unknown, unknown}
	if losses != nil {
		t.estimate(&e.Value, &e.SE,
			s.ratio(t, s.itemsWith(anyVotes), func(j int) (loss, votes float64) { return losses[j], s.total[j] }))
	}
}

// jointLosses returns, for every item, minus the log-probability of its votes
// together, in the order given, under its mixture (no multinomial coefficient):
//
//	−ln Σ_k w_k B(α_k + S)/B(α_k),
//
// or under the raters' parameters if they are known. The sum of the losses over the
// number of votes is the joint NLL per vote.
func (s *sample) jointLosses() ([]float64, error) {
	losses := make([]float64, s.n)
	return losses, tryItems(s.ctx, s.n, func(j int) (err error) {
		l := 0.0
		if s.RaterModel != nil {
			l, err = s.RaterModel.LogVotes(s.Predictions[j].Dist, s.Ratings[j])
		} else {
			l, err = s.mixtures[j].LogVotes(s.Votes.Item(j))
		}
		losses[j] = -l
		return err
	})
}

// lossesOf returns the loss of every item's votes.
func lossesOf(votes Votes, loss func(j int, s []float64) float64) []float64 {
	losses := make([]float64, votes.Len())
	for j := range losses {
		losses[j] = loss(j, votes.Item(j))
	}
	return losses
}

// marginalLosses returns, for every item, the loss of its votes taken one by
// one under its mean probabilities: −Σ_i S_i ln μ_i.
func marginalLosses(means func(j int) []float64, votes Votes) []float64 {
	return lossesOf(votes, func(j int, s []float64) float64 { return independentLoss(means(j), s) })
}

// floorLosses returns, for every item, the loss under its own vote shares,
// −Σ_i S_i ln(S_i/m): no prediction that treats votes as independent can score
// better, and with few votes none comes near.
func floorLosses(votes Votes) []float64 {
	p := make([]float64, votes.Classes)
	return lossesOf(votes, func(_ int, s []float64) float64 {
		m := sum(s)
		for i := range p {
			p[i] = s[i] / m
		}
		return independentLoss(p, s)
	})
}

// independentLoss returns −Σ s_i ln p_i; classes without votes add nothing.
func independentLoss(p, s []float64) float64 {
	l := 0.0
	for i, c := range s {
		if c > 0 {
			l -= c * math.Log(p[i])
		}
	}
	return l
}

// forItems calls body once for each of n items, on all cores. It stops early when ctx is canceled:
// callers check ctx before they use the results.
func forItems(ctx context.Context, n int, body func(j int)) {
	par.Chunks(n, 64, func(lo, hi int) {
		for j := lo; j < hi && ctx.Err() == nil; j++ {
			body(j)
		}
	})
}

// tryItems calls body once for each of n items, on all cores, and returns the
// error of the first item that failed, or that of ctx.
func tryItems(ctx context.Context, n int, body func(j int) error) error {
	errs := make([]error, n)
	forItems(ctx, n, func(j int) { errs[j] = body(j) })
	for j, err := range errs {
		if err != nil {
			return fmt.Errorf("item %d: %w", j, err)
		}
	}
	return ctx.Err()
}

// Difference compares the losses of two models on the same items: first minus
// second, so a negative value means that the first is better.
type Difference struct {
	IntervalEstimate
	// PValue is the two-sided p-value for no difference: twice the share of replicates
	// on the other side of zero, and never below 2/(replicates + 1).
	PValue Number `json:"p_value"`
}

// compare returns the difference of two models' losses per vote, which is set when t is run,
//
//	Σ_j (first_j − second_j) / Σ_j votes_j,
//
// first and second being summed over the votes of each item ([N] each, as
// jointLosses returns them). Each replicate uses the same items for both models.
func (s *sample) compare(t *tally, first, second []float64) *Difference {
	d := &Difference{}
	t.difference(d, s.ratio(t, s.itemsWith(0), func(j int) (loss, votes float64) {
		return first[j] - second[j], s.total[j]
	}))
	return d
}

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
