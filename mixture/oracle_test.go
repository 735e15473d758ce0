package mixture

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"credence/internal/oracle"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/internal/testsize"
)

// oracleMixture draws one to three components with a, b log-uniform from 1e-3 to
// 1e7 and weights down to 1e-12.
func oracleMixture(r *rand.Rand) (w, a, b []float64) {
	total := 0.0
	for range 1 + r.IntN(3) {
		v := math.Pow(10, -12*r.Float64()*float64(r.IntN(2)))
		w = append(w, v)
		total += v
		a = append(a, math.Pow(10, -3+10*r.Float64()))
		b = append(b, math.Pow(10, -3+10*r.Float64()))
	}
	for k := range w {
		w[k] /= total
	}
	return w, a, b
}

// Distribution function, survival function and quantile against sums of 200
// bits. Half of the points lie at a quantile of one of the components, from
// 1e-300 to 1 − 1e-16 (log-uniform in the nearer tail), half at a quantile of
// the mixture, where the same sum also judges the quantile: backward, as
// |F(x) − q| ≤ 1e-12 min(q, 1−q), or forward, as 1e-10 of x and of 1−x.
func TestOracle(t *testing.T) {
	points := testsize.Choose(400, 2000, 20_000)
	const piece = 20
	var mu sync.Mutex
	worst := map[string]float64{}
	note := func(what string, e float64) {
		mu.Lock()
		worst[what] = max(worst[what], e)
		mu.Unlock()
	}
	par.For(points/piece, func(p int) {
		for i := range piece {
			r := rand.New(rng.New(7, "oracle", uint64(p*piece+i)))
			w, a, b := oracleMixture(r)
			if err := compareWithOracle(r, w, a, b, i%2 == 0, note); err != nil {
				t.Errorf("w = %v, a = %v, b = %v: %v", w, a, b, err)
			}
		}
	})
	t.Logf("largest errors over %d points: %v", points, worst)
}

func compareWithOracle(r *rand.Rand, w, a, b []float64, atComponent bool, note func(string, float64)) error {
	m, err := NewBeta(w, a, b)
	if err != nil {
		return err
	}
	q := math.Pow(10, -300*r.Float64())
	if r.IntN(2) == 0 {
		q = math.Pow(10, -16*r.Float64())
	}
	q /= 2
	upper := r.IntN(2) == 0 // whether q is the mass above the point
	of := m
	if atComponent {
		k := r.IntN(len(w))
		if of, err = NewBeta([]float64{1}, a[k:k+1], b[k:k+1]); err != nil {
			return err
		}
	}
	x, y := of.QuantileBoth(q)
	if upper {
		x, y = of.ComplementaryQuantile(q)
	}
	if x < 1e-300 || y < 1e-300 {
		return nil
	}
	if y < x {
		// Look from the other end, where the point does not round to one.
		m, a, b, x, upper = m.Reflect(), b, a, y, !upper
	}
	exact := oracle.NewMixture(oracle.Quick, w, a, b)
	below, above := exact.CDF(oracle.Quick.New(x))
	density := math.Exp(m.LogPDF(x))

	// What rounding x by one unit would do.
	rounding := 0x1p-53 * x * density
	for _, c := range []struct {
		what string
		got  float64
		want *big.Float
	}{{"CDF", m.CDF(x), below}, {"survival", m.Survival(x), above}} {
		want, _ := c.want.Float64()
		if want < 1e-300 {
			continue
		}
		e := math.Abs(c.got-want) / want
		note(c.what, e)
		if !(e <= 1e-12+4*rounding/want) {
			return fmt.Errorf("%s(%v) = %v, want %v (relative error %.2g)", c.what, x, c.got, want, e)
		}
	}
	if atComponent {
		return nil
	}
	mass := below
	if upper {
		mass = above
	}
	d, _ := new(big.Float).Sub(mass, oracle.Quick.New(q)).Float64()
	backward := math.Abs(d) / q
	forward := math.Abs(d) / density / x
	note("quantile", min(forward, backward))
	if !(backward <= 1e-12 || forward <= 1e-10) {
		return fmt.Errorf("quantile(%v) = %v: forward error %.2g, backward %.2g", q, x, forward, backward)
	}
	return nil
}
