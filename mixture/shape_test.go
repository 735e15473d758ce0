package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/internal/rng"
	"credence/internal/testsize"
)

// Every change of the slope's sign on a grid of thousands of points has its turn,
// and no other place has one. Some of the mixtures have fifteen components.
func TestTurnsAgainstGrid(t *testing.T) {
	n := testsize.Choose(100, 300, 1000)
	forRandom(t, n, func(m *Beta, r *rand.Rand) error {
		if r.IntN(3) == 0 {
			rows := randomRows(r, 15)
			var err error
			if m, err = NewBeta(rows.Weights, rows.A, rows.B); err != nil {
				return err
			}
		}
		sh := m.shape(t.Context())
		var grid []float64
		for i := range m.components {
			c := &m.components[i]
			center, width := math.Log(c.A/c.B), min(math.Sqrt(1/c.A+1/c.B), 1.5)
			for d := -12.0; d <= 12; d += 1. / 16 {
				grid = append(grid, center+d*width)
			}
		}
		slices.Sort(grid)
		turn, rising := 0, sh.rising
		for _, z := range grid {
			near := false // so near to a turn that rounding decides on the sign
			for turn < len(sh.turns) && sh.turns[turn] < z {
				turn++
				rising = !rising
			}
			for _, at := range sh.turns {
				near = near || math.Abs(z-at) < 1e-9*max(1, math.Abs(z))
			}
			if _, s, _ := m.logPDFCurve(z); !near && s != 0 && (s > 0) != rising {
				return fmt.Errorf("turns at %v, rising at the left: %v; but the slope at %v is %v", sh.turns, sh.rising, z, s)
			}
		}
		for i := 1; i < len(sh.turns); i++ {
			if !(sh.turns[i] > sh.turns[i-1]) {
				return fmt.Errorf("turns at %v are not in order", sh.turns)
			}
		}
		return nil
	})
}

// randomRows is a mixture of k components where fitted ones live.
func randomRows(r *rand.Rand, k int) BetaBatch {
	rows := BetaBatch{K: k}
	total := 0.0
	for range k {
		w := math.Exp(3 * r.NormFloat64())
		total += w
		rows.Weights = append(rows.Weights, w)
		rows.A = append(rows.A, math.Exp(1+2*r.NormFloat64()))
		rows.B = append(rows.B, math.Exp(1+2*r.NormFloat64()))
	}
	for i := range rows.Weights {
		rows.Weights[i] /= total
	}
	return rows
}

// Two components that mirror each other have a dip between them exactly if the
// log-density is convex in the middle, however shallow it is.
func TestShallowDip(t *testing.T) {
	dips := 0
	for i := range uint64(2000) {
		r := rand.New(rng.New(10, "dip", i))
		n := math.Pow(10, 1+5*r.Float64())
		// Near the distance of two standard deviations, 1/√n on the scale of x.
		d := n / 2 * (1 + 0.02*(r.Float64()-0.5)) / math.Sqrt(n)
		m, err := NewBeta([]float64{0.5, 0.5}, []float64{n/2 + d, n/2 - d}, []float64{n/2 - d, n/2 + d})
		if err != nil {
			t.Fatal(err)
		}
		_, _, curve := m.logPDFCurve(0)
		want := 1
		if curve > 0 {
			want, dips = 2, dips+1
		}
		if got := m.Modes(); len(got) != want && math.Abs(curve) > 1e-9*n {
			t.Errorf("n = %v, d = %v: modes %v, want %d; the curve in the middle is %v", n, d, got, want, curve)
		}
	}
	if dips < 200 || dips > 1800 {
		t.Errorf("%d of 2000 have a dip", dips)
	}
}

func TestLogPDFCurve(t *testing.T) {
	forRandom(t, mixtures()/10, func(m *Beta, r *rand.Rand) error {
		z := m.QuantileLogit(0.01 + 0.98*r.Float64())
		scale := 1.0 // of the narrowest component
		for i := range m.components {
			c := &m.components[i]
			scale = min(scale, math.Sqrt(1/c.A+1/c.B))
		}
		h := 1e-4 * scale
		l, slope, curve := m.logPDFCurve(z)
		l0, s0, _ := m.logPDFCurve(z - h)
		l1, s1, _ := m.logPDFCurve(z + h)
		// Rounding of z, and with it of l, and the differences' own error.
		tol := 1e-5/scale + 1e-15*math.Abs(z)*math.Abs(slope)/h + 1e-12/h
		if d := (l1 - l0) / (2 * h); !(math.Abs(d-slope) <= tol) {
			return fmt.Errorf("log-density %v at %v has the slope %v, by differences %v", l, z, slope, d)
		}
		tol = 1e-5/scale/scale + 1e-14*(math.Abs(z)*math.Abs(curve)+1/scale/scale)/h
		if d := (s1 - s0) / (2 * h); !(math.Abs(d-curve) <= tol) {
			return fmt.Errorf("slope %v at %v has the derivative %v, by differences %v", slope, z, curve, d)
		}
		return nil
	})
}
