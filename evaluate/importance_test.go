package evaluate

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/mixture"
)

// betaOf predicts Beta(cμ, c(1−μ)) with μ = σ(x₀) and c = exp(1 + x₁), and ignores the third feature.
func betaOf(t *testing.T, calls *int) Predictor {
	return func(_ context.Context, items []int, rows dataset.Rows) ([]head.Decoded, error) {
		*calls++
		list := make([]head.Decoded, rows.Len())
		row := make([]float32, rows.Width())
		for j := range list {
			if err := rows.ReadRow(j, row); err != nil {
				return nil, err
			}
			mu, c := 1/(1+math.Exp(-float64(row[0]))), math.Exp(1+float64(row[1]))
			m, err := mixture.NewDirichlet([]float64{1}, [][]float64{{c * (1 - mu), c * mu}})
			if err != nil {
				t.Fatal(err)
			}
			list[j] = head.NewDecoded(m)
		}
		return list, nil
	}
}

// importanceInput returns items with three features, with votes that follow the predictions of betaOf.
func importanceInput(t *testing.T, n int) (Input, Predictor, *int) {
	t.Helper()
	calls := new(int)
	predict := betaOf(t, calls)
	r := rand.New(rng.New(3, "importance"))
	rows := &dataset.Memory{N: n, W: 3}
	for range 3 * n {
		rows.Values = append(rows.Values, float32(1.5*r.NormFloat64()))
	}
	in := Input{Rows: rows, Features: []dataset.Feature{{Name: "size"}, {Name: "blur"}, {Name: "noise"}}, Votes: Votes{Classes: 2}}
	var err error
	if in.Predictions, err = predict(t.Context(), nil, rows); err != nil {
		t.Fatal(err)
	}
	for j := range n {
		p := in.Predictions[j].Dist.Sample(nil, r)
		counts := []float64{0, 0}
		for range 6 {
			if r.Float64() < p[1] {
				counts[1]++
			} else {
				counts[0]++
			}
		}
		in.Votes.Counts = append(in.Votes.Counts, counts...)
	}
	return in, predict, calls
}

// Each feature is found for its part, one that is not used has no importance at all, and curves follow the truth.
func TestImportance(t *testing.T) {
	in, predict, _ := importanceInput(t, 800)
	got, err := NewImportance(t.Context(), in, predict, ImportanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]ColumnImportance{}
	for _, c := range got.Columns {
		by[c.Name()] = c
	}
	size, blur, noise := by["size"], by["blur"], by["noise"]
	zero := func(x Number) bool { return math.Abs(float64(x)) < 1e-9 } // but for rounding
	if !Matters(size.Mean) || !zero(size.Spread.Value) || !Matters(size.Loss) {
		t.Errorf("size: %+v", size)
	}
	if !zero(blur.Mean.Value) || !Matters(blur.Spread) || !Matters(blur.Loss) || !zero(blur.MeanChange) {
		t.Errorf("blur: %+v", blur)
	}
	if noise.Mean.Value != 0 || noise.Spread.Value != 0 || noise.Loss.Value != 0 || noise.SpreadChange != 0 {
		t.Errorf("noise: %+v", noise)
	}
	if got.Columns[2].Name() != "noise" {
		t.Errorf("expected the feature without importance last, found %v", got.Columns[2].Name())
	}
	// ln c is 1 + blur for every item, whatever its mean.
	for i, x := range blur.Curve.Values {
		for _, curve := range append(blur.Curve.ItemSpread, blur.Curve.Spread) {
			if want := 1 + float64(x); !(math.Abs(float64(curve[i])-want) < 1e-6) {
				t.Fatalf("log concentration at %v: expected %v, found %v", x, want, curve[i])
			}
		}
	}
}

// Features that are permuted together keep their joint values: one call predicts both.
func TestImportanceOfGroups(t *testing.T) {
	in, predict, calls := importanceInput(t, 100)
	*calls = 0
	got, err := NewImportance(t.Context(), in, predict, ImportanceOptions{Columns: [][]string{{"size", "blur"}}, Repeats: 3})
	if err != nil || len(got.Columns) != 1 || got.Columns[0].Name() != "size + blur" || *calls != 3 || got.Columns[0].Curve != nil {
		t.Errorf("found %+v after %d calls, %v", got, *calls, err)
	}
}

func TestImportanceErrors(t *testing.T) {
	in, predict, _ := importanceInput(t, 30)
	for want, o := range map[string]ImportanceOptions{
		`found "blurr": did you mean "blur"?`: {Columns: [][]string{{"blurr"}}},
		`(size, blur, noise), found "weight"`: {Columns: [][]string{{"weight"}}},
		`found "size" twice in a group`:       {Columns: [][]string{{"size", "size"}}},
		"expected at least 2 permutations":    {Repeats: 1},
	} {
		if _, err := NewImportance(t.Context(), in, predict, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, found %v", want, err)
		}
	}
	clear(in.Votes.Counts)
	if _, err := NewImportance(t.Context(), in, predict, ImportanceOptions{}); err == nil || !strings.Contains(err.Error(), "found none") {
		t.Errorf("without votes: found %v", err)
	}
}

// The gain of new items and of second opinions, from losses that are known: if predictions lose the same on every item
// with half of the votes left out, 100 further votes of N gain 100/N of that.
func TestAllocation(t *testing.T) {
	in, _, _ := importanceInput(t, 200)
	worse := func(c float64) Reduced { // the same means, less concentrated
		list := make([]head.Decoded, len(in.Predictions))
		for j := range list {
			m, err := mixture.NewDirichlet([]float64{1}, [][]float64{{c * in.Predictions[j].Mean[0], c * in.Predictions[j].Mean[1]}})
			if err != nil {
				t.Fatal(err)
			}
			list[j] = head.NewDecoded(m)
		}
		return Reduced{Predictions: list, Of: 1000, Removed: 500}
	}
	same := Reduced{Predictions: in.Predictions, Of: 1000, Removed: 500}
	bad := worse(0.2)
	a, err := NewAllocation(t.Context(), in, 1000, 100, []Reduced{bad, bad}, []Reduced{same, same})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newSample(t.Context(), in)
	base, _ := s.partLosses(in.Predictions)
	lost, _ := s.partLosses(bad.Predictions)
	want := 0.0
	for j := range base {
		want += (lost[j][jointPart] - base[j][jointPart]) / sum(s.total) / 10
	}
	if !(math.Abs(float64(a.NewItems.Value)-want) < 1e-12) || a.SecondOpinions.Value != 0 || !strings.HasPrefix(a.String(), "Ask for votes on new items: 100") {
		t.Errorf("expected a gain of %v on new items, found %v\n%v", want, a.NewItems.Value, a)
	}
	if a, err = NewAllocation(t.Context(), in, 1000, 100, []Reduced{same, same}, []Reduced{bad, bad}); err != nil || !strings.HasPrefix(a.String(), "Ask for second opinions") {
		t.Errorf("found %v, %v", a, err)
	}
	if a, err = NewAllocation(t.Context(), in, 1000, 100, []Reduced{bad, bad}, nil); err != nil || !strings.Contains(a.String(), "cannot be determined") {
		t.Errorf("found %v, %v", a, err)
	}
	if _, err = NewAllocation(t.Context(), in, 1000, 100, []Reduced{bad}, nil); err == nil {
		t.Error("one repetition: expected an error")
	}
}
