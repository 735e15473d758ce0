package predict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"credence/head"
	"credence/mixture"
)

// raterModels returns rater models whose p̄ is far from p: of two classes, of three, and of three ordered ones.
func raterModels(t *testing.T) []*head.RaterModel {
	t.Helper()
	zero := []float64{0, 0}
	list := []*head.RaterModel{
		{Classes: 2, Votes: []float64{90, 30}, Bias: []float64{-1, 3}, BiasSE: []float64{.1, .1}, BiasSD: 1, Guess: []float64{.1, .3}},
		{Classes: 3, Votes: []float64{60, 60}, Guess: []float64{.1, .6}, Taste: []float64{0, 0, 1, 0, 0, 1}},
		{Classes: 3, Ordered: true, Votes: []float64{60, 60}, Bias: []float64{-1, 1}, BiasSE: []float64{.1, .1}, BiasSD: 1, LogScale: []float64{.3, -.3},
			LogScaleSE: []float64{.1, .1}, Guess: []float64{.05, .2}, Taste: []float64{0, 0, 1, 0, 0, 1}},
	}
	for _, c := range list {
		c.GuessLogit, c.GuessLogitSE = zero, zero
		if err := c.Finalize(); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestFullIsReported: the parameters of --full have the mean that is reported, of p̄ where raters are modelled, in columns and
// records; item_weights and item_alpha have that of p.
func TestFullIsReported(t *testing.T) {
	for _, c := range raterModels(t) {
		first, second := []float64{2, 6, 1}[:c.Classes], []float64{4, 0.5, 3}[:c.Classes]
		dist, err := mixture.NewDirichlet([]float64{0.3, 0.7}, [][]float64{first, second})
		if err != nil {
			t.Fatal(err)
		}
		p := Prediction{Decoded: head.NewDecoded(dist)}
		p.ForAverageRater(c.Average())
		s := Summary{Levels: []float64{0.95}}.All()
		row, err := p.Summarize(t.Context(), &s)
		if err != nil {
			t.Fatal(err)
		}
		moved := 0.0
		for i := range c.Classes {
			w, a, b := column(&row, "weights", i), column(&row, "a", i), column(&row, "b", i)
			mean := 0.0
			for k := range w {
				mean += w[k] * a[k] / (a[k] + b[k])
			}
			if want := row.mean(i); !(math.Abs(mean-want) < 1e-9) {
				t.Errorf("%d classes, ordered %v: class %d: --full has the mean %v, reported is %v", c.Classes, c.Ordered, i, mean, want)
			}
			moved = max(moved, math.Abs(dist.Mean(nil)[i]-row.mean(i)))
		}
		if moved < 0.05 {
			t.Errorf("%d classes: p̄ is within %v of p, expected a case in which they differ", c.Classes, moved)
		}
		for of, want := range map[string][]float64{"": p.Mean, "item_": dist.Mean(nil)} {
			shape := RecordShape{K: 2, D: c.Classes}
			weights, _ := recordField(of+"weights").Numbers([]Row{row}, shape)
			alpha, _ := recordField(of+"alpha").Numbers([]Row{row}, shape)
			written, err := mixture.NewDirichlet(weights, [][]float64{alpha[:c.Classes], alpha[c.Classes:]})
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range written.Mean(nil) {
				if !(math.Abs(m-want[i]) < 1e-9) {
					t.Errorf("%d classes, ordered %v: the record's %salpha has the mean %v, want %v", c.Classes, c.Ordered, of, m, want[i])
				}
			}
		}
	}
}

// column returns the values of a column of lists.
func column(r *Row, name string, class int) []float64 {
	return fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == name && f.list != nil })].list(r, class, 0)
}

func recordField(name string) *Field {
	return &fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == name && f.numbers != nil })]
}

// TestFullFields: records of a model with raters have the parameters of p as well, those of other models do not.
func TestFullFields(t *testing.T) {
	for _, rated := range []bool{false, true} {
		f := &Format{Full: true, rated: rated}
		names := strings.Join(recordFields(func(x *Field) bool { return x.record(f) }), " ")
		if strings.Contains(names, "item_alpha") != rated || !strings.Contains(names, "alpha") {
			t.Errorf("rated %v: %s", rated, names)
		}
	}
}
