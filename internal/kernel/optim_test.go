package kernel

import (
	"fmt"
	"math"
	"testing"
)

func TestAdam(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(9)
		for _, n := range lengths() {
			for _, decoupled := range []bool{false, true} {
				p := &Adam{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.1, Decoupled: decoupled,
					GradScale: 0.5, Correction1: 0.271, Correction2: 0.002997}
				w, m, v, d := newGuarded(normals(r, n), 1), newGuarded(normals(r, n), 2), newGuarded(normals(r, n), 3), newGuarded(normals(r, n), 0)
				for i, x := range v.x {
					v.x[i] = x * x
				}
				beta1, beta2 := float64(p.Beta1), float64(p.Beta2)
				wantW, wantM, wantV := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range n {
					g, wi := 0.5*float64(d.x[i]), float64(w.x[i])
					if decoupled {
						wi -= 0.01 * 0.1 * wi
					} else {
						g += 0.1 * wi
					}
					wantM[i] = beta1*float64(m.x[i]) + (1-beta1)*g
					wantV[i] = beta2*float64(v.x[i]) + (1-beta2)*g*g
					wantW[i] = wi - 0.01/0.271*wantM[i]/(math.Sqrt(wantV[i]/0.002997)+1e-8)
				}
				p.Update(w.x, m.x, v.x, d.x)
				what := fmt.Sprintf("n=%d decoupled=%v", n, decoupled)
				near(t, what+": w", w.x, wantW, 2e-6, 1)
				near(t, what+": m", m.x, wantM, 1e-6, 1)
				near(t, what+": v", v.x, wantV, 1e-6, 1)
				for _, g := range []guarded{w, m, v, d} {
					g.check(t, what)
				}
			}
		}
	})
}

func TestSGD(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(10)
		for _, n := range lengths() {
			for _, nesterov := range []bool{false, true} {
				p := &SGD{Rate: 0.1, Momentum: 0.9, WeightDecay: 0.01, GradScale: 2, Nesterov: nesterov}
				w, v, d := newGuarded(normals(r, n), 1), newGuarded(normals(r, n), 2), newGuarded(normals(r, n), 3)
				wantW, wantV := make([]float64, n), make([]float64, n)
				for i := range n {
					g := 2*float64(d.x[i]) + 0.01*float64(w.x[i])
					wantV[i] = 0.9*float64(v.x[i]) + g
					step := wantV[i]
					if nesterov {
						step = g + 0.9*step
					}
					wantW[i] = float64(w.x[i]) - 0.1*step
				}
				p.Update(w.x, v.x, d.x)
				what := fmt.Sprintf("n=%d nesterov=%v", n, nesterov)
				near(t, what+": w", w.x, wantW, 1e-6, 1)
				near(t, what+": v", v.x, wantV, 1e-6, 1)
				for _, g := range []guarded{w, v, d} {
					g.check(t, what)
				}
			}
		}
	})
}

// TestAdamBits: both assembly implementations for amd64 give the same bits, subnormal numbers among them.
func TestAdamBits(t *testing.T) {
	const n = 1000
	p := &Adam{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.1, GradScale: 0.5, Correction1: 0.271, Correction2: 0.002997}
	values := func() (s [4][]float32) {
		r := newRand(3)
		for k := range s {
			s[k] = normals(r, n)
			for i := range s[k] {
				if k == 2 {
					s[k][i] *= s[k][i]
				}
				s[k][i] *= float32(math.Pow(2, -float64(i%150)))
			}
		}
		return s
	}
	var want [4][]float32
	for _, im := range archImpls() {
		if im.name != "avx2" && im.name != "avx512" {
			continue
		}
		got := values()
		im.adam(got[0], got[1], got[2], got[3], p)
		if want[0] == nil {
			want = got
		}
		for k := range got {
			sameBits(t, im.name, got[k], want[k])
		}
	}
}
