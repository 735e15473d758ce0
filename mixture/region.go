package mixture

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/internal/rng"
	"credence/internal/special"
)

// Region is a joint credible region on the simplex: all p whose log-density
// reaches Threshold. It is the smallest region of its level.
type Region struct {
	// Level is the requested mass; StandardError is the standard error of the actual
	// mass of the region, due to the finite number of draws.
	Level, StandardError float64
	// Threshold is the log-density at the region's boundary.
	Threshold float64

	m          *Dirichlet
	resolution float64 // smaller coordinates are raised to this
}

// DefaultDraws is the number of draws behind a [Region] if none is given: its
// mass then has a standard error of at most 0.25 points.
const DefaultDraws = 40000

// Region finds the joint credible region of the given level, 0 < level < 1, by Monte Carlo: the threshold is the (1 −
// level)-quantile of the log-density over the given number of draws (DefaultDraws if 0). The same seed gives the same
// region.
func (m *Dirichlet) Region(level float64, draws int, seed uint64) (*Region, error) {
	return m.region(level, draws, seed, 0)
}

// region is Region for densities at p with coordinates clipped to the resolution.
func (m *Dirichlet) region(level float64, draws int, seed uint64, resolution float64) (*Region, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("level: expected a number between 0 and 1, found %v", level)
	}
	draws = cmp.Or(draws, DefaultDraws)
	if draws < 100 {
		return nil, fmt.Errorf("expected at least 100 draws, found %d", draws)
	}
	r := rand.New(rng.New(seed, "mixture.Region"))
	logs := make([]float64, draws)
	var p []float64
	for i := range logs {
		p = m.Sample(p[:0], r)
		clip(p, resolution)
		logs[i] = m.logPDF(p)
	}
	slices.Sort(logs)
	i := int(math.Floor((1 - level) * float64(draws)))
	return &Region{
		Level:         level,
		StandardError: math.Sqrt(level * (1 - level) / float64(draws)),
		Threshold:     logs[min(i, draws-1)],
		m:             m,
		resolution:    resolution,
	}, nil
}

// clip raises the coordinates of a point of the simplex to at least the resolution and rescales them to sum to one.
func clip(p []float64, resolution float64) {
	if resolution == 0 {
		return
	}
	for i := range p {
		p[i] = max(p[i], resolution)
	}
	special.Normalize(p)
}

// Contains reports whether p, a point of the simplex, lies in the region.
func (r *Region) Contains(p []float64) (bool, error) {
	l, err := r.m.LogPDF(p)
	if err != nil {
		return false, err
	}
	if r.resolution > 0 {
		q := slices.Clone(p)
		clip(q, r.resolution)
		l = r.m.logPDF(q)
	}
	return l >= r.Threshold, nil
}

// Sample appends one random draw of the class probabilities to dst. Parameters far below one put draws next to a
// corner of the simplex, where all but one coordinate may underflow to zero.
func (m *Dirichlet) Sample(dst []float64, r *rand.Rand) []float64 {
	a := m.row(pick(m.weights, r))
	from := len(dst)
	top := math.Inf(-1)
	for _, ai := range a {
		g := logGamma(ai, r)
		top = max(top, g)
		dst = append(dst, g)
	}
	p := dst[from:]
	for i := range p {
		p[i] = math.Exp(p[i] - top)
	}
	special.Normalize(p)
	return dst
}

// pick draws an index with the given probabilities.
func pick(weights []float64, r *rand.Rand) int {
	u := r.Float64()
	for k, w := range weights[:len(weights)-1] {
		if u -= w; u < 0 {
			return k
		}
	}
	return len(weights) - 1
}

// logGamma draws the logarithm of a Gamma(a) variable, which for small a is far below the logarithm of the smallest
// float64. (Marsaglia and Tsang 2000; below a = 1, Gamma(a) = Gamma(a+1) U^{1/a}.)
func logGamma(a float64, r *rand.Rand) float64 {
	if a < 1 {
		return logGamma(a+1, r) - r.ExpFloat64()/a
	}
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if e := r.ExpFloat64(); -e < 0.5*x*x+d-d*v+d*math.Log(v) {
			return math.Log(d) + math.Log(v)
		}
	}
}
