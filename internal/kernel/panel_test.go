package kernel

import (
	"math"
	"testing"
)

// eachPanel calls f for numbers of variables and of points.
func eachPanel(t *testing.T, f func(t *testing.T, m, n int)) {
	eachImpl(t, func(t *testing.T) {
		for n := PanelLanes; n <= PanelPoints; n += PanelLanes {
			for _, m := range []int{0, 1, 2, 3, 4, 5, 7, 10, 33} {
				f(t, m, n)
			}
		}
	})
}

// nearGuarded64 compares numbers to a relative error, and what lies on both sides with NaN.
func nearGuarded64(t *testing.T, m, n int, got, all, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*(1e-100+math.Abs(want[i]))) {
			t.Fatalf("m = %d, n = %d: [%d] = %v, want %v", m, n, i, got[i], want[i])
		}
	}
	for i, v := range all {
		if (i < 8 || i >= 8+len(want)) && v == v {
			t.Fatalf("m = %d, n = %d: wrote %v outside the slice, at index %d of %d", m, n, v, i-8, len(want))
		}
	}
}

// positive64 is guarded64 with positive numbers.
func positive64(seed uint64, n int) (x, all []float64) {
	x, all = guarded64(seed, n)
	for i := range x {
		x[i] = math.Abs(x[i])
	}
	return x, all
}

// TestRootGammas compares with the densities one by one, with parameters from 1e-3 to 1e5 at points near their roots.
func TestRootGammas(t *testing.T) {
	eachPanel(t, func(t *testing.T, m, n int) {
		r := newRand(uint64(41 + m))
		s, _ := positive64(42, n)
		root := math.Exp(6 * r.Float64())
		for k := range s {
			s[k] += root
		}
		lines := make([][2]float64, m)
		want := make([]float64, m*n)
		for j := range lines {
			a := max(1e-3, root*root+root*r.NormFloat64())
			lines[j] = [2]float64{2*a - 1, math.Ln2 - lgamma(a)}
			for k, x := range s {
				want[j*n+k] = math.Exp(lines[j][1] + lines[j][0]*math.Log(x) - x*x)
			}
		}
		dst, all := guarded64(43, m*n)
		RootGammas(dst, s, lines)
		// Of an exponent of size x ln x, the last bits are lost.
		nearGuarded64(t, m, n, dst, all, want, 2e-12+0x1p-51*root*root*(2+math.Log(root)))
	})
}

func TestPanelBelow(t *testing.T) {
	eachPanel(t, func(t *testing.T, m, n int) {
		for _, l := range []int{1, n - 4, n} {
			pdf, _ := positive64(44, m*n)
			integrals, _ := positive64(45, l*n)
			top, _ := positive64(46, m)
			const half = 0.03
			want := make([]float64, m*n)
			for j := range top {
				top[j] += 4 * half * float64(l) // so that little cancels
				for k := range n {
					sum := 0.0
					for i := range l {
						sum += pdf[j*n+i] * integrals[i*n+k]
					}
					want[j*n+k] = max(0, top[j]-half*sum)
				}
			}
			if m > 1 { // all of a row is below zero
				top[1] = -1
				clear(want[n : 2*n])
			}
			cdf, all := guarded64(47, m*n)
			PanelBelow(cdf, pdf, top, integrals, n, half)
			nearGuarded64(t, m, n, cdf, all, want, 1e-12)
		}
	})
}

func TestLeaveOneOut(t *testing.T) {
	eachPanel(t, func(t *testing.T, m, n int) {
		pdf, _ := positive64(48, m*n)
		cdf, _ := positive64(49, m*n)
		right, _ := positive64(50, n)
		if m > 2 {
			cdf[n], cdf[2*n+3] = 0, 0 // a factor of zero leaves the term of its own variable
		}
		dst, all := positive64(51, m)
		want := append([]float64(nil), dst...)
		for j := range m {
			for k, w := range right {
				p := w * pdf[j*n+k]
				for i := range m {
					if i != j {
						p *= cdf[i*n+k]
					}
				}
				want[j] += p
			}
		}
		scratch, around := guarded64(52, PanelScratch*m)
		LeaveOneOut(dst, pdf, cdf, right, scratch)
		nearGuarded64(t, m, n, dst, all, want, 1e-13)
		nearGuarded64(t, m, n, scratch, around, scratch, 0)
	})
}

// TestPanelShapes: what does not fit together panics.
func TestPanelShapes(t *testing.T) {
	for name, f := range map[string]func(){
		"points":    func() { RootGammas(nil, make([]float64, 12), nil) },
		"many":      func() { RootGammas(nil, make([]float64, PanelPoints+8), nil) },
		"variables": func() { RootGammas(make([]float64, 8), make([]float64, 8), make([][2]float64, 2)) },
		"integrals": func() { PanelBelow(nil, nil, nil, make([]float64, 9), 8, 1) },
		"sums": func() {
			LeaveOneOut(make([]float64, 2), make([]float64, 8), make([]float64, 16), make([]float64, 8), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// TestGridGammas compares with plain Go, for tables that end before, within and behind the points.
func TestGridGammas(t *testing.T) {
	eachPanel(t, func(t *testing.T, m, n int) {
		r := newRand(uint64(61 + m))
		const intervals = 3
		table, _ := guarded64(62, intervals*GridTerms*GridRow)
		variables := make([]GridVariable, m)
		for j := range variables {
			v := &variables[j]
			v.Table = r.IntN(intervals)*GridTerms*GridRow + r.IntN(GridRow-n+1)
			v.Tabulated = r.IntN(n+9) - 4
			v.X, v.A, v.LogGamma = 2*r.Float64()-1, 10*r.Float64(), r.NormFloat64()
		}
		slope, _ := guarded64(63, n)
		offset, _ := guarded64(64, n)
		offset[n/2] = -600
		cdf, allCDF := guarded64(65, m*n)
		pdf, allPDF := guarded64(66, m*n)
		GridGammas(cdf, pdf, slope, offset, table, variables)
		wantCDF, wantPDF := make([]float64, m*n), make([]float64, m*n)
		gridGammasGeneric(wantCDF, wantPDF, slope, offset, table, variables)
		for i, want := range wantCDF {
			if !(math.Abs(cdf[i]-want) <= 1e-14) {
				t.Fatalf("m = %d, n = %d: cdf[%d] = %v, want %v", m, n, i, cdf[i], want)
			}
		}
		for i, want := range wantPDF { // of which those below e⁻³⁰⁰ are all the same
			if !(math.Abs(pdf[i]-want) <= 1e-12*want+1e-100) {
				t.Fatalf("m = %d, n = %d: pdf[%d] = %v, want %v", m, n, i, pdf[i], want)
			}
		}
		nearGuarded64(t, m, n, cdf, allCDF, cdf, 0)
		nearGuarded64(t, m, n, pdf, allPDF, pdf, 0)
	})
}
