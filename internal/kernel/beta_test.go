package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestBetaTable compares with the densities one by one, for parameters from one end of the range to the other, in plain Go.
// Terms are left out of blocks beyond their ranges only.
func TestBetaTable(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(31)
		var table BetaTable
		for n := range 20 {
			blocks := n % 4
			z := make([]float64, blocks*BetaLanes)
			for i := range z {
				z[i] = 60*r.Float64() - 30
			}
			slices.Sort(z)
			if blocks == 3 { // a last block of one point, as tables have it
				for i := range BetaLanes {
					z[2*BetaLanes+i] = z[len(z)-1]
				}
			}
			table.Terms, table.Lo, table.Hi = table.Terms[:0], table.Lo[:0], table.Hi[:0]
			for k := range n {
				a, b := math.Exp(12*r.Float64()-6), math.Exp(12*r.Float64()-6)
				lo := 60*r.Float64() - 30
				hi := lo + 30*r.Float64()
				if blocks > 0 && k%3 == 0 {
					hi = z[len(z)-1]
					lo = min(lo, hi-1)
				}
				table.Terms = append(table.Terms, BetaTerm{a, b, lgamma(a+b) - lgamma(a) - lgamma(b)})
				table.Lo, table.Hi = append(table.Lo, lo), append(table.Hi, hi)
			}
			got := make([][BetaDerivatives]BetaPoints, blocks)
			for i := range got {
				for d := range got[i] {
					for l := range got[i][d] {
						got[i][d][l] = math.NaN() // of which nothing may be left
					}
				}
			}
			table.Sums(got, z)
			if len(table.Terms) != n || len(table.Lo) != n || len(table.Hi) != n {
				t.Fatalf("%d terms, ranges %d and %d, want %d", len(table.Terms), len(table.Lo), len(table.Hi), n)
			}
			for block := range got {
				at := (*BetaPoints)(z[block*BetaLanes:])
				var matter []BetaTerm
				for k, term := range table.Terms {
					if table.Lo[k] < at[BetaLanes-1] && table.Hi[k] >= at[0] {
						matter = append(matter, term)
					}
				}
				compareBetaSums(t, &got[block], at, matter)
			}
		}
	})
}

// compareBetaSums reports sums that differ from those of plain Go. Errors of a derivative are those of its largest
// term, from φs to φsᵈ.
func compareBetaSums(t *testing.T, got *[BetaDerivatives]BetaPoints, z *BetaPoints, terms []BetaTerm) {
	t.Helper()
	var want [BetaDerivatives]BetaPoints
	betaSumsGeneric(&want, z, terms)
	for i := range z {
		size := [BetaDerivatives]float64{1e-100, 1e-100, 1e-100, 1e-100, 1e-100, 1e-100}
		for _, term := range terms {
			var one [BetaDerivatives]BetaPoints
			betaSumsGeneric(&one, z, []BetaTerm{term})
			s := term.A + term.B
			for d := range size {
				size[d] += one[0][i] * max(math.Pow(s, float64(d)), s) * (1 + s)
			}
		}
		for d := range got {
			if e := math.Abs(got[d][i] - want[d][i]); !(e <= 2e-12*size[d]) {
				t.Errorf("%d terms, derivative %d at %v: %v, want %v", len(terms), d, z[i], got[d][i], want[d][i])
			}
		}
	}
}

// TestBetaTableDerivatives: central differences of each are the next.
func TestBetaTableDerivatives(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		const h = 1e-4
		inf := []float64{math.Inf(1), math.Inf(1), math.Inf(1)}
		table := BetaTable{Terms: []BetaTerm{{2, 5, math.Log(30 * 0.7)}, {0.3, 1.5, -1}, {20, 3, 6}}, Lo: []float64{-99, -99, -99}, Hi: inf}
		var at [3][1][BetaDerivatives]BetaPoints
		var z [3]BetaPoints
		for i := range BetaLanes {
			z[1][i] = float64(i) - 3.7
			z[0][i], z[2][i] = z[1][i]-h, z[1][i]+h
		}
		for j := range at {
			table.Sums(at[j][:], z[j][:])
		}
		for d := 1; d < BetaDerivatives; d++ {
			for i := range BetaLanes {
				want := (at[2][0][d-1][i] - at[0][0][d-1][i]) / (2 * h)
				if got := at[1][0][d][i]; !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("derivative %d at %v: %v, want %v", d, z[1][i], got, want)
				}
			}
		}
	})
}

