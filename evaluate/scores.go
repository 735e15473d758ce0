package evaluate

import "credence/internal/kernel"

// brierScore returns the sum over votes of the squared distance between the
// probabilities p and the vote, a unit vector:
//
//	Σ_votes ‖p − e‖² = m (1 + Σp_i²) − 2 Σ S_i p_i.
func brierScore(p, votes []float64) float64 {
	return sum(votes)*(1+kernel.Dot64(p, p)) - 2*kernel.Dot64(p, votes)
}

// MajorityCredit is 1 if the class has most votes, 1/t if it shares them with
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
	items, credit := t.column(1), t.column(1)
	votes, brier := t.column(1), t.column(1)
	for j := range s.n {
		if s.total[j] == 0 {
			continue
		}
		u, v := s.unit[j], s.votes.Item(j)
		t.add(u, items, 1)
		t.add(u, credit, MajorityCredit(s.top[j], v))
		t.add(u, votes, s.total[j])
		t.add(u, brier, brierScore(s.means(j), v))
	}
	t.ratio(&r.Accuracy.Value, &r.Accuracy.SE, credit, items)
	t.ratio(&r.Brier.Value, &r.Brier.SE, brier, votes)
}

// tallyLosses adds the loss per vote of losses summed over each item's votes.
// Losses that are nil leave it unknown.
func tallyLosses(t *tally, s *sample, losses []float64, e *Estimate) {
	*e = Estimate{unknown, unknown}
	if losses == nil {
		return
	}
	votes, loss := t.column(1), t.column(1)
	for j, l := range losses {
		if s.total[j] > 0 {
			t.add(s.unit[j], votes, s.total[j])
			t.add(s.unit[j], loss, l)
		}
	}
	t.ratio(&e.Value, &e.SE, loss, votes)
}
