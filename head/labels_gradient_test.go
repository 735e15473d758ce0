package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/internal/rng"
)

// made returns the head of a method that learns from labels.
func made(t testing.TB, m Method, classes int) *labels {
	t.Helper()
	h, err := m.New(Task{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	return h.(*labels)
}

// batch returns random outputs and votes for n items, some of them without any
// votes and some with fractions.
func batch(r *rand.Rand, n, outputs, classes int) (out, votes []float64) {
	for range n * outputs {
		out = append(out, 1.5*r.NormFloat64())
	}
	for j := range n {
		for range classes {
			v := float64(r.IntN(3))
			switch j % 5 {
			case 3:
				v = 0
			case 4:
				v += 0.5
			}
			votes = append(votes, v)
		}
	}
	return out, votes
}

// steps are one in the warm-up and before the annealing, and one after both.
var steps = []Step{{Seed: 3, Epoch: 0, Step: 2}, {Seed: 3, Epoch: 4, Step: 7}, {Seed: 3, Epoch: 20, Step: 9}}

// variants are the methods with all settings that lead to other formulas.
var variants = []Method{
	Softmax{}, Dropout{}, MVE{}, MVE{Warmup: -1, Floor: 0.1}, QD{}, QD{Soften: 2, Lambda: 3, Level: 0.8},
	Confidence{}, Confidence{Lambda: 2}, Evidential{}, Evidential{Evidence: "relu"}, Evidential{Evidence: "exp", Anneal: 3},
}

// TestGradients compares with central differences in float64. The soft capture
// of qd bends within 1/160 of an output, the others within about 1, so that
// differences over 1e-6 are good to about seven digits of the largest.
func TestGradients(t *testing.T) {
	for _, v := range variants {
		for _, classes := range []int{2, 3, 5} {
			for _, at := range steps {
				t.Run(fmt.Sprintf("%s%v/d=%d/epoch=%d", v.Name(), v, classes, at.Epoch), func(t *testing.T) {
					h := made(t, v, classes)
					out, votes := batch(rand.New(rng.New(1, "gradients", uint64(classes))), 12, h.Outputs(), classes)
					grad := make([]float64, len(out))
					state := h.State()
					loss := h.loss(grad, out, votes, at)
					if err := h.SetState(state); err != nil { // a gradient adapts λ
						t.Fatal(err)
					}
					top := 0.0
					for _, g := range grad {
						top = max(top, math.Abs(g))
					}
					for i := range out {
						const step = 1e-6
						x := out[i]
						out[i] = x + step
						up := h.loss(nil, out, votes, at)
						out[i] = x - step
						diff := (up - h.loss(nil, out, votes, at)) / (2 * step)
						out[i] = x
						// The last term is rounding of the loss, in the thousands for qd.
						if !(math.Abs(diff-grad[i]) <= 1e-6*max(1, top)+1e-9*math.Abs(loss)) {
							t.Errorf("gradient %d is %v, by differences %v", i, grad[i], diff)
						}
					}
				})
			}
		}
	}
}

// TestDuplication: an item with several votes has the loss and the gradient of
// as many items with one vote, also in float32 through the exported method.
func TestDuplication(t *testing.T) {
	for _, v := range variants {
		for _, classes := range []int{2, 3} {
			h := made(t, v, classes)
			r := rand.New(rng.New(2, "duplication"))
			const n = 20
			width := h.Outputs()
			var out, one []float64
			var votes, ones []float64
			var of []int
			for j := range n {
				row := make([]float64, width)
				for i := range row {
					row[i] = r.NormFloat64()
				}
				out = append(out, row...)
				for i := range classes {
					count := r.IntN(4)
					votes = append(votes, float64(count))
					for range count {
						label := make([]float64, classes)
						label[i] = 1
						one, ones, of = append(one, row...), append(ones, label...), append(of, j)
					}
				}
			}
			grad, apart := make([]float64, len(out)), make([]float64, len(one))
			var loss, want float64
			at := Step{Epoch: 6}
			if c, ok := h.labeled.(*confidence); ok {
				// Hints are drawn: the same number for an item and its examples.
				hints, hint := make([]float64, len(votes)), make([]float64, len(ones))
				for k, j := range of {
					if k%2 == 0 {
						continue
					}
					i := slices.Index(ones[k*classes:(k+1)*classes], 1)
					hint[k*classes+i] = 1
					hints[j*classes+i]++
				}
				loss, _ = c.hinted(grad, out, votes, hints)
				want, _ = c.hinted(apart, one, ones, hint)
			} else {
				loss, want = h.loss(grad, out, votes, at), h.loss(apart, one, ones, at)
			}
			if !(math.Abs(loss-want) <= 1e-12*max(1, math.Abs(want))) {
				t.Errorf("%s, %d classes: loss %v, apart %v", v.Name(), classes, loss, want)
			}
			sums := make([]float64, len(out))
			for k, j := range of {
				for i := range width {
					sums[j*width+i] += apart[k*width+i]
				}
			}
			for i := range sums {
				if !(math.Abs(grad[i]-sums[i]) <= 1e-11*max(1, math.Abs(sums[i]))) {
					t.Errorf("%s, %d classes: gradient %d is %v, apart %v", v.Name(), classes, i, grad[i], sums[i])
				}
			}
			if a, b := h.criterion(out, votes), h.criterion(one, ones); !(math.Abs(a-b) <= 1e-11*max(1, math.Abs(b))) {
				t.Errorf("%s, %d classes: criterion %v, apart %v", v.Name(), classes, a, b)
			}
		}
	}
}

// TestLoss32: the exported loss is that of the method rounded to float32, leaves
// items without votes alone, and allocates nothing once it has met a batch.
func TestLoss32(t *testing.T) {
	for _, v := range variants {
		h := made(t, v, 3)
		out, votes := batch(rand.New(rng.New(4, "loss32")), 10, h.Outputs(), 3)
		x, counts := make([]float32, len(out)), Counts{Classes: 3, Values: make([]float32, len(votes))}
		for i := range out {
			x[i] = float32(out[i])
			out[i] = float64(x[i])
		}
		for i := range votes {
			counts.Values[i] = float32(votes[i])
		}
		state := h.State()
		want := make([]float64, len(out))
		loss := h.loss(want, out, votes, steps[1])
		if err := h.SetState(state); err != nil {
			t.Fatal(err)
		}
		grad := make([]float32, len(x))
		for i := range grad {
			grad[i] = float32(math.NaN())
		}
		if got := h.Loss(grad, x, Batch{Counts: counts}, steps[1]); got.Mean != loss {
			t.Errorf("%s: loss %v, want %v", v.Name(), got, loss)
		}
		for i := range grad {
			if grad[i] != float32(want[i]) {
				t.Errorf("%s: gradient %d is %v, want %v", v.Name(), i, grad[i], want[i])
			}
		}
		for i := range h.Outputs() {
			if g := grad[3*h.Outputs()+i]; g != 0 {
				t.Errorf("%s: an item without votes has gradient %v", v.Name(), g)
			}
		}
		if a := testing.AllocsPerRun(5, func() { h.Loss(grad, x, Batch{Counts: counts}, steps[1]) }); a > 0 {
			t.Errorf("%s: %v allocations", v.Name(), a)
		}
		clear(counts.Values)
		if got := h.Loss(grad, x, Batch{Counts: counts}, steps[1]); got.Mean != 0 || slices.Max(grad) != 0 || slices.Min(grad) != 0 {
			t.Errorf("%s: without votes loss %v and gradient %v", v.Name(), got, grad)
		}
	}
}
