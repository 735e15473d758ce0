package study

import (
	"context"
	"math"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// The methods that are fitted to the votes of a pool of raters.
const (
	ratersModelled = "raters modelled"
	ratersIgnored  = "raters not modelled"
	dawidSkeneFit  = "Dawid–Skene, then softmax"
	majorityFit    = "majority, then softmax"
	othersOnly     = "guessers known and left out"
)

// poolMethods returns the methods for a kind of raters.
func poolMethods(kind string) []string {
	list := []string{ratersModelled, ratersIgnored, dawidSkeneFit, majorityFit}
	if kind == guessers {
		list = append(list, othersOnly)
	}
	return list
}

// poolOutcome has the results of a fit. Numbers that a method does not provide are unknown.
type poolOutcome struct {
	RMS   evaluate.Number `json:"rms"`   // of the mean less E[p̄ | x], on fresh items
	Plain evaluate.Number `json:"plain"` // of the mean of p less E[p | x]
	NLL   evaluate.Number `json:"nll"`   // joint, per vote, of fresh votes
	// Coverage is the share of fresh items whose p̄ lies in its reported interval at each of
	// adniLevels, Width the mean width at 95%, Ratio the squared error of p̄ over its predicted
	// variance.
	Coverage []float64       `json:"coverage,omitempty"`
	Width    evaluate.Number `json:"width"`
	Ratio    evaluate.Number `json:"ratio"`
	Bias     recovery        `json:"lean"`
	Guess    recovery        `json:"guess"`
}

// recovery measures how close the estimated parameters of raters are to the truth.
type recovery struct {
	RMS         evaluate.Number `json:"rms"`
	Correlation evaluate.Number `json:"correlation"`
	Coverage    evaluate.Number `json:"coverage"` // of 95% intervals
}

var notKnown = evaluate.Number(math.NaN())

// unknownRecovery is the recovery of a method that does not estimate raters.
var unknownRecovery = recovery{notKnown, notKnown, notKnown}

// judge fits a method to the votes of a pool of raters and evaluates it on fresh items of the same raters.
func (s *Raters) judge(ctx context.Context, c poolDesign, method string, seed uint64) (*poolOutcome, error) {
	w := newRaterPool(c, seed)
	items, err := w.vote(c.Items(), seed, "study.raters.items")
	if err != nil {
		return nil, err
	}
	fresh, err := w.vote(s.Fresh, seed, "study.raters.fresh")
	if err != nil {
		return nil, err
	}
	out := &poolOutcome{Width: notKnown, Ratio: notKnown, Bias: unknownRecovery, Guess: unknownRecovery}
	ds, o := s.learn(items.ds, w, method, seed)
	switch method {
	case dawidSkeneFit:
		m := fitDawidSkene(items.ds, 100)
		out.recover(w, func(r int) float64 { return m.bias(r) }, func(r int) float64 { return m.guessing(r) })
		for k, p := range m.Posterior {
			ds.Counts[k] = float32(p)
		}
	case majorityFit:
		bias, guess := byMajority(items.ds)
		out.recover(w, func(r int) float64 { return bias[r] }, func(r int) float64 { return guess[r] })
	}
	res, err := train.Fit(ctx, ds, o)
	if err != nil {
		return nil, err
	}
	predicted, err := res.Model.Predict(context.Background(), fresh.ds, model.PredictOptions{})
	if err != nil {
		return nil, err
	}
	if raterModel := res.Model.RaterModel; raterModel != nil {
		out.recoverLearned(w, raterModel)
	}
	return out, out.judge(predicted, res.Model.RaterModel, fresh)
}

// learn returns the training data and options of a method.
func (s *Raters) learn(items *dataset.Dataset, w *raterPool, method string, seed uint64) (*dataset.Dataset, train.Options) {
	o := train.Options{Seed: seed, NoReferences: true, Ensemble: s.Ensemble, Raters: "off"}
	ds := *items
	switch method {
	case ratersModelled:
		o.Raters = "on"
		return &ds, o
	case othersOnly:
		ds.Counts = make([]float32, len(items.Counts))
		for _, r := range items.Ratings {
			if w.Guess[r.Rater] == 0 {
				ds.Counts[2*r.Item+r.Class]++
			}
		}
	case dawidSkeneFit, majorityFit:
		o.Head, o.Force = head.Softmax{}, true
		ds.Counts = make([]float32, len(items.Counts))
		for j := range items.Len() {
			if items.CountsOf(j)[1] > votesEach/2 {
				ds.Counts[2*j+1] = 1
			} else {
				ds.Counts[2*j] = 1
			}
		}
	}
	ds.Ratings, ds.Raters = nil, nil
	return &ds, o
}

// judge compares the predictions for fresh items with the truth and with their votes.
func (out *poolOutcome) judge(predicted []head.Decoded, raterModel *head.RaterModel, fresh *poolItems) error {
	square, plain, loss, off, spread, width := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	n := float64(len(predicted))
	ratings := fresh.ds.Ratings
	if predicted[0].Dist != nil {
		out.Coverage = make([]float64, len(adniLevels))
	}
	for j := range predicted {
		a := &predicted[j]
		e := a.Mean[1] - fresh.expected[j]
		square += e * e / n
		own := a.Mean // of p itself, not of an average rater
		if a.Average != nil {
			own = a.Dist.Mean(nil)
		}
		e = own[1] - fresh.plain[j]
		plain += e * e / n
		l, err := voteLoss(a, raterModel, fresh.ds, j, ratings[j*votesEach:(j+1)*votesEach])
		if err != nil {
			return err
		}
		loss += l / (n * votesEach)
		if a.Dist == nil {
			continue
		}
		e = a.Mean[1] - fresh.average[j]
		off, spread = off+e*e, spread+a.Variance[1]
		class := a.Reported().Class(1)
		for l, level := range adniLevels {
			in := class.Interval(mixture.TwoSided, level)
			if in.Contains(fresh.average[j]) {
				out.Coverage[l] += 1 / n
			}
			if l == len(adniLevels)-1 {
				width += in.Length() / n
			}
		}
	}
	out.RMS, out.Plain = evaluate.Number(math.Sqrt(square)), evaluate.Number(math.Sqrt(plain))
	out.NLL = evaluate.Number(loss)
	if predicted[0].Dist != nil {
		out.Width, out.Ratio = evaluate.Number(width), evaluate.Number(off/spread)
	}
	return nil
}

// voteLoss returns −ln of the probability of the votes on item j, by their raters where those are modelled.
func voteLoss(a *head.Decoded, raterModel *head.RaterModel, ds *dataset.Dataset, j int, ratings []dataset.Rating) (float64, error) {
	switch {
	case a.Dist == nil:
		loss := 0.0
		for _, r := range ratings {
			loss -= math.Log(a.Mean[r.Class])
		}
		return loss, nil
	case raterModel == nil:
		l, err := a.Dist.LogVotes([]float64{float64(ds.CountsOf(j)[0]), float64(ds.CountsOf(j)[1])})
		return -l, err
	}
	var votes []head.Rating
	for _, r := range ratings {
		votes = append(votes, head.Rating{Rater: r.Rater, Class: r.Class})
	}
	l, err := raterModel.LogVotes(a.Dist, votes)
	return -l, err
}
