package kernel

import "math"

// Tables of [GridGammas]: an interval of roots of parameters has GridTerms rows of GridRow numbers, the coefficients of polynomials at
// consecutive points.
const GridTerms, GridRow = 10, 48

// GridVariable is the square root of a Gamma(A) variable at the points of a grid.
type GridVariable struct {
	Table       int     // where the first point is in the row of degree 0 of its table
	Tabulated   int     // the number of points in the table; the distribution function is 1 at those behind
	X           float64 // of the polynomials
	A, LogGamma float64
}

// GridGammas sets cdf and pdf [m, n] to the distribution functions and the densities of variables at n points, a multiple of PanelLanes and at
// most PanelPoints: at point k,
//
//	pdf = exp(A slope_k + offset_k − LogGamma),
//	cdf = Σ_i table[Table + i GridRow + k] Xⁱ   for k < Tabulated, rounded up to a multiple of PanelLanes, 1 behind.
//
// Exponents are as in [RootGammas].
func GridGammas(cdf, pdf, slope, offset, table []float64, variables []GridVariable) {
	n := len(slope)
	checkPanel(n)
	sameLen(len(cdf), len(variables)*n, len(pdf))
	sameLen(n, len(offset), n)
	for i := range variables {
		if v := &variables[i]; v.Tabulated > 0 && (v.Table < 0 || v.Table+(GridTerms-1)*GridRow+WholeBlocks(min(v.Tabulated, n)) > len(table)) {
			panic("kernel: GridGammas: points outside of the table")
		}
	}
	if len(variables) > 0 {
		active.gridGammas(cdf, pdf, slope, offset, table, variables)
	}
}

func gridGammasGeneric(cdf, pdf, slope, offset, table []float64, variables []GridVariable) {
	n := len(slope)
	for j := range variables {
		v := &variables[j]
		f, p := cdf[j*n:(j+1)*n], pdf[j*n:(j+1)*n]
		tabulated := min(max(WholeBlocks(v.Tabulated), 0), n)
		for k := range f {
			p[k] = math.Exp(v.A*slope[k] + offset[k] - v.LogGamma)
			if f[k] = 1; k < tabulated {
				at := v.Table + k
				sum := table[at+(GridTerms-1)*GridRow]
				for i := GridTerms - 2; i >= 0; i-- {
					sum = sum*v.X + table[at+i*GridRow]
				}
				f[k] = sum
			}
		}
	}
}
