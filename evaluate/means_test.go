package evaluate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"credence/head"
)

// TestMeans: predictions without distributions have the scores that need none, the
// same as those of the mixtures that the means come from, and no others.
func TestMeans(t *testing.T) {
	w := simulate(t, 300, 3, 4, 5)
	refs := scoredConstants(t, w.votes)
	var means []float64
	for _, m := range w.mixtures {
		means = append(means, m.Mean(nil)...)
	}
	opt := Options{Bootstrap: Bootstrap{Replicates: 50}}
	want, err := Evaluate(Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, References: refs}, opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Evaluate(Input{Predictions: meansOf(means, 3), Votes: w.votes, References: refs}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want Number
	}{
		{"marginal NLL", got.MarginalNLL.Value, want.MarginalNLL.Value}, {"its error", got.MarginalNLL.SE, want.MarginalNLL.SE},
		{"constant NLL", got.ConstantNLL.Value, want.ConstantNLL.Value}, {"floor", got.FloorNLL.Value, want.FloorNLL.Value},
		{"accuracy", got.Accuracy.Value, want.Accuracy.Value}, {"Brier", got.Brier.Value, want.Brier.Value}, {"ECE", got.ECE.Value, want.ECE.Value}, {"its error", got.ECE.SE, want.ECE.SE},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, of mixtures %v", c.name, c.got, c.want)
		}
	}
	for _, x := range []Number{got.NLL.Value, got.NLL.SE, got.ConstantDMNLL.Value, got.LogisticDMNLL.Value, got.DispersionRatio.Value, got.Agreement.Predicted, got.PITPValue, got.PIT.Distance} {
		if x.Known() {
			t.Errorf("a distribution's score is %v", x)
		}
	}
	if got.LessConstantDM != nil || got.Widths != nil || got.Abstention != nil || got.Coverage != nil {
		t.Errorf("result %+v", got)
	}
	if !strings.Contains(fmt.Sprint(got.Warnings), "without a distribution") {
		t.Errorf("warnings %q", got.Warnings)
	}
	for _, c := range []struct {
		in   Input
		want string
	}{
		{Input{Predictions: append(predictionsOf(w.mixtures[:1]), meansOf(means[3:], 3)...), Votes: w.votes}, "found 1 of 300"},
		{Input{Predictions: meansOf(means, 3), Truth: w.truth, Votes: w.votes}, "requires distributions"},
		{Input{Predictions: meansOf(means[3:], 3), Votes: w.votes}, "predictions for 300 items, found 299"},
		{Input{Predictions: meansOf(append([]float64{2}, means[1:]...), 3), Votes: w.votes}, "item 0: class 0: expected a probability between 0 and 1, found 2"},
		{Input{Predictions: meansOf(append([]float64{0, 0, 0}, means[3:]...), 3), Votes: w.votes}, "found a sum of 0"},
	} {
		if _, err := Evaluate(c.in, opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// meansOf returns predictions without distributions.
func meansOf(means []float64, d int) []head.Decoded {
	var list []head.Decoded
	for row := range slices.Chunk(means, d) {
		list = append(list, head.Decoded{Mean: row})
	}
	return list
}
