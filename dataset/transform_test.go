package dataset

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

var nan = float32(math.NaN())

// mixed has a number with a gap, a constant, few levels, many levels, a vector
// and an image.
func mixed() *Dataset {
	parts := []Feature{
		{Name: "age", Kind: Numeric},
		{Name: "one", Kind: Numeric},
		{Name: "sex", Kind: Categorical, Levels: []string{"f", "m"}},
		{Name: "site", Kind: Categorical, Levels: []string{"a", "b", "c", "d", "e", "f"}},
		{Name: "vec", Kind: Tensor, Shape: []int{2}},
		{Name: "img", Kind: Tensor, Shape: []int{2, 1, 2}},
	}
	rows := [][]float32{
		//age one sex site vec    img
		{1, 7, 0, 0, 10, 1, 0, 2, 5, 5},
		{nan, 7, 1, 0, 20, 1, 4, 6, 5, 5},
		{3, 7, nan, 1, 30, 1, 8, 10, 5, 5},
		{5, 7, 0, 1, 40, 1, 0, 2, 5, 5},
		{7, 7, 0, 2, 50, 1, 0, 2, 5, 5},
		{9, 7, 1, 3, 60, 1, 0, 2, 5, 5},
		{9, 7, 1, 4, 70, 1, 0, nan, 5, 5},
	}
	ds := &Dataset{Features: parts, Classes: []string{"no", "yes"}}
	m := &Memory{N: len(rows), W: 10}
	for _, r := range rows {
		ds.Items = append(ds.Items, string(rune('A'+len(ds.Items))))
		ds.Counts = append(ds.Counts, 1, 1)
		m.Values = append(m.Values, r...)
	}
	ds.Rows = m
	return ds
}

func TestTransform(t *testing.T) {
	ds := mixed()
	if err := ds.Check(); err != nil {
		t.Fatal(err)
	}
	tr, err := Fit(ds, []int{2, 1, 0, 3, 4, 5}, TransformOptions{Scores: "off"})
	if err != nil {
		t.Fatal(err)
	}
	wantDense := []string{"age", "age missing", "one", "sex=f", "sex=m", "sex missing", "vec[0]", "vec[1]"}
	if in := tr.Inputs(); len(in) != 2 || in[0].Width != 12 || in[0].Features[6] != "site=a" {
		t.Errorf("%+v", in)
	}
	// site has four levels in training, so that it is one-hot by default. As codes,
	// c and d, which occur once, share the code of unknown levels.
	tr, err = Fit(ds, []int{2, 1, 0, 3, 4, 5}, TransformOptions{Scores: "off", Embed: []string{"site"}})
	if err != nil {
		t.Fatal(err)
	}
	inputs := tr.Inputs()
	if len(inputs) != 3 || !slices.Equal(inputs[0].Features, wantDense) {
		t.Fatalf("%+v", inputs)
	}
	if in := inputs[1]; in.Kind != Codes || in.Offset != 8 || in.Levels != 3 {
		t.Errorf("%+v", in)
	}
	if in := inputs[2]; in.Kind != Grid || in.Offset != 9 || in.Width != 4 || !slices.Equal(in.Shape, []int{2, 1, 2}) {
		t.Errorf("%+v", in)
	}
	if tr.Width() != 13 {
		t.Errorf("width %d, want 13", tr.Width())
	}

	rows, err := tr.Over(ds)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, rows.Width())
	// age over 1, 3, 5, 7, 9: mean 5, sd √8; vec[0] over 10…60: mean 35,
	// variance 17500/60; first channel 0 2 4 6 8 10 0 2 0 2 0 2: mean 3.
	if err := rows.ReadRow(1, got); err != nil {
		t.Fatal(err)
	}
	want := []float32{0, 1, 0, 0, 1, 0, float32(-15 / math.Sqrt(17500.0/60)), 0, 1,
		float32(1 / math.Sqrt(124.0/12)), float32(3 / math.Sqrt(124.0/12)), 0, 0}
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Errorf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
	if err := rows.ReadRow(6, got); err != nil { // unknown site, missing pixel
		t.Fatal(err)
	}
	if got[8] != 0 || got[10] != 0 {
		t.Errorf("unknown level %v, missing pixel %v, want 0 and 0", got[8], got[10])
	}

	// The JSON has the same numbers, and the same parts in another order give
	// the same input.
	text, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	var back Transform
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(&back)
	if string(text) != string(again) {
		t.Errorf("JSON changes on the way:\n%s\n%s", text, again)
	}
	other := &Dataset{Items: []string{"x"}, Features: []Feature{
		{Name: "site", Kind: Categorical, Levels: []string{"zz", "b"}}, ds.Features[5], ds.Features[4], ds.Features[2], ds.Features[1], ds.Features[0],
	}, Rows: &Memory{1, 10, []float32{1, 0, 2, 5, 5, 40, 1, 0, 7, 5}}}
	rows2, err := back.Over(other)
	if err != nil {
		t.Fatal(err)
	}
	got2 := make([]float32, 13)
	if err := rows.ReadRow(3, got); err != nil {
		t.Fatal(err)
	}
	if err := rows2.ReadRow(0, got2); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, got2) {
		t.Errorf("got %v in another order, want %v", got2, got)
	}
}

