package text

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// dialogue returns two columns of documents, the votes on which depend on the words of both.
func dialogue(n, classes int, seed uint64) ([][]string, Data) {
	r := rand.New(rand.NewPCG(seed, 2))
	d := Data{Classes: classes, Terms: 1 << 16, Entries: 1 << 20}
	columns := make([][]string, 2)
	for i := range n {
		mean := make([]float64, classes)
		for q := range columns {
			k := r.IntN(classes)
			mean[k]++
			columns[q] = append(columns[q], fmt.Sprintf("word%d w%d w%d w%d", k, r.IntN(60), r.IntN(60), r.IntN(60)))
		}
		for _, m := range mean {
			d.Labels = append(d.Labels, m/2)
		}
		d.Weights, d.Folds = append(d.Weights, 1+r.Float64()), append(d.Folds, i%5)
	}
	return columns, d
}

// TestFitTogether checks that the shares of the columns sum to the held-out logits, that both columns are learned from,
// that one column is fitted as by Fit, and that nothing depends on the number of cores.
func TestFitTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, classes := range []int{2, 3} {
		columns, d := dialogue(240, classes, 5)
		var first string
		for _, threads := range []int{1, 3} {
			runtime.GOMAXPROCS(threads)
			models, parts, held, err := FitTogether(t.Context(), columns, d)
			if err != nil || len(models) != 2 || len(parts) != 2 {
				t.Fatalf("%d models, %d parts, %v", len(models), len(parts), err)
			}
			for i, z := range held.Logits {
				if sum := parts[0][i] + parts[1][i]; math.Abs(sum-z) > 1e-9*(1+math.Abs(z)) {
					t.Fatalf("%d classes: logit %d is %v, the shares sum to %v", classes, i, z, sum)
				}
			}
			if slices.ContainsFunc(models[1].bias, func(b float64) bool { return b != 0 }) {
				t.Errorf("the second column has the bias %v", models[1].bias)
			}
			got := fmt.Sprint(models[0].weights, models[0].bias, models[1].weights, parts, held)
			if first == "" {
				first = got
			} else if got != first {
				t.Errorf("%d classes: another fit with %d threads", classes, threads)
			}
			for q, docs := range columns {
				alone := d
				alone.Documents = docs
				m, one, err := Fit(t.Context(), alone)
				if err != nil {
					t.Fatal(err)
				}
				if !(held.Loss < one.Loss-0.02) {
					t.Errorf("%d classes: held-out loss %.4f together, %.4f of column %d", classes, held.Loss, one.Loss, q)
				}
				same, part, single, err := FitTogether(t.Context(), columns[q:q+1], d)
				if err != nil || single.Loss != one.Loss || single.Lambda != one.Lambda || !slices.Equal(single.Logits, one.Logits) ||
					!slices.Equal(same[0].weights, m.weights) || !slices.Equal(same[0].bias, m.bias) || len(part[0]) != len(one.Logits) {
					t.Errorf("%d classes: column %d alone is fitted otherwise: %v", classes, q, err)
				}
			}
		}
		// Too many entries for the memory allowed: no fit.
		d.Entries = 100
		if models, _, held, err := FitTogether(t.Context(), columns, d); models != nil || held != nil || err != nil {
			t.Errorf("fitted beyond the limit of entries: %v", err)
		}
	}
}

// TestCombinedLoss compares with gradient descent on the regression of each fold, written out for two classes.
func TestCombinedLoss(t *testing.T) {
	columns, d := dialogue(200, 2, 9)
	logits := make([][]float64, 2)
	for q, docs := range columns {
		alone := d
		alone.Documents = docs
		_, held, err := Fit(t.Context(), alone)
		if err != nil {
			t.Fatal(err)
		}
		logits[q] = held.Logits
	}
	share := func(theta [3]float64, i int) float64 {
		return 1 / (1 + math.Exp(-theta[0]*logits[0][i]-theta[1]*logits[1][i]-theta[2]))
	}
	sum, total := 0.0, 0.0
	for k := range 5 {
		var theta [3]float64
		for range 4000 {
			g := [3]float64{theta[0], theta[1], biasPenalty * theta[2]} // of the penalties, 1 for the weights
			for i, fold := range d.Folds {
				if fold != k {
					r := d.Weights[i] * (share(theta, i) - d.Labels[2*i+1])
					g[0], g[1], g[2] = g[0]+r*logits[0][i], g[1]+r*logits[1][i], g[2]+r
				}
			}
			for j := range theta {
				theta[j] -= 0.005 * g[j]
			}
		}
		for i, fold := range d.Folds {
			if fold == k {
				p, y := share(theta, i), d.Labels[2*i+1]
				sum, total = sum-d.Weights[i]*(y*math.Log(p)+(1-y)*math.Log(1-p)), total+d.Weights[i]
			}
		}
	}
	got := CombinedLoss(t.Context(), logits, d)
	if want := sum / total; math.Abs(got-want) > 1e-4 {
		t.Errorf("loss %.6f, by gradient descent %.6f", got, want)
	}
	// Both fits are better than one, and the sign of logits does not matter.
	if one := CombinedLoss(t.Context(), logits[:1], d); !(got < one-0.02) {
		t.Errorf("loss %.4f of two fits, %.4f of one", got, one)
	}
	for i := range logits[1] {
		logits[1][i] *= -1
	}
	if other := CombinedLoss(t.Context(), logits, d); math.Abs(other-got) > 1e-6 {
		t.Errorf("loss %.6f with the opposite sign, %.6f before", other, got)
	}
}
