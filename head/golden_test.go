package head

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// lossCase is one entry of testdata/loss.json: values and gradients computed
// with 50 digits.
type lossCase struct {
	Name       string      `json:"name"`
	Components int         `json:"components"`
	Classes    int         `json:"classes"`
	Outputs    [][]float64 `json:"outputs"`
	Counts     [][]float64 `json:"counts"`
	NLL        []float64   `json:"nll"`
	Grad       [][]float64 `json:"grad"`
}

func lossCases(t *testing.T) []lossCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/loss.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []lossCase `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// off returns the largest |got − want| divided by the largest |want|.
func off(got, want []float64) float64 {
	top, worst := 0.0, 0.0
	for i, w := range want {
		top = math.Max(top, math.Abs(w))
		worst = math.Max(worst, math.Abs(got[i]-w))
	}
	return worst / top
}

func TestGoldenFloat64(t *testing.T) {
	worst := 0.0
	for _, c := range lossCases(t) {
		for j, out := range c.Outputs {
			grad := make([]float64, len(out))
			nll := NLL(grad, out, c.Counts[j])
			e := math.Max(off(grad, c.Grad[j]), math.Abs(nll-c.NLL[j])/c.NLL[j])
			if !(e <= 1e-10) {
				t.Errorf("%s, item %d: relative error %.1e", c.Name, j, e)
			}
			worst = math.Max(worst, e)
		}
	}
	t.Logf("largest relative error %.1e", worst)
}

func TestGoldenFloat32(t *testing.T) {
	worst := 0.0
	for _, c := range lossCases(t) {
		h, err := Mixture{Components: c.Components}.New(Task{Classes: c.Classes})
		if err != nil {
			t.Fatal(err)
		}
		var out []float32
		votes := Counts{Classes: c.Classes}
		mean := 0.0
		for j := range c.Outputs {
			for _, x := range c.Outputs[j] {
				out = append(out, float32(x))
			}
			for _, x := range c.Counts[j] {
				votes.Values = append(votes.Values, float32(x))
			}
			mean += c.NLL[j] / float64(len(c.NLL))
		}
		grad := make([]float32, len(out))
		loss := lossOf(h, grad, out, votes)
		if !(math.Abs(loss-mean) <= 2e-6*mean) {
			t.Errorf("%s: loss %v, want %v", c.Name, loss, mean)
		}
		if again := lossOf(h, nil, out, votes); again != loss {
			t.Errorf("%s: loss %v without gradient, %v with", c.Name, again, loss)
		}
		for j, want := range c.Grad {
			got := make([]float64, len(want))
			for i := range got {
				got[i] = float64(grad[j*len(want)+i]) * float64(len(c.Grad))
			}
			e := off(got, want)
			if !(e <= 2e-5) {
				t.Errorf("%s, item %d: relative error %.1e", c.Name, j, e)
			}
			worst = math.Max(worst, e)
		}
	}
	t.Logf("largest relative error of a gradient %.1e", worst)
}
