package mixture

import (
	"math"
	"slices"

	"credence/internal/special"
)

// A slope is the derivative of the log-density with respect to the logit of x.
// Its zeros are the density's modes and the dips between them.
//
// With r_k the share of component k in the density at x,
//
//	d ln f / d logit x = Σ_k r_k ((a_k−1)(1−x) − (b_k−1)x).

// logPDFSlope returns the log-density at the logit z, and its slope.
func (m *Beta) logPDFSlope(z float64) (logPDF, slope float64) {
	p := special.AtLogit(z)
	top := math.Inf(-1)
	var sum float64
	for i := range m.components {
		c := &m.components[i]
		l := c.logWeight + c.LogFactor(&p)
		s := (c.A-1)*p.Y - (c.B-1)*p.X
		if l > top {
			scale := math.Exp(top - l)
			sum, slope, top = sum*scale, slope*scale, l
		}
		r := math.Exp(l - top)
		sum += r
		slope += r * s
	}
	return top + math.Log(sum) - p.LogX - p.LogY, slope / sum
}

// endSign returns the sign of the slope as x tends to 0: the component with the
// smallest a dominates there. If that a is 1 the sign is taken close to 0.
func (m *Beta) endSign() float64 {
	a := math.Inf(1)
	for i := range m.components {
		a = min(a, m.components[i].A)
	}
	if a != 1 {
		return a - 1
	}
	_, s := m.logPDFSlope(-40)
	return s
}

// shape is where a density rises and falls.
type shape struct {
	turns  []float64 // logits of its maxima and minima, in turn, increasing
	rising bool      // whether it rises at the very left
	flat   bool      // whether it is constant
}

// gridOffsets are the distances from a component's centre, in its widths, at
// which the slope is looked at: close together where the component makes the
// density's shape, and out to where it is lost under any other.
var gridOffsets = []float64{
	0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 4.5, 5, 6, 7, 8.5, 10, 12,
}

// shape finds the turns by scanning the slope on a grid that is fine compared
// with every component's width. Beyond the components the density is a sum of
// powers of x (or 1−x), which can turn at most once more, towards a pole at the
// end.
func (m *Beta) shape() (sh shape) {
	var grid []float64
	for i := range m.components {
		c := &m.components[i]
		// The logit density of Beta(a, b) peaks at ln(a/b) with the width
		// √(1/a + 1/b); the density of x itself where a−1, b−1 replace a, b.
		width := min(math.Sqrt(1/c.A+1/c.B), 1.5)
		centre := math.Log(c.A / c.B)
		for _, d := range gridOffsets {
			grid = append(grid, centre-width*d, centre+width*d)
		}
		if c.A > 1 && c.B > 1 {
			mode := math.Log((c.A - 1) / (c.B - 1))
			for j := -4; j <= 4; j++ {
				grid = append(grid, mode+width*float64(j)/4)
			}
		}
	}
	slices.Sort(grid)
	left, right := m.endSign(), -m.Reflect().endSign()
	if left == 0 && right == 0 && m.flat(grid) {
		return shape{flat: true}
	}

	slope := func(z float64) float64 { _, s := m.logPDFSlope(z); return s }
	// Extend the grid until the slopes at its ends have the signs of the limits.
	for step := 4.0; slope(grid[0])*left < 0 && step < 1e7; step *= 2 {
		grid = slices.Insert(grid, 0, grid[0]-step)
	}
	for step := 4.0; slope(grid[len(grid)-1])*right < 0 && step < 1e7; step *= 2 {
		grid = append(grid, grid[len(grid)-1]+step)
	}
	// Two turns may hide between neighbours whose slopes have one sign; they
	// betray themselves by a slope that comes close to zero and leaves again.
	slopes := make([]float64, len(grid))
	for i, z := range grid {
		slopes[i] = slope(z)
	}
	sh.rising = slopes[0] > 0
	known, z0 := slopes[0], grid[0] // the last slope that is not zero
	visit := func(z, s float64) {
		if s == 0 {
			return
		}
		if known == 0 {
			sh.rising = s > 0
		} else if s*known < 0 {
			sh.turns = append(sh.turns, bisect(slope, z0, z, known < 0))
		}
		known, z0 = s, z
	}
	for i := 1; i < len(grid); i++ {
		if i+1 < len(grid) && slopes[i]*slopes[i-1] > 0 && slopes[i]*slopes[i+1] > 0 &&
			math.Abs(slopes[i]) <= math.Abs(slopes[i-1]) && math.Abs(slopes[i]) <= math.Abs(slopes[i+1]) {
			z := leastSlope(slope, grid[i-1], grid[i+1], math.Copysign(1, slopes[i]))
			if s := slope(z); z < grid[i] {
				visit(z, s)
				visit(grid[i], slopes[i])
			} else {
				visit(grid[i], slopes[i])
				visit(z, s)
			}
			continue
		}
		visit(grid[i], slopes[i])
	}
	return sh
}

// leastSlope returns where sign·slope is smallest between lo and hi, or the
// first place found at which it is negative, by golden-section search.
func leastSlope(slope func(float64) float64, lo, hi, sign float64) float64 {
	const ratio = 0.6180339887498949
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := sign*slope(a), sign*slope(b)
	for range 60 {
		switch {
		case fa < 0:
			return a
		case fb < 0:
			return b
		case hi-lo < 1e-12*max(1, math.Abs(lo)):
			return a
		case fa < fb:
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = sign * slope(a)
		default:
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = sign * slope(b)
		}
	}
	return a
}

// flat reports whether the log-density does not vary beyond rounding.
func (m *Beta) flat(grid []float64) bool {
	l0, _ := m.logPDFSlope(0)
	for _, z := range grid {
		if l, _ := m.logPDFSlope(z); math.Abs(l-l0) > 1e-12 {
			return false
		}
	}
	return true
}

// bisect returns a zero of f between lo and hi, where f changes sign, from
// negative to positive if rises.
func bisect(f func(float64) float64, lo, hi float64, rises bool) float64 {
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi || hi-lo <= 1e-15*max(1, math.Abs(mid)) {
			break
		}
		if (f(mid) < 0) == rises {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

// Modes returns the places at which the density has a local maximum, in
// increasing order, the ends 0 and 1 among them where it rises towards them. A
// flat density has none.
func (m *Beta) Modes() []float64 {
	sh := m.shape()
	if sh.flat {
		return nil
	}
	var modes []float64
	rising := sh.rising
	if !rising {
		modes = append(modes, 0)
	}
	for _, z := range sh.turns {
		if rising {
			modes = append(modes, special.AtLogit(z).X)
		}
		rising = !rising
	}
	if rising {
		modes = append(modes, 1)
	}
	return modes
}