func BenchmarkBetaTable(b *testing.B) {
	eachImplB(b, func(b *testing.B) {
		for _, n := range []int{1, 22, 45} {
			var table BetaTable
			for i := range n {
				table.Terms = append(table.Terms, BetaTerm{1.5 + float64(i), 3, -2})
				table.Lo, table.Hi = append(table.Lo, -9), append(table.Hi, 9)
			}
			z := make([]float64, 8*BetaLanes)
			for i := range z {
				z[i] = 0.1*float64(i) - 3
			}
			dst := make([][BetaDerivatives]BetaPoints, 8)
			b.Run(fmt.Sprintf("terms=%d", n), func(b *testing.B) {
				for b.Loop() {
					table.Sums(dst, z)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*8), "ns/block")
			})
		}
	})
}

func TestLogGamma(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(32)
		for _, n := range lengths() {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Exp(70*r.Float64() - 35)
			}
			gamma, log := make([]float64, n+1), make([]float64, n+1)
			gamma[n], log[n] = 7, 7
			LogGamma(gamma[:n], log[:n], x)
			for i, v := range x {
				want := lgamma(v)
				size := max(32, math.Abs(want), v*math.Abs(math.Log(v)))
				if !(math.Abs(gamma[i]-want) <= 0x1p-50*size) {
					t.Errorf("ln Γ(%v) = %v, want %v", v, gamma[i], want)
				}
				if want := math.Log(v); !(math.Abs(log[i]-want) <= 0x1p-51*max(1, math.Abs(want))) {
					t.Errorf("ln %v = %v, want %v", v, log[i], want)
				}
			}
			if gamma[n] != 7 || log[n] != 7 {
				t.Fatalf("%d numbers: wrote behind the end", n)
			}
		}
	})
}

func TestExpLinear(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(33)
		for _, n := range lengths() {
			x, y, dst := make([]float64, n), make([]float64, n), make([]float64, n+1)
			for i := range x {
				x[i], y[i] = 100*r.Float64()-50, 100*r.Float64()-50
			}
			dst[n] = 7
			slope, offset := r.NormFloat64(), 20*r.NormFloat64()
			ExpLinear(dst[:n], x, y, slope, offset)
			for i, v := range x {
				if want := math.Exp(offset + slope*v + y[i]); !(math.Abs(dst[i]-want) <= 1e-12*want+1e-100) {
					t.Errorf("exp(%v + %v·%v + %v) = %v, want %v", offset, slope, v, y[i], dst[i], want)
				}
			}
			if dst[n] != 7 {
				t.Fatalf("%d numbers: wrote behind the end", n)
			}
		}
	})
}

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// TestDigammaLog compares with differences of the log-gamma function, with the harmonic numbers, and at large numbers with the
// leading terms of Stirling's series.
func TestDigammaLog(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(34)
		for _, n := range lengths() {
			a, c, dst := make([]float64, n), make([]float64, n), make([]float64, n+1)
			for i := range a {
				a[i], c[i] = math.Exp(40*r.Float64()-20), math.Exp(20*r.Float64()-10)
				switch i % 4 {
				case 1:
					a[i] = float64(r.IntN(40)) + 1
				case 2:
					c[i] = a[i]
				}
			}
			dst[n] = 7
			DigammaLog(dst[:n], a, c)
			for i, v := range a {
				want, tol := 0.0, 1e-15
				switch {
				case i%4 == 1: // ψ(m+1) = H_m − γ
					const euler = 0.57721566490153286
					want = -euler
					for m := v; m > 0; m-- {
						want += 1 / m
					}
					want -= math.Log(c[i])
				case v > 1e4:
					want = math.Log(v/c[i]) + 0.5/v - 1/(12*v*v)
				default:
					h := 1e-4 * (v + 1) // a central difference of fourth order
					d := func(k float64) float64 { return lgamma(v+1+k*h) - lgamma(v+1-k*h) }
					want, tol = (8*d(1)-d(2))/(12*h)-math.Log(c[i]), 1e-9
				}
				if !(math.Abs(dst[i]-want) <= tol*max(4, math.Abs(want), math.Abs(math.Log(v/c[i])))) {
					t.Errorf("ψ(%v+1) − ln %v = %v, want %v", v, c[i], dst[i], want)
				}
			}
			if dst[n] != 7 {
				t.Fatalf("%d numbers: wrote behind the end", n)
			}
		}
	})
}
