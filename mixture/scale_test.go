package mixture

import (
	"math"
	"math/rand/v2"
	"testing"
)

// scoreCDF returns P(Σ s_k p_k ≤ x) exactly: it is P(Σ (s_k − x) G_k ≤ 0) for independent gamma variables G_k of shape
// α_k, by the inversion formula of Gil-Pelaez (1951), with the trapezoidal rule on the scale of ln t.
func scoreCDF(m *Dirichlet, s []float64, x float64) float64 {
	if x <= s[0] || x >= s[len(s)-1] {
		return map[bool]float64{true: 1}[x > s[0]]
	}
	f := 0.0
	for i := range m.K() {
		w, alpha := m.Component(i)
		integral := 0.0
		const step = 0.04
		total, end := 0.0, 0.0 // end is where all terms decay
		for k, a := range alpha {
			total += a
			end = max(end, -math.Log(math.Abs(s[k]-x)))
		}
		for y := -30.0; y < end+10+25/total; y += step {
			angle, size := 0.0, 0.0
			for k, a := range alpha {
				c := math.Abs(s[k] - x)
				angle += a * math.Copysign(math.Atan(c*math.Exp(y)), s[k]-x)
				if l := 2 * (math.Log(c) + y); l < 30 {
					size += a / 2 * math.Log1p(math.Exp(l))
				} else {
					size += a / 2 * l
				}
			}
			integral += step * math.Sin(angle) * math.Exp(-size)
		}
		f += w * (0.5 - integral/math.Pi)
	}
	return f
}

// TestScaleScore: mean and variance of the score are exact, and intervals have their mass, compared with the exact
// distribution of a linear function of a Dirichlet vector.
func TestScaleScore(t *testing.T) {
	// The oracle itself, on two classes: a Beta distribution.
	two, _ := NewDirichlet([]float64{1}, [][]float64{{2.5, 1.5}})
	if got, want := scoreCDF(two, []float64{0, 1}, 0.3), two.Marginal(1).CDF(0.3); math.Abs(got-want) > 1e-9 {
		t.Fatalf("oracle: %v, expected %v", got, want)
	}
	r := rand.New(rand.NewPCG(5, 6))
	worst, off, within := 0.0, 0.0, 0
	for trial := range 40 {
		d := 2 + r.IntN(5)
		m := randomDist(r, d)
		values := make([]float64, d)
		for k := range values {
			values[k] = float64(k) - 2
			if trial%2 == 1 && k > 0 {
				values[k] = values[k-1] + 0.2 + r.Float64()
			}
		}
		s := m.NewScaleScore(values)
		mean, variance := 0.0, 0.0
		cov := m.Covariance(nil)
		for i, p := range m.Mean(nil) {
			mean += p * values[i]
			for k := range d {
				variance += values[i] * values[k] * cov[i*d+k]
			}
		}
		width := values[d-1] - values[0]
		if math.Abs(s.Mean()-mean) > 1e-10 || math.Abs(s.Share.Variance()*width*width-variance) > 1e-9 {
			t.Errorf("trial %d: mean %v and variance %v, expected %v and %v", trial, s.Mean(), s.Share.Variance()*width*width, mean, variance)
		}
		in := s.Share.Interval(TwoSided, 0.95)
		if in.Lo < 0.001 { // what is reported ends at a resolution
			in.Lo = 0
		}
		if in.Hi > 0.999 {
			in.Hi = 1
		}
		mass := scoreCDF(m, values, s.At(in.Hi)) - scoreCDF(m, values, s.At(in.Lo))
		if in.Lo > 0 && in.Hi < 1 {
			within++
			off += math.Abs(mass - 0.95)
			worst = max(worst, math.Abs(mass-0.95))
		}
	}
	t.Logf("the mass of 95%% intervals is off by %.4f on average, by at most %.4f", off/float64(within), worst)
	if !(worst < 0.05) || !(off/float64(within) < 0.01) {
		t.Errorf("the mass of 95%% intervals is off by %.4f on average, by at most %.4f", off/float64(within), worst)
	}
}
