package kernel

import (
	"math"
	"testing"
)

// TestCellMasses compares with the integrals of exponentials, and with plain Go.
func TestCellMasses(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(51)
		for n := range 40 { // cells
			stride := WholeBlocks(n + 1)
			f := make([]float64, BetaDerivatives*stride, BetaDerivatives*stride+BetaLanes)
			step, mass := padded(n), padded(n)
			at, rate := 0.0, -0.8
			var nodes []float64
			for i := range n + 1 {
				nodes = append(nodes, at)
				value := math.Exp(rate * at)
				for d := range BetaDerivatives {
					f[d*stride+i] = value
					value *= rate
				}
				if i < n {
					if step[i] = r.Float64(); i%5 == 4 {
						step[i] = 0
					}
					at += step[i]
				}
			}
			if least := CellMasses(mass, f, stride, step); least != 0 {
				t.Errorf("%d cells: least %v", n, least)
			}
			for i, got := range mass {
				want := (math.Exp(rate*nodes[i+1]) - math.Exp(rate*nodes[i])) / rate
				if !(math.Abs(got-want) <= 2e-14) { // the rule's own error is 1.74e-13 h¹³ times the twelfth derivative
					t.Errorf("cell %d of %d: %v, want %v", i, n, got, want)
				}
			}
			if n == 0 {
				continue
			}
			i := r.IntN(n)
			f[i], f[i+1] = -5, -1 // a negative function
			want := make([]float64, WholeBlocks(n))
			least := CellMasses(mass, f, stride, step)
			wantLeast := cellMassesGeneric(want, f, stride, step[:WholeBlocks(n)])
			if !(math.Abs(least-wantLeast) <= 1e-15) || least >= 0 && step[i] > 0 {
				t.Errorf("%d cells: least %v, want %v", n, least, wantLeast)
			}
			for i, got := range mass {
				if !(math.Abs(got-want[i]) <= 1e-15) || got < 0 {
					t.Errorf("cell %d of %d: %v, want %v", i, n, got, want[i])
				}
			}
		}
	})
}

// TestBetaCells compares integrals with those of exponentials, in some lanes with cells of length 0, and inverts them.
func TestBetaCells(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(52)
		for range 200 {
			var c BetaCells
			var rate, at, got BetaPoints
			for lane := range BetaLanes {
				h, k := 0.1+r.Float64(), r.Float64()-0.5
				rate[lane], c.Length[lane], at[lane] = k, h, r.Float64()
				if lane == 3 {
					c.Length[lane] = 0
				}
				value := 1.0
				for d := range BetaDerivatives {
					c.Left[d][lane], c.Right[d][lane] = value, value*math.Exp(k*h)
					value *= k
				}
				c.Whole[lane] = math.Expm1(k*h) / k
			}
			c.At = at
			c.Integrals(&got)
			for lane, g := range got {
				k, h := rate[lane], c.Length[lane]
				if want := math.Expm1(k*h*at[lane]) / k; !(math.Abs(g-want) <= 2e-13*(1+want)) {
					t.Errorf("lane %d: integral of exp(%v t) to %v·%v is %v, want %v", lane, k, at[lane], h, g, want)
				}
			}
			c.At = got
			c.At[5] = 0 // the ends are roots, too
			c.At[6] = c.Whole[6]
			c.Left[0][7], c.Right[0][7] = -1, -1 // not a density
			c.Left[1][7], c.Right[1][7] = 0, 0
			at[5], at[6] = 0, 1
			var root BetaPoints
			c.Roots(&root)
			for lane, g := range root {
				if lane == 3 || lane == 7 {
					if !math.IsNaN(g) {
						t.Errorf("lane %d: root %v of nothing", lane, g)
					}
				} else if !(math.Abs(g-at[lane]) <= 1e-11) {
					t.Errorf("lane %d: root %v, want %v", lane, g, at[lane])
				}
			}
			// A lane does not depend on the others.
			var alone BetaCells
			for d := range BetaDerivatives {
				alone.Left[d][0], alone.Right[d][0] = c.Left[d][2], c.Right[d][2]
			}
			alone.Length[0], alone.At[0], alone.Whole[0] = c.Length[2], c.At[2], c.Whole[2]
			var one BetaPoints
			if alone.Roots(&one); one[0] != root[2] {
				t.Errorf("root %v alone, %v among others", one[0], root[2])
			}
		}
	})
}

func BenchmarkBetaCells(b *testing.B) {
	eachImplB(b, func(b *testing.B) {
		var c BetaCells
		for lane := range BetaLanes {
			value, k, h := 1.0, float64(lane)/4-1.1, 0.7
			for d := range BetaDerivatives {
				c.Left[d][lane], c.Right[d][lane] = value, value*math.Exp(k*h)
				value *= k
			}
			c.Length[lane], c.Whole[lane] = h, math.Expm1(k*h)/k
			c.At[lane] = 0.3 * c.Whole[lane]
		}
		var root BetaPoints
		for b.Loop() {
			c.Roots(&root)
		}
	})
}
