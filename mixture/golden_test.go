package mixture

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// goldenCase is one mixture of testdata/mixture.json, whose values were computed
// elsewhere with 50 digits and rounded to float64.
type goldenCase struct {
	Name    string
	Weights []float64
	Alpha   [][]float64
	Classes []struct {
		Mean, Var float64
		Quantiles [][3]float64 // q, x, 1−x
		Tails     [][3]float64 `json:"cdf_and_survival"` // x, F(x), 1−F(x)
	}
	LogPDF []goldenDensity
}

// goldenDensity is a row [[p₁, …, p_d], log-density].
type goldenDensity struct {
	p     []float64
	value float64
}

func (g *goldenDensity) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, &[]any{&g.p, &g.value})
}

func readGolden(t testing.TB) []goldenCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/mixture.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []goldenCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no golden cases")
	}
	return file.Cases
}

// near reports whether got is within a relative tol of want; NaN never is.
func near(got, want, tol float64) bool {
	return got == want || math.Abs(got-want) <= tol*math.Abs(want)
}

func TestGolden(t *testing.T) {
	for _, c := range readGolden(t) {
		t.Run(c.Name, func(t *testing.T) {
			m, err := NewDirichlet(c.Weights, c.Alpha)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.Classes {
				f := m.Marginal(i)
				check := func(what string, got, want, tol float64) {
					t.Helper()
					if !near(got, want, tol) {
						t.Errorf("class %d: %s = %v, want %v (relative error %.2g)", i, what, got, want, got/want-1)
					}
				}
				check("mean", m.Mean(nil)[i], want.Mean, 1e-14)
				check("variance", m.Variance(nil)[i], want.Var, 1e-13)
				check("marginal mean", f.Mean(), want.Mean, 1e-14)
				check("marginal variance", f.Variance(), want.Var, 1e-13)
				for _, r := range want.Quantiles {
					x, y := f.QuantileBoth(r[0])
					// The table rounds q to the nearest float64 and 1−q with it.
					check(fmt.Sprintf("quantile(%v)", r[0]), x, r[1], 1e-12)
					check(fmt.Sprintf("complement of quantile(%v)", r[0]), y, r[2], 1e-12)
				}
				for _, r := range want.Tails {
					check(fmt.Sprintf("CDF(%v)", r[0]), f.CDF(r[0]), r[1], 1e-12)
					check(fmt.Sprintf("Survival(%v)", r[0]), f.Survival(r[0]), r[2], 1e-12)
				}
			}
			for _, r := range c.LogPDF {
				got, err := m.LogPDF(r.p)
				if err != nil {
					t.Errorf("LogPDF(%v): %v", r.p, err)
				} else if !near(got, r.value, 1e-12) && math.Abs(got-r.value) > 1e-14 {
					// An absolute error of a logarithm is the relative error of the density.
					t.Errorf("LogPDF(%v) = %v, want %v (relative error %.2g)", r.p, got, r.value, got/r.value-1)
				}
			}
		})
	}
}
