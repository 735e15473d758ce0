package evaluate

import (
	"encoding/json"
	"strings"
	"testing"

	"credence/head"
	"credence/mixture"
)

// TestPerRater: raters of opposite biases are predicted, the mean is right half of the time, and a vote by an unknown
// rater is left out.
func TestPerRater(t *testing.T) {
	c := &head.RaterModel{Classes: 2, Votes: []float64{30, 30}, Bias: []float64{2, -2}, BiasSE: []float64{.1, .1}, BiasSD: 2,
		GuessLogit: []float64{-7, -7}, GuessLogitSE: []float64{1, 1}}
	if err := c.Finalize(); err != nil {
		t.Fatal(err)
	}
	in := Input{Votes: Votes{Classes: 2}, RaterModel: c, RaterNames: []string{"ann", "bob"}}
	for j := range 4 {
		dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{5, 5.5}})
		if err != nil {
			t.Fatal(err)
		}
		a := head.NewDecoded(dist)
		a.ForAverageRater(c.Average())
		in.Predictions = append(in.Predictions, a)
		in.Votes.Counts = append(in.Votes.Counts, 1, 2)
		in.Ratings = append(in.Ratings, []head.Rating{{Item: int32(j), Rater: 0, Class: 1}, {Item: int32(j), Rater: 1, Class: 0}, {Item: int32(j), Rater: -1, Class: 1}})
	}
	r, err := Evaluate(in, Options{PerRater: true, LeWiDi: true})
	if err != nil {
		t.Fatal(err)
	}
	p := r.PerRater
	if p.Votes != 8 || p.Unknown != 4 || p.ErrorRate.Value != 0 || p.MeanErrorRate.Value != 0.5 || p.Gain.Value != 0.5 || !(p.LossGain.Value > 0.3) {
		t.Errorf("%+v", p)
	}
	if x := p.Raters; len(x) != 2 || x[0] != (RaterError{"ann", 4, 0, 0}) || x[1] != (RaterError{"bob", 4, 0, 1}) {
		t.Errorf("raters %+v", x)
	}
	if r.LeWiDi.ErrorRate.Value != 0 {
		t.Errorf("error rate %v, expected 0: the mean is right about the unknown rater", r.LeWiDi.ErrorRate)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"error_rate":0,"error_rate_se":0,"mean_error_rate":0.5,`) {
		t.Errorf("%s, %v", text, err)
	}
	in.RaterModel, in.Ratings = nil, nil
	if r, err = Evaluate(in, Options{PerRater: true}); err != nil || r.PerRater != nil {
		t.Errorf("without raters: %+v, %v", r, err)
	}
}
