package kernel

import (
	"math"
	"testing"
)

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

// TestBetaMoments compares with plain Go, to the bit.
func TestBetaMoments(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(37)
		for _, n := range lengths() {
			a, b := make([]float64, n), make([]float64, n)
			for i := range a {
				a[i], b[i] = math.Exp(60*r.Float64()-30), math.Exp(60*r.Float64()-30)
			}
			mean, variance := make([]float64, n+1), make([]float64, n+1)
			mean[n], variance[n] = 7, 7
			BetaMoments(mean[:n], variance[:n], a, b)
			wantMean, wantVariance := make([]float64, n), make([]float64, n)
			betaMomentsGeneric(wantMean, wantVariance, a, b)
			for i := range a {
				if mean[i] != wantMean[i] || variance[i] != wantVariance[i] {
					t.Errorf("Beta(%v, %v): %v and %v, want %v and %v", a[i], b[i], mean[i], variance[i], wantMean[i], wantVariance[i])
				}
			}
			if mean[n] != 7 || variance[n] != 7 {
				t.Fatalf("%d distributions: wrote behind the end", n)
			}
		}
	})
}

func TestExp64(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(35)
		for _, n := range lengths() {
			x, want := make([]float64, n+1), make([]float64, n)
			for i := range want {
				x[i] = 1400*r.Float64() - 700
				if i%3 > 0 {
					x[i] = 40*r.Float64() - 20
				}
				want[i] = math.Exp(x[i])
			}
			x[n] = 7
			Exp64(x[:n])
			for i, v := range want {
				if !(math.Abs(x[i]-v) <= 5e-16*v) {
					t.Errorf("exp(%v) = %v, want %v", math.Log(v), x[i], v)
				}
			}
			if x[n] != 7 {
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
