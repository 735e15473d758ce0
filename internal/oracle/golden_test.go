package oracle

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"
)

// Mixtures whose values were computed elsewhere with 50 digits, then rounded to
// float64. The arguments there are decimals, of which a float64 is the nearest,
// and the weights do not sum to one exactly: hence the tolerance.
func TestGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/mixture.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name    string
			Weights []float64
			Alpha   [][]float64
			Classes []struct {
				Quantiles [][3]float64 // q, x, 1−x
				Tails     [][3]float64 `json:"cdf_and_survival"` // x, F(x), 1−F(x)
			}
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil || len(file.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		m := NewDirichletMixture(Quick, c.Weights, c.Alpha)
		for i, class := range c.Classes {
			f := m.Marginal(i)
			check := func(what string, at float64, got *big.Float, want float64) {
				t.Helper()
				g, _ := got.Float64()
				if g != want && !(math.Abs(g-want) <= 1e-13*want) {
					t.Errorf("%s, class %d: %s(%v) = %v, want %v", c.Name, i, what, at, g, want)
				}
			}
			for _, row := range class.Tails {
				below, above := f.CDF(Quick.New(row[0]))
				check("CDF", row[0], below, row[1])
				check("survival", row[0], above, row[2])
			}
			for _, row := range class.Quantiles {
				x, y := f.Quantile(Quick.New(row[0]))
				check("quantile", row[0], x, row[1])
				check("complement of quantile", row[0], y, row[2])
			}
		}
	}
}
