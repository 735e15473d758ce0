package oracle

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"
)

// testdata/mixture.json was computed with mpmath to 50 digits and rounded to
// float64, from weights that had not been rounded yet.

type goldenCase struct {
	Name    string
	Weights []float64
	Alpha   [][]float64
	Classes []struct {
		Quantiles [][3]float64     // q, x, 1 − x
		Tails     [][3]json.Number `json:"cdf_and_survival"` // x, F(x), 1 − F(x)
	}
	LogPDF []goldenPoint
}

// goldenPoint is written as [[p₁, …, p_d], value].
type goldenPoint struct {
	p     []float64
	value float64
}

func (g *goldenPoint) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&g.p, &g.value})
}

func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	data, err := os.ReadFile("testdata/mixture.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []goldenCase }
	if err := json.Unmarshal(data, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	return file.Cases
}

// argument returns the x for which a row was computed: the decimal itself where x
// had been chosen as a decimal, like 0.3, else the float64 that it stands for.
// F(0.999) of one and the other differ by up to 1e-13 of the smaller tail.
func argument(t *testing.T, x json.Number) *big.Float {
	t.Helper()
	if len(x) <= len("0.0001") {
		return parse(t, Default, string(x))
	}
	return exactly(number(t, x))
}

func number(t *testing.T, n json.Number) float64 {
	t.Helper()
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rounded reports an error unless got, rounded to float64, is want but for a
// relative error, or for the least float64 there is.
func rounded(t *testing.T, got *big.Float, want, relative float64, format string, args ...any) {
	t.Helper()
	if g := float(got); !(math.Abs(g-want) <= relative*math.Abs(want)+math.SmallestNonzeroFloat64) {
		t.Errorf(format+" = %v, want %v", append(args, g, want)...)
	}
}

// With a single component even the last bit must be right; with several, what
// changes when the weights change by half a unit in their last place.
func TestGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			m := NewDirichletMixture(Quick, c.Weights, c.Alpha)
			tolerance := 0.0
			if len(c.Weights) > 1 {
				tolerance = 0x1p-52
			}
			for i, class := range c.Classes {
				marginal := m.Marginal(i)
				for _, row := range class.Tails {
					cdf, survival := marginal.CDF(argument(t, row[0]))
					rounded(t, cdf, number(t, row[1]), tolerance, "class %d: F(%v)", i, row[0])
					rounded(t, survival, number(t, row[2]), tolerance, "class %d: 1 − F(%v)", i, row[0])
				}
				for _, row := range class.Quantiles {
					q := exactly(row[0])
					x, y := marginal.Quantile(q)
					// By how much the logit changes if F does.
					w := Quick
					e := marginal.evaluate(w, w.sub(w.Log(x), w.Log(y)), q, w.complement(q))
					condition := 1 + 1/e.slope
					rounded(t, x, row[1], condition*tolerance, "class %d: quantile of %v", i, row[0])
					rounded(t, y, row[2], condition*tolerance, "class %d: 1 − quantile of %v", i, row[0])
				}
			}
			for _, point := range c.LogPDF {
				x := make([]*big.Float, len(point.p))
				for i, p := range point.p {
					x[i] = exactly(p)
				}
				// Where it is next to 0 the rounding of the weights is an absolute error.
				scale := 1 + 1/math.Max(math.Abs(point.value), 0x1p-52)
				rounded(t, m.LogPDF(x), point.value, scale*tolerance, "ln f(%v)", point.p)
			}
		})
	}
}