func TestTransformRefuses(t *testing.T) {
	ds := mixed()
	tr, err := Fit(ds, []int{0, 1, 2}, TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(parts []Feature) []Feature
		want   string
	}{
		{func(p []Feature) []Feature { return p[1:] }, `feature "age" is missing: the model was trained with it`},
		{func(p []Feature) []Feature { p[2].Kind = Numeric; return p }, `feature "sex": expected categorical as in training, found numeric`},
		{func(p []Feature) []Feature { p[5].Shape = []int{1, 2, 2}; return p }, `feature "img": expected shape 2×1×2 as in training, found 1×2×2`},
	} {
		d := mixed()
		d.Features = c.change(d.Features)
		if _, err := tr.Over(d); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"version":2,"parts":[]}`, `reading a transform: expected version 1, found 2`},
		{`{"version":1,"parts":[{"name":"a","kind":"numeric"}]}`, `reading a transform: feature "a": expected 1 means and standard deviations, found 0 and 0`},
		{`{"version":1,"parts":[{"name":"a","kind":"numeric","mean":[0],"sd":[-1]}]}`, `reading a transform: feature "a": invalid mean 0 or standard deviation -1`},
		{`{"version":1,"parts":[{"name":"a","kind":"tensor","shape":[2,2]}]}`, `reading a transform: feature "a": expected shape [n], [C,H,W] or [C,D,H,W], found [2 2]`},
		{`{"version":1,"parts":[{"name":"a","kind":"tensor","shape":[99999999,99999999,9]}]}`, `reading a transform: feature "a": shape [99999999 99999999 9] is invalid or too large`},
		{`{"version":1,"parts":[{"name":"a","kind":"odd"}]}`, `expected a feature kind among [numeric categorical tensor text], found "odd"`},
	} {
		var back Transform
		if err := json.Unmarshal([]byte(c.text), &back); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s\n gives %v\n want %s", c.text, err, c.want)
		}
	}
}

// Standardizing a whole channel and value by value gives the same bits.
func TestStandardizeAll(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	from := []float32{1, 2, 3, 4, nan, 5, 6, 7, math.MaxFloat32, -math.MaxFloat32, 0, 1e-40, inf, -inf, 8, 9, 1e38, 3e38, 1e38, 2e38, nan, 10, 11}
	for n := range len(from) + 1 {
		for _, c := range [][2]float64{{0, 1}, {3, 0}, {1e9, 1e-3}, {-2, 7}} {
			to := make([]float32, n)
			standardizeAll(to, from[:n], c[0], c[1])
			for i, got := range to {
				if want := standardize(from[i], c[0], c[1]); math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%v with mean %v and standard deviation %v: %v, want %v", from[i], c[0], c[1], got, want)
				}
			}
		}
	}
}
