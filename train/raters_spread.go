package train

import (
	"math"

	"credence/head"
)

// worseSpread is a class whose spread a model with raters predicts worse than one without: the ratios of the squared
// error that pairs of held-out votes show to the variance that is predicted for them, 1 if it is right.
type worseSpread struct {
	class        int
	plain, rated float64
}

// spreadSums are Σ (e_u − m_u)(e_v − m_v) and the predicted covariance of pairs of votes, by item, for one class.
type spreadSums struct{ shown, claimed []float64 }

// ratio returns Σ shown/Σ claimed, and its influence function by item.
func (s *spreadSums) ratio() (ratio float64, influence []float64) {
	var shown, claimed float64
	for k := range s.shown {
		shown, claimed = shown+s.shown[k], claimed+s.claimed[k]
	}
	ratio = shown / claimed
	influence = make([]float64, len(s.shown))
	for k := range influence {
		influence[k] = (s.shown[k] - ratio*s.claimed[k]) / claimed
	}
	return ratio, influence
}

// compareSpread returns the class whose ratio of held-out pairs moves away from 1 by the most standard errors when raters are
// modelled, paired by item, or nil if no class does so by more than raterGain of them. Held-out distributions are the
// calibrated ones, whose ratio over all classes is about 1 either way: a rater model of the wrong shape may predict votes
// better, and give some classes intervals that are too narrow and others intervals that are too wide. Two classes have a
// single ratio, which the calibration accounts for.
func (f *fitting) compareSpread(plain, rated *Result) (*worseSpread, error) {
	d := len(f.ds.Classes)
	if d < 3 {
		return nil, nil
	}
	before, after := make([]spreadSums, d), make([]spreadSums, d)
	add := func(to []spreadSums, shown, claimed []float64) {
		for i := range to {
			to[i].shown, to[i].claimed = append(to[i].shown, shown[i]), append(to[i].claimed, claimed[i])
		}
	}
	for _, j := range f.voted {
		a, b := plain.OutOfFold[j], rated.OutOfFold[j]
		if m := f.ds.VotesOf(j); a == nil || b == nil || m < 2 {
			continue
		}
		shown, claimed, err := rated.Model.RaterModel.Pairs(b.Dist, f.votesOf(j))
		if err != nil {
			return nil, err
		}
		add(after, shown, claimed)
		add(before, pairsOf(f.ds.CountsOf(j), a), a.Dist.Variance(nil))
	}
	if len(before[0].shown) < 2 {
		return nil, nil
	}
	var worst *worseSpread
	most := float64(raterGain)
	for i := range d {
		was, e := before[i].ratio()
		now, g := after[i].ratio()
		sum := 0.0
		for k := range e {
			x := math.Copysign(1, now-1)*g[k] - math.Copysign(1, was-1)*e[k]
			sum += x * x
		}
		if z := (math.Abs(now-1) - math.Abs(was-1)) / math.Sqrt(sum); z > most {
			most, worst = z, &worseSpread{i, was, now}
		}
	}
	return worst, nil
}

// pairsOf returns, for each class, the mean over pairs of different votes on an item of (e_u − μ)(e_v − μ), with e 1 for a vote
// for the class and μ the mean of the prediction.
func pairsOf(counts []float32, a *head.Decoded) []float64 {
	m := 0.0
	for _, s := range counts {
		m += float64(s)
	}
	shown := make([]float64, len(counts))
	for i, mu := range a.Dist.Mean(nil) {
		s := float64(counts[i])
		e := s - m*mu
		shown[i] = (e*e - s*(1-mu)*(1-mu) - (m-s)*mu*mu) / (m * (m - 1))
	}
	return shown
}
