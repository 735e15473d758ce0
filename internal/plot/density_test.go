package plot

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/mixture"
)

func beta(t testing.TB, weights, a, b []float64) *mixture.Beta {
	t.Helper()
	m, err := mixture.NewBeta(weights, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func one(t testing.TB, a, b float64) *mixture.Beta {
	t.Helper()
	return beta(t, []float64{1}, []float64{a}, []float64{b})
}

// goldenFigures are the picture of the README, and one figure for each thing
// that is drawn only at times.
func goldenFigures(t testing.TB) map[string]Density {
	t.Helper()
	before, err := mixture.NewDirichlet([]float64{0.5, 0.5}, [][]float64{{30, 4}, {3, 25}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := before.Update([]float64{2, 0})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Density{
		"votes": {
			Title:  "What two votes change: the distribution of the probability of class 0",
			XLabel: "probability of class 0",
			Curves: []Curve{
				{Label: "before", Mixture: before.Marginal(0)},
				{Label: "after two votes for class 0", Mixture: after.Marginal(0)},
			},
		},
		"poles": {
			Title: "Poles at both ends, and a density that is flat",
			Curves: []Curve{
				{Label: "Beta(½, ½)", Mixture: one(t, 0.5, 0.5)},
				{Label: "uniform", Mixture: one(t, 1, 1)},
				{Label: "Beta(0.001, 0.001)", Mixture: one(t, 0.001, 0.001)},
			},
		},
		"spike": {
			Title: "A spike beside a broad mode",
			Curves: []Curve{
				{Label: "half of the mass in a spike", Mixture: beta(t, []float64{0.5, 0.5}, []float64{1e6, 2}, []float64{4e5, 5})},
				{Label: "broad", Mixture: one(t, 6, 3)},
			},
		},
		"zoom": {Curves: []Curve{{Label: "", Mixture: one(t, 1e6, 1e6)}}},
		"many": manyCurves(t),
	}
}

// manyCurves are more than there are colors, at two levels.
func manyCurves(t testing.TB) Density {
	d := Density{Levels: []float64{0.5, 0.95}}
	for i, label := range []string{"healthy", "mild cognitive impairment", "Alzheimer’s disease", "vascular dementia",
		"Lewy body dementia", "frontotemporal dementia", "other"} {
		d.Curves = append(d.Curves, Curve{Label: label, Mixture: one(t, 4+3*float64(i), 30-4*float64(i))})
	}
	return d
}

// hardFigures are those that could go wrong.
func hardFigures(t testing.TB) map[string]Density {
	t.Helper()
	figures := map[string]Density{
		"no levels":     {Curves: []Curve{{Label: "a", Mixture: one(t, 3, 4)}}, Levels: []float64{}},
		"extreme level": {Curves: []Curve{{Label: "a", Mixture: one(t, 3, 4)}}, Levels: []float64{1 - 1e-12}},
		"many levels":   {Curves: []Curve{{Label: "a", Mixture: one(t, 3, 4)}}, Levels: []float64{0.99, 0.5, 0.8, 0.5, 0.95}},
		"two spikes": {Curves: []Curve{{Label: "a", Mixture: beta(t, []float64{0.5, 0.5}, []float64{1e7, 3e7}, []float64{3e7, 1e7})},
			{Label: "b", Mixture: one(t, 1e6, 1e6)}}},
		"spike of minute weight": {Curves: []Curve{{Label: "a", Mixture: beta(t, []float64{1e-12, 1 - 1e-12}, []float64{1e7, 2}, []float64{1e7, 3})}}},
		"spike and pole": {Curves: []Curve{{Label: "a", Mixture: beta(t, []float64{0.3, 0.3, 0.4}, []float64{1e6, 0.01, 2}, []float64{1e6, 3, 0.02})},
			{Label: "b", Mixture: one(t, 0.3, 0.1)}}},
		"poles of two components": {Curves: []Curve{{Label: "a", Mixture: beta(t, []float64{0.5, 0.5}, []float64{0.5, 0.3}, []float64{0.2, 0.3})}}},
		"hostile words": {
			Title:  strings.Repeat(`</text><script>alert("&")</script> `, 9) + strings.Repeat("W", 300) + "\x00\xff\n",
			XLabel: strings.Repeat("probability & <odds> ", 20),
			Curves: []Curve{
				{Label: strings.Repeat("long label ", 30), Mixture: one(t, 3, 4)},
				{Label: "クラス０の確率", Mixture: one(t, 4, 4)},
				{Label: strings.Repeat("W", 200), Mixture: one(t, 4, 3)},
				{Label: "\x01]]>", Mixture: one(t, 4, 2)},
			},
		},
	}
	many := Density{Title: "thirty curves"}
	for i := range 30 {
		many.Curves = append(many.Curves, Curve{Label: fmt.Sprintf("class %d", i), Mixture: one(t, 0.5+float64(i), 1e-2*math.Exp(float64(i)/3))})
	}
	figures["thirty curves"] = many
	for _, ab := range [][2]float64{{1, 1}, {1, 2}, {1, 1e6}, {1e6, 1}, {0.5, 0.5}, {1e-3, 1e-3}, {1e-3, 1e7}, {1e7, 1e-3}, {0.5, 1e6},
		{1e6, 1e6}, {1e6, 3}, {3, 1e6}, {1e7, 0.5}, {1e9, 2e9}, {1e12, 1e12}, {1e3, 1e10}, {1e-3, 1}, {2, 0.1}} {
		figures[fmt.Sprintf("Beta(%g, %g)", ab[0], ab[1])] = Density{Title: "one", Curves: []Curve{{Label: "a", Mixture: one(t, ab[0], ab[1])}}}
		figures[fmt.Sprintf("Beta(%g, %g) and uniform", ab[0], ab[1])] = Density{
			Curves: []Curve{{Label: "a", Mixture: one(t, ab[0], ab[1])}, {Label: "uniform", Mixture: one(t, 1, 1)}}}
	}
	return figures
}

// TestGolden: figures of densities are what was looked at.
func TestGolden(t *testing.T) {
	for name, d := range goldenFigures(t) {
		t.Run(name, func(t *testing.T) { compareGolden(t, name, d) })
	}
}

func TestFilesAreSound(t *testing.T) {
	for name, d := range goldenFigures(t) {
		t.Run(name, func(t *testing.T) { checkFile(t, svg(t, d)) })
	}
	for name, d := range hardFigures(t) {
		t.Run(name, func(t *testing.T) { checkFile(t, svg(t, d)) })
	}
}

// TestRandomFigures draws mixtures with parameters from 1e-3 to 1e7.
func TestRandomFigures(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() float64 { return math.Exp(math.Log(1e-3) + r.Float64()*math.Log(1e10)) }
	n := 300
	if testing.Short() {
		n = 30
	}
	for range n {
		d := Density{Levels: []float64{0.5 + 0.49*r.Float64()}}
		for i := range 1 + r.IntN(3) {
			var w, a, b []float64
			k := 1 + r.IntN(4)
			for range k {
				w, a, b = append(w, 1/float64(k)), append(a, number()), append(b, number())
			}
			d.Curves = append(d.Curves, Curve{Label: fmt.Sprint("curve ", i), Mixture: beta(t, w, a, b)})
		}
		var b bytes.Buffer
		if err := WriteSVG(&b, d); err != nil {
			t.Error(err)
		} else {
			checkFile(t, b.Bytes())
		}
		if t.Failed() {
			t.Logf("levels %v, curves with components", d.Levels)
			for _, c := range d.Curves {
				for k := range c.Mixture.K() {
					t.Log(c.Mixture.Component(k))
				}
			}
			t.FailNow()
		}
	}
}

func TestDeterminism(t *testing.T) {
	for name, d := range goldenFigures(t) {
		if first, second := svg(t, d), svg(t, d); !bytes.Equal(first, second) {
			t.Errorf("%s: two files of one figure differ", name)
		}
	}
}

func TestDensityErrors(t *testing.T) {
	good := []Curve{{Label: "a", Mixture: one(t, 2, 2)}}
	for _, c := range []struct {
		d    Density
		want string
	}{
		{Density{}, "density figure: no curves"},
		{Density{Curves: []Curve{good[0], {Label: "b"}}}, `density figure: curve 1 ("b") has no mixture`},
		{Density{Curves: []Curve{{Label: "c", Mixture: &mixture.Beta{}}}}, `density figure: curve 0 ("c") has no mixture`},
		{Density{Curves: good, Levels: []float64{0.5, 1}}, "density figure: level is 1: it lies between 0 and 1"},
		{Density{Curves: good, Levels: []float64{math.NaN()}}, "density figure: level is NaN: it lies between 0 and 1"},
	} {
		var b bytes.Buffer
		if err := WriteSVG(&b, c.d); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		} else if b.Len() > 0 {
			t.Errorf("wrote %d bytes beside the error %v", b.Len(), err)
		}
	}
	r, w := io.Pipe()
	r.Close()
	if err := WriteSVG(w, Density{Curves: good}); err == nil {
		t.Error("no error from a writer that fails")
	}
}

func TestLevelsStayAsGiven(t *testing.T) {
	levels := []float64{0.5, 0.95, 0.8}
	svg(t, Density{Curves: []Curve{{Label: "a", Mixture: one(t, 2, 2)}}, Levels: levels})
	if levels[0] != 0.5 || levels[1] != 0.95 || levels[2] != 0.8 {
		t.Errorf("levels were changed to %v", levels)
	}
}

func TestWords(t *testing.T) {
	text := string(svg(t, goldenFigures(t)["votes"]))
	for _, want := range []string{
		// From credence/mixture, whose values are tested there.
		"<desc>before: mean 0.49, median 0.51, 95% two-sided interval 0.03 to 0.96, 95% highest-density set 0.01 to 0.22 and 0.77 to 0.98. after",
		">95% highest-density set<", ">95% two-sided interval, mean<", ">before<",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the figure", want)
		}
	}
	text = string(svg(t, manyCurves(t)))
	for _, want := range []string{">50% and 95% highest-density sets<", ">50% and 95% two-sided intervals, mean<"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the figure", want)
		}
	}
}

// TestFreePlaces: a place is found for arrows at any pixel, also where a step
// away from another is a little less than a step after rounding.
func TestFreePlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 10000 {
		first := 760 * r.Float64()
		for _, step := range []float64{11, -11} {
			taken := []float64{first}
			for range 3 {
				x := free(taken, first, step)
				for _, other := range taken {
					if math.Abs(x-other) < 10.999 {
						t.Fatalf("a place at %v, %v from another", x, math.Abs(x-other))
					}
				}
				taken = append(taken, x)
			}
		}
	}
}

// TestCoarseIntervals: at a coarse resolution intervals reach far beyond the curve,
// and are on the figure all the same.
func TestCoarseIntervals(t *testing.T) {
	for _, m := range []*mixture.Beta{one(t, 0.6, 3000), one(t, 3000, 0.6), one(t, 1, 1e6)} {
		f := Density{Curves: []Curve{{Mixture: m, Resolution: 0.02}}, Levels: []float64{0.95}}
		var b bytes.Buffer
		if err := WriteSVG(&b, f); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") {
			t.Error("coordinates that are no numbers")
		}
	}
}
