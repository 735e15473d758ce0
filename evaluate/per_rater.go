package evaluate

import (
	"math"

	"credence/head"
	"credence/mixture"
)

// PerRater compares predictions of each rater's vote ([head.RaterModel.As]) with the mean, which is the same for all raters.
// Both are made without the votes on the item; votes by raters whom the model does not know are left out.
type PerRater struct {
	Votes   int `json:"votes"`
	Unknown int `json:"unknown,omitempty"` // votes by raters who are not in the model
	// ErrorRate is the share of votes other than the most probable vote of their rater, MeanErrorRate that of votes other
	// than the class with the largest mean, and Gain how much less the first is.
	ErrorRate     Estimate   `json:"error_rate"`
	MeanErrorRate Estimate   `json:"mean_error_rate"`
	Gain          Difference `json:"gain"`
	// Loss is the negative log-likelihood of each vote by itself, in nats.
	Loss     Estimate     `json:"nll_per_vote"`
	MeanLoss Estimate     `json:"mean_nll_per_vote"`
	LossGain Difference   `json:"nll_gain"`
	Raters   []RaterError `json:"raters"` // in the order of the model
}

// RaterError is how well the votes of one rater are predicted.
type RaterError struct {
	Rater         string  `json:"rater"`
	Votes         int     `json:"votes"`
	ErrorRate     float64 `json:"error_rate"`
	MeanErrorRate float64 `json:"mean_error_rate"`
}

// raterVotes caches the average rater of each rater of the model.
type raterVotes map[int32]*mixture.AverageRater

// newRaterVotes prepares all raters of the sample's votes.
func (s *sample) newRaterVotes() (raterVotes, error) {
	if s.RaterModel == nil {
		return nil, nil
	}
	as := raterVotes{}
	for _, list := range s.Ratings {
		for _, r := range list {
			if r.Rater < 0 || as[r.Rater] != nil {
				continue
			}
			var err error
			if as[r.Rater], err = s.RaterModel.As(s.RaterModel.Posterior(int(r.Rater))); err != nil {
				return nil, err
			}
		}
	}
	return as, nil
}

// chances returns the probabilities that the rater of a vote on item j votes for each class, without any votes on it.
func (s *sample) chances(as raterVotes, j int, r head.Rating) []float64 {
	if r.Rater < 0 {
		return s.means(j)
	}
	p := head.Decoded{Dist: s.Predictions[j].Dist}
	p.ForAverageRater(as[r.Rater])
	return p.Mean
}

// tallyPerRater adds the comparison of predictions per rater with the mean, where raters are modelled.
func tallyPerRater(t *tally, s *sample, r *Result) error {
	if s.RaterModel == nil {
		r.Warnings.add("raters are not modelled: predictions do not differ between raters")
		return nil
	}
	as, err := s.newRaterVotes()
	if err != nil {
		return err
	}
	type score struct{ votes, wrong, meanWrong, loss, meanLoss float64 }
	items, raters := make([]score, s.n), make([]score, len(s.RaterModel.Votes))
	lists := make([][]score, s.n) // by vote
	forItems(s.ctx, s.n, func(j int) {
		lists[j] = make([]score, len(s.Ratings[j]))
		for k, v := range s.Ratings[j] {
			if v.Rater >= 0 {
				own, mean := s.chances(as, j, v), s.means(j)
				lists[j][k] = score{1, wrongVote(own, v), wrongVote(mean, v), -math.Log(own[v.Class]), -math.Log(mean[v.Class])}
			}
		}
	})
	p := &PerRater{Raters: []RaterError{}}
	r.PerRater = p
	for j, list := range lists {
		for k, x := range list {
			if x.votes == 0 {
				p.Unknown++
				continue
			}
			p.Votes++
			for _, to := range []*score{&items[j], &raters[s.Ratings[j][k].Rater]} {
				*to = score{to.votes + 1, to.wrong + x.wrong, to.meanWrong + x.meanWrong, to.loss + x.loss, to.meanLoss + x.meanLoss}
			}
		}
	}
	for i, x := range raters {
		if x.votes > 0 {
			p.Raters = append(p.Raters, RaterError{s.RaterNames[i], int(x.votes), x.wrong / x.votes, x.meanWrong / x.votes})
		}
	}
	of := func(f func(x *score) float64) func(sums []float64) float64 {
		return s.ratio(t, s.itemsWith(anyVotes), func(j int) (float64, float64) { return f(&items[j]), items[j].votes })
	}
	t.estimate(&p.ErrorRate.Value, &p.ErrorRate.SE, of(func(x *score) float64 { return x.wrong }))
	t.estimate(&p.MeanErrorRate.Value, &p.MeanErrorRate.SE, of(func(x *score) float64 { return x.meanWrong }))
	t.difference(&p.Gain, of(func(x *score) float64 { return x.meanWrong - x.wrong }))
	t.estimate(&p.Loss.Value, &p.Loss.SE, of(func(x *score) float64 { return x.loss }))
	t.estimate(&p.MeanLoss.Value, &p.MeanLoss.SE, of(func(x *score) float64 { return x.meanLoss }))
	t.difference(&p.LossGain, of(func(x *score) float64 { return x.meanLoss - x.loss }))
	return nil
}

// wrongVote returns 1 if the most probable class is not that of the vote, else 0.
func wrongVote(p []float64, v head.Rating) float64 {
	if argmax(p) != int(v.Class) {
		return 1
	}
	return 0
}
