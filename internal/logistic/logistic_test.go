package logistic

import (
	"math"
	"math/rand/v2"
	"testing"
)

// At the solution the derivative of the objective, by differences, is zero in every direction, with one
// output and with one per class. Held-out examples have no influence, but have logits.
func TestSolve(t *testing.T) {
	const n, f = 50, 3
	for _, c := range []struct{ classes, outputs int }{{2, 1}, {2, 2}, {4, 4}} {
		r := rand.New(rand.NewPCG(1, 2))
		x := &Dense{Columns: f}
		p := &Problem{X: x, Classes: c.classes, Outputs: c.outputs, Penalty: 0.7, BiasPenalty: 0.1, Tolerance: 1e-8}
		for i := range n {
			for range f {
				x.Values = append(x.Values, r.NormFloat64())
			}
			y := make([]float64, c.classes)
			y[r.IntN(c.classes)] += 0.75
			y[0] += 0.25
			p.Labels, p.Weights = append(p.Labels, y...), append(p.Weights, float64(i%5))
		}
		s := p.Start()
		p.Solve(t.Context(), s)
		objective := func(theta []float64, check bool) float64 {
			total := 0.0
			for j, v := range theta {
				penalty := p.Penalty
				if j >= f*c.outputs {
					penalty = p.BiasPenalty
				}
				total += penalty / 2 * v * v
			}
			for i, w := range p.Weights {
				z := make([]float64, c.outputs)
				for k := range z {
					z[k] = theta[f*c.outputs+k]
					for j, v := range x.Row(i) {
						z[k] += theta[k*f+j] * v
					}
					if check && math.Abs(z[k]-s.Z[i*c.outputs+k]) > 1e-12 {
						t.Errorf("logit %d of example %d is %v, want %v", k, i, s.Z[i*c.outputs+k], z[k])
					}
				}
				total += w * CrossEntropy(p.Labels[i*c.classes:(i+1)*c.classes], z)
			}
			return total
		}
		objective(s.Theta, true)
		for j := range s.Theta {
			at := func(h float64) float64 {
				s.Theta[j] += h
				defer func() { s.Theta[j] -= h }()
				return objective(s.Theta, false)
			}
			if slope := (at(1e-5) - at(-1e-5)) / 2e-5; math.Abs(slope) > 1e-6 {
				t.Errorf("%+v: slope %.3g along %d", c, slope, j)
			}
		}
	}
}
