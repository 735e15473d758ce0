package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNormalScores compares scores of six values, two of them tied, with Φ⁻¹((rank − ½)/n) from statistical tables:
// Φ⁻¹(1/12) = −1.3830, Φ⁻¹(1/3) = −0.4307 for the mean rank 2.5, Φ⁻¹(7/12) = 0.2104, Φ⁻¹(3/4) = 0.6745, Φ⁻¹(11/12) = 1.3830.
func TestNormalScores(t *testing.T) {
	var p fitted
	p.fitScores([]float32{5, 2, 2, 100, 1, 3})
	for _, c := range []struct {
		x    float32
		want float64
	}{
		{1, -1.38299}, {2, -0.43073}, {3, 0.21043}, {5, 0.67449}, {100, 1.38299},
		{-1e30, -1.38299}, {1e30, 1.38299}, // beyond the ends
		{4, (0.21043 + 0.67449) / 2}, {2.5, (0.21043 - 0.43073) / 2}, // in between
		{float32(math.NaN()), 0},
	} {
		if got := float64(p.score(c.x)); math.Abs(got-c.want) > 2e-5 {
			t.Errorf("score of %v: expected %v, found %v", c.x, c.want, got)
		}
	}
	if err := p.checkScores(); err != nil {
		t.Error(err)
	}
}

// TestScoreKnots keeps few knots of many values, whose scores are off by little, and none of two values.
func TestScoreKnots(t *testing.T) {
	var p, two fitted
	var values []float32
	for i := range 10_000 {
		values = append(values, float32(math.Exp(float64(i)/1000)))
	}
	slices.Reverse(values)
	p.fitScores(values)
	if len(p.Knots) > maxKnots || p.Knots[0] != 1 || p.Knots[len(p.Knots)-1] != slices.Max(values) {
		t.Fatalf("%d knots", len(p.Knots))
	}
	for i := 0; i < 10_000; i += 7 {
		want := math.Sqrt2 * math.Erfinv((2*float64(i)+1)/10_000-1)
		if got := float64(p.score(float32(math.Exp(float64(i) / 1000)))); math.Abs(got-want) > 0.05 {
			t.Errorf("score of value %d: expected %.4f, found %.4f", i, want, got)
		}
	}
	if two.fitScores([]float32{1, 0, 1, 1}); two.Knots != nil {
		t.Errorf("knots %v of two values", two.Knots)
	}
}

// TestRanks compares the ranks of values, many of them tied, negative, tiny or large, with those after sorting.
func TestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var work ranks
	for n := range 300 {
		values := make([]float32, n)
		for i := range values {
			switch r.IntN(4) {
			case 0:
				values[i] = float32(r.IntN(7) - 3)
			case 1:
				values[i] = float32(r.NormFloat64())
			case 2:
				values[i] = math.Float32frombits(r.Uint32())
				if v := values[i]; v-v != 0 {
					values[i] = math.MaxFloat32
				}
			case 3:
				values[i] = float32(math.Copysign(0, r.NormFloat64()))
			}
		}
		work.sort(values)
		slices.Sort(values)
		at := 0
		for i, knot := range work.knots {
			lo := at
			for at < n && values[at] == knot {
				at++
			}
			if at == lo || work.sums[i] != lo+at {
				t.Fatalf("%d values: knot %v has ranks from %d to %d, the sum is %d", n, knot, lo, at, work.sums[i])
			}
		}
		if at != n {
			t.Fatalf("%d of %d values have a knot", at, n)
		}
	}
}

// TestScoreInputs: scores follow the other numbers, whatever the order of columns in new data, and columns for trees
// leave them out.
func TestScoreInputs(t *testing.T) {
	ds := mixed()
	rows := []int{0, 1, 2, 3, 4, 5}
	tr, err := Fit(ds, rows, TransformOptions{Embed: []string{"site"}})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Fit(ds, rows, TransformOptions{Embed: []string{"site"}, Scores: "off"})
	if err != nil {
		t.Fatal(err)
	}
	names := tr.Inputs()[0].Features
	if tr.Plain() != plain.Plain() || tr.Width() != plain.Width()+1 || names[tr.Plain()] != "age normal score" || !tr.HasScores() || plain.HasScores() {
		t.Fatalf("inputs %q, %d of them without scores", names, tr.Plain())
	}
	over := func(tr *Transform) [][]float32 {
		in, err := tr.Over(ds)
		if err != nil {
			t.Fatal(err)
		}
		var list [][]float32
		for i := range ds.Len() {
			x := make([]float32, tr.Width())
			if err := in.ReadRow(i, x); err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
		}
		return list
	}
	at := tr.Plain()
	with, without := over(tr), over(plain)
	for i := range with {
		if got := slices.Delete(slices.Clone(with[i]), at, at+1); !slices.Equal(got, without[i]) {
			t.Errorf("item %d: other inputs %v, without scores %v", i, got, without[i])
		}
	}
	if c := tr.Columns(); c != nil {
		t.Errorf("columns %+v of data with an image", c)
	}
	table := &Transform{features: []fitted{
		{Feature: Feature{Name: "age", Kind: Numeric}, Missing: true, Knots: []float32{0, 1, 2}, Scores: []float32{-1, 0, 1}},
		{Feature: Feature{Name: "sex", Kind: Categorical, Levels: []string{"f", "m"}}, Missing: true},
		{Feature: Feature{Name: "site", Kind: Categorical, Levels: []string{"a", "b"}}, Encoding: code},
	}}
	want := []Column{{"age", 0, 1, 0}, {"sex=f", 2, -1, 0}, {"sex=m", 3, -1, 0}, {"sex missing", 4, -1, 0}, {"site", 6, -1, 3}}
	if got := table.Columns(); !slices.Equal(got, want) {
		t.Errorf("columns %+v, expected %+v", got, want)
	}
	text, err := tr.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Transform
	if err := back.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(with, over(&back), slices.Equal[[]float32]) {
		t.Error("a transform that was read has other scores")
	}
	bad := strings.Replace(string(text), `"knots":[`, `"knots":[9e30,`, 1)
	if err := back.UnmarshalJSON([]byte(bad)); err == nil {
		t.Error("knots without scores were read")
	}
	if _, err := Fit(ds, rows, TransformOptions{Scores: "yes"}); err == nil || !strings.Contains(err.Error(), "[auto off]") {
		t.Errorf("error %v", err)
	}
}
