package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// tailTerms draws components of as many mixtures as there are lanes; every fifth has no weight.
func tailTerms(r *rand.Rand, n int) []BetaTailTerm {
	terms := make([]BetaTailTerm, n)
	for k := range terms {
		for l := range BetaLanes {
			a, b, w := math.Exp(8*r.Float64()-3.4), math.Exp(7*r.Float64()-3.4), r.Float64()/float64(n)
			t := &terms[k]
			t.A[l], t.B[l], t.C[l], t.W[l] = a, b, math.Log(w)-logBeta(a, b), w
			if k > 0 && r.IntN(5) == 0 {
				t.A[l], t.B[l], t.C[l], t.W[l] = 1, 1, -700, 0
			}
		}
	}
	return terms
}

// TestBetaTails compares with the reference, which is plain Go.
func TestBetaTails(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(41)
		for n := 1; n < 30; n++ {
			terms := tailTerms(r, n)
			var z, q BetaPoints
			for l := range z {
				z[l], q[l] = 6*r.NormFloat64(), math.Exp(-20*r.Float64())
			}
			z[r.IntN(BetaLanes)] = 600
			z[r.IntN(BetaLanes)] = -600
			z[r.IntN(BetaLanes)] = 0
			var got, want [4]BetaPoints
			BetaTails(&got, &z, &q, terms, BetaLanes)
			betaTailsGeneric(&want, &z, &q, terms, BetaLanes)
			for d := range got {
				for l := range z {
					g, w := got[d][l], want[d][l]
					if math.IsNaN(want[1][l]) && math.IsNaN(got[1][l]) {
						continue // too many terms of a continued fraction, in both
					}
					// The larger the exponents of x and y, the more rounding; and the higher the derivative, the more cancels.
					if tol := 1e-13 * (1 + math.Abs(z[l])) * float64(1+d); g != w && !(math.Abs(g-w) <= tol*(1+math.Abs(w))) {
						t.Errorf("%d terms, dst[%d] at %v: %v, want %v", n, d, z[l], g, w)
					}
				}
			}
		}
	})
}

// TestBetaTailsLanes checks that a lane has the same bits whatever the others hold.
func TestBetaTailsLanes(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(42)
		terms, others := tailTerms(r, 3), tailTerms(r, 3)
		z, q := BetaPoints{-3, -1, 0, 0.5, 1, 2, 3, -7}, BetaPoints{0.1, 0.2, 0.3, 0.4, 0.5, 0.01, 0.025, 0.025}
		var all [4]BetaPoints
		BetaTails(&all, &z, &q, terms, BetaLanes)
		for l := range BetaLanes {
			for to := range BetaLanes {
				for k := range others {
					o, from := &others[k], &terms[k]
					o.A[to], o.B[to], o.C[to], o.W[to] = from.A[l], from.B[l], from.C[l], from.W[l]
				}
				z2, q2 := BetaPoints{5, 4, 3, 2, 1, 0, -1, -2}, q
				z2[to], q2[to] = z[l], q[l]
				var one [4]BetaPoints
				BetaTails(&one, &z2, &q2, others, to+1)
				for d := range one {
					if one[d][to] != all[d][l] {
						t.Fatalf("lane %d in place of %d: dst[%d] is %v, not %v", l, to, d, one[d][to], all[d][l])
					}
				}
			}
		}
	})
}

// TestBetaTailsLimit: a continued fraction that needs too many terms gives NaN, in its lane alone.
func TestBetaTailsLimit(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		terms := make([]BetaTailTerm, 1)
		var z, q BetaPoints
		for l := range BetaLanes {
			terms[0].A[l], terms[0].B[l], terms[0].W[l], q[l] = 2, 3, 1, 0.1
			terms[0].C[l] = -logBeta(2, 3)
		}
		const a, b = 127, 1. / 32 // the fraction converges slowly near x = 1
		terms[0].A[5], terms[0].B[5], terms[0].C[5] = a, b, -logBeta(a, b)
		z[5] = 7.5
		var got [4]BetaPoints
		BetaTails(&got, &z, &q, terms, BetaLanes)
		for l, d := range got[1] {
			if math.IsNaN(d) != (l == 5) {
				t.Errorf("lane %d: step %v", l, d)
			}
		}
	})
}

// TestLogBetas compares with log-gamma functions and, where B(a, b) is known, with that.
func TestLogBetas(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(43)
		for n := 0; n < 200; n += BetaLanes {
			w, a, b := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range a {
				w[i], a[i], b[i] = r.Float64()+1e-300, math.Exp(7.5*r.Float64()-3.4), math.Exp(7.5*r.Float64()-3.4)
				switch i % 4 {
				case 1:
					b[i] = 1 // B(a, 1) = 1/a
				case 2:
					b[i] = 1 - a[i]/128 // so that Γ(a) and Γ(a+b) nearly cancel
				}
			}
			rows := make([][]float64, 4)
			for i := range rows {
				rows[i] = make([]float64, n+1)
				rows[i][n] = 7
			}
			LogBetas(&BetaLogs{rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]}, w, a, b)
			swapped := make([]float64, n)
			LogBetas(&BetaLogs{make([]float64, n), make([]float64, n), make([]float64, n), swapped}, w, b, a)
			for i := range a {
				for k, x := range []float64{w[i], a[i], b[i]} {
					if want := math.Log(x); !(math.Abs(rows[k][i]-want) <= 0x1p-51*max(1, math.Abs(want))) {
						t.Errorf("ln %v = %v, want %v", x, rows[k][i], want)
					}
				}
				want, tol := lgamma(a[i])+lgamma(b[i])-lgamma(a[i]+b[i]), 2e-14*max(1, math.Abs(lgamma(a[i]+b[i])))
				if b[i] == 1 {
					want, tol = -math.Log(a[i]), 1e-14*max(1, math.Abs(want))
				}
				if got := rows[3][i]; !(math.Abs(got-want) <= tol) || got != swapped[i] {
					t.Errorf("ln B(%v, %v) = %v (%v exchanged), want %v", a[i], b[i], got, swapped[i], want)
				}
			}
			for i := range rows {
				if rows[i][n] != 7 {
					t.Fatalf("%d numbers: wrote behind the end of row %d", n, i)
				}
			}
		}
	})
}
