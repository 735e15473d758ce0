package head

import "math"

// RaterLoss is the negative log-likelihood of a batch of votes of two classes, each by a known rater, under a
// mixture. An engine sets Sum, Clamped and Scores.
type RaterLoss struct {
	MixtureLoss
	Voters []Voter   // one for each vote, in the order of the items
	Shifts []float64 // [N] how far the raters' biases and the number of votes move an item's likelihood along log(p/(1−p))

	Scores []VoteScore // of each vote

	raters *raterHead
}

// Voter is a vote and the parameters of its rater.
type Voter struct {
	Odds, Guess float64 // e^b and g
	Second      bool    // whether the vote is for the second class
}

// VoteScore is the derivative of the log-likelihood with respect to the bias of a vote's rater, and the probability
// that the vote was a guess.
type VoteScore struct{ Bias, Guessed float64 }

// OnDevice returns the loss of a batch for an engine that computes it itself, or nil: engines support whole votes of
// two classes by known raters.
func (h *raterHead) OnDevice(b Batch, at Step) DeviceLoss {
	m, ok := h.mixtureHead.OnDevice(b, at).(*MixtureLoss)
	if !ok || h.classes != 2 {
		return nil
	}
	l := &h.onDevice
	l.MixtureLoss, l.raters = *m, h
	l.Voters, l.Shifts = l.Voters[:0], room(l.Shifts, b.Items())
	h.turnEpoch(at.Epoch)
	h.recall(b.Ratings)
	h.batch = b
	next := 0
	for j := range b.Items() {
		s, shift := b.Counts.Item(j), 0.0
		named := [2]float32{}
		for ; next < len(b.Ratings) && int(b.Ratings[next].Item) == j; next++ {
			r := b.Ratings[next]
			known := &h.known[r.Rater]
			l.Voters = append(l.Voters, Voter{known.odds, known.guess, r.Class == 1})
			shift = max(shift, math.Abs(float64(h.bias[r.Rater])))
			named[r.Class]++
		}
		if named != [2]float32{s[0], s[1]} {
			return nil // votes without a rater
		}
		l.Shifts[j] = shift + reach(max(s[0], s[1]))
	}
	l.Scores = room(l.Scores, len(l.Voters))
	return l
}

// reach is how far votes move the likelihood of a rater without bias along log(p/(1−p)), if most of them are for one
// class.
func reach(most float32) float64 {
	if most < 7 {
		return 2
	}
	return math.Log1p(float64(most))
}

// Loss implements [DeviceLoss]. It also adds the scores to the sums of the raters.
func (l *RaterLoss) Loss() Loss {
	h := l.raters
	h.scores = room(h.scores, len(l.Scores))
	for k, s := range l.Scores {
		h.scores[k] = score{bias: s.Bias, guess: s.Guessed - l.Voters[k].Guess, guessed: s.Guessed}
	}
	h.add()
	return l.MixtureLoss.Loss()
}
