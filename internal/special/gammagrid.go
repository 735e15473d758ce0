package special

import (
	"math"
	"sync"
	"sync/atomic"

	"credence/internal/kernel"
)

// The points of the grid are s_k = ln(1 + e^v), v = gridFirst + k gridStep: dense next to 0, where the densities of variables with small
// parameters are powers, and evenly spaced elsewhere. The trapezoidal rule in v is exact to 1e-12 for the density of one variable, which has
// the standard deviation ½, and to 1e-9 for that of the largest of ten.
const (
	gridFirst, gridStep = -3, 0.28
	// gridMost is the largest root of a parameter.
	gridMost = 32
	// The distribution function is below 1e-13 and above 1 − 1e-10 at points that are farther from the root of the parameter.
	gridBelow, gridAbove = 3.9, 4.6
	// gridCells per 1 of s is the resolution of the index of points.
	gridCells = 16
)

// GammaGrid has the distribution functions of square roots of Gamma variables at the points of a grid, as polynomials in the root of the
// parameter: from root gridFine in intervals of length ½, below of ¼. Their error is below 2e-10.
type GammaGrid struct {
	s             []float64 // the points
	slope, offset []float64 // of densities: slope is 2 ln s, and offset ln(2 gridStep s′/s) − s²
	index         []uint8   // for s in steps of 1/gridCells, the last point that is not above
	table         []float64
	ready         [gridIntervals]atomic.Bool
	mu            sync.Mutex
}

const gridFine, gridIntervals = 3, 4*gridFine + 2*(gridMost-gridFine)

// NewGammaGrid returns the grid, of which there is one in a process.
var NewGammaGrid = sync.OnceValue(func() *GammaGrid {
	g := &GammaGrid{table: make([]float64, gridIntervals*kernel.GridTerms*kernel.GridRow)}
	last := gridMost + gridAbove + kernel.PanelPoints*gridStep
	for k := 0; ; k++ {
		e := math.Exp(gridFirst + float64(k)*gridStep)
		s := math.Log1p(e)
		g.s = append(g.s, s)
		g.slope = append(g.slope, 2*math.Log(s))
		g.offset = append(g.offset, math.Log(2*gridStep*e/((1+e)*s))-s*s)
		if s > last {
			break
		}
	}
	for k, i := 0, 0; k < len(g.s); i++ {
		for k < len(g.s) && g.s[k] <= float64(i)/gridCells {
			k++
		}
		g.index = append(g.index, uint8(max(k-1, 0)))
	}
	return g
})

// gridInterval returns the interval of a root, from 0 to gridMost, and its middle and half of its length.
func gridInterval(root float64) (i int, mid, half float64) {
	if root < gridFine {
		i = int(4 * root)
		return i, (float64(i) + 0.5) / 4, 1. / 8
	}
	i = min(int(2*root), 2*gridMost-1)
	return i + 2*gridFine, (float64(i) + 0.5) / 2, 1. / 4
}

// from returns the first point of which an interval has polynomials.
func (g *GammaGrid) from(mid, half float64) int { return g.at(mid - half - gridBelow) }

// at returns the last point that is not above s, or close to it.
func (g *GammaGrid) at(s float64) int {
	return int(g.index[min(max(int(s*gridCells), 0), len(g.index)-1)])
}

// Window returns the points from lo to hi, as many as kernel.GridGammas takes, and sets the tables of variables, given the roots of their
// parameters. It reports whether the grid has them all.
func (g *GammaGrid) Window(variables []kernel.GridVariable, roots []float64, lo, hi float64) (slope, offset []float64, ok bool) {
	first := g.at(lo)
	for j, root := range roots {
		if !(root < gridMost) {
			return nil, nil, false
		}
		i, mid, half := gridInterval(root)
		if !g.ready[i].Load() {
			g.tabulate(i, mid, half)
		}
		from := g.from(mid, half)
		first = max(first, from)
		v := &variables[j]
		v.X = (root - mid) / half
		v.Table = i*kernel.GridTerms*kernel.GridRow - from // and the first point
		v.Tabulated = g.at(mid+half+gridAbove) + 1         // less that
	}
	for j := range variables {
		variables[j].Table += first
		variables[j].Tabulated -= first
	}
	n := kernel.WholeBlocks(g.at(hi) + 2 - first)
	if n > kernel.PanelPoints || n <= 0 {
		return nil, nil, false
	}
	return g.slope[first : first+n], g.offset[first : first+n], true
}

// Table returns the table for kernel.GridGammas.
func (g *GammaGrid) Table() []float64 { return g.table }

// tabulate computes the polynomials of an interval, which interpolate at Chebyshev's points.
func (g *GammaGrid) tabulate(i int, mid, half float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ready[i].Load() {
		return
	}
	const n = kernel.GridTerms
	var values [n][kernel.GridRow]float64
	var at [n]float64
	from := g.from(mid, half)
	points := g.s[from:min(from+kernel.GridRow, len(g.s))]
	for j := range at {
		at[j] = math.Cos(math.Pi * (float64(j) + 0.5) / n)
		root := mid + half*at[j]
		gammaBelow(values[j][:len(points)], root*root, points)
	}
	rows := g.table[i*n*kernel.GridRow : (i+1)*n*kernel.GridRow]
	for k := range points {
		// Newton's divided differences, and from them the coefficients of powers.
		var c [n]float64
		for j := range c {
			c[j] = values[j][k]
		}
		for d := 1; d < n; d++ {
			for j := n - 1; j >= d; j-- {
				c[j] = (c[j] - c[j-1]) / (at[j] - at[j-d])
			}
		}
		for d := n - 2; d >= 0; d-- {
			for j := d; j < n-1; j++ {
				c[j] -= at[d] * c[j+1]
			}
		}
		for j, v := range c {
			rows[j*kernel.GridRow+k] = v
		}
	}
	g.ready[i].Store(true)
}

// gammaBelow sets dst to the probabilities that the square root of a Gamma(a) variable is at most s, by the series
//
//	P(a, x) = xᵃ e⁻ˣ/Γ(a+1) (1 + x/(a+1) (1 + x/(a+2) (1 + …))),   x = s²
//
// (DLMF 8.11.4), with an error of some 1e-14 of the largest term of the exponent.
func gammaBelow(dst []float64, a float64, s []float64) {
	log, _ := math.Lgamma(a + 1)
	most := math.Sqrt(a) + 6 // beyond which it is 1
	// The largest term is where a + n is x, and around it they fall like a normal density with the variance x.
	terms := func(x float64) int { return int(max(x-a, 0)+9*math.Sqrt(x)) + 20 }
	inverse := make([]float64, terms(most*most))
	for i := range inverse {
		inverse[i] = 1 / (a + float64(i) + 1)
	}
	// Four points at a time, because each step waits for the one before.
	for k := 0; k < len(s); k += 4 {
		var x [4]float64
		for i := range x {
			v := min(s[min(k+i, len(s)-1)], most)
			x[i] = v * v
		}
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		sum0, sum1, sum2, sum3 := 1.0, 1.0, 1.0, 1.0
		for i := terms(x3) - 1; i >= 0; i-- {
			r := inverse[i]
			sum0, sum1, sum2, sum3 = 1+x0*r*sum0, 1+x1*r*sum1, 1+x2*r*sum2, 1+x3*r*sum3
		}
		sums := [...]float64{sum0, sum1, sum2, sum3}
		for i := range min(4, len(s)-k) {
			if dst[k+i] = 1; s[k+i] < most {
				dst[k+i] = min(1, math.Exp(a*math.Log(x[i])-x[i]-log)*sums[i])
			}
		}
	}
}
