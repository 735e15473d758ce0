package train

import (
	"math"

	"credence/baseline"
	"credence/model"
)

// estimates makes the out-of-fold estimates of a method of package baseline, as
// outOfFold makes mixtures.
func (f *fitting) estimates(res *Result, runs []*run) error {
	res.Estimates = make([]*baseline.Estimate, f.ds.Len())
	return f.eachFold(runs, func(by []*run) error {
		var members []*model.Member
		for _, r := range by {
			members = append(members, r.network)
		}
		return f.eachBatch(by[0].held, func(x []float32, items []int) error {
			got, err := model.Estimates(members, x, res.Model.Head, len(f.ds.Classes))
			if err != nil {
				return err
			}
			for i, j := range items {
				res.Estimates[j] = &got[i]
			}
			return nil
		})
	})
}

// scoreEstimates computes the held-out scores that need no distribution.
func (f *fitting) scoreEstimates(res *Result) {
	d := len(f.ds.Classes)
	s := &res.Model.Provenance.Scores
	var held []float32
	votes := make([]float64, d)
	for _, j := range f.voted {
		e := res.Estimates[j]
		if e == nil {
			continue
		}
		held = append(held, f.ds.CountsOf(j)...)
		for i, c := range f.ds.CountsOf(j) {
			votes[i] = float64(c)
			if c > 0 {
				s.MarginalPerVote -= float64(c) * math.Log(e.Mean[i])
			}
			s.Votes += float64(c)
		}
		s.Items++
		s.Accuracy += credit(e.Mean, votes)
	}
	if s.Items == 0 {
		return
	}
	s.MarginalPerVote /= s.Votes
	s.Accuracy /= float64(s.Items)
	for _, p := range sharesOf(held, d) {
		if p > 0 {
			s.ConstantPerVote -= p * math.Log(p)
		}
	}
}
