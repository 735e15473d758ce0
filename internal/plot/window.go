package plot

import (
	"math"
	"slices"

	"credence/mixture"
)

// probabilities returns the part of [0, 1] to show: all of it, unless the curves
// have all their mass but the share tail at either end within a tenth of it.
func probabilities(curves []Curve, tail float64, levels []float64) (lo, hi float64) {
	lo, hi = 1, 0
	for _, c := range curves {
		lo = min(lo, c.Mixture.Quantile(tail))
		upper, _ := c.Mixture.ComplementaryQuantile(tail)
		hi = max(hi, upper)
		for _, level := range levels { // whose ends may lie outside at a coarse resolution
			i := c.interval(level)
			lo, hi = min(lo, i.Lo), max(hi, i.Hi)
		}
	}
	// Within less than 1e-9 the labels of ticks would be endless.
	if r := hi - lo; r > 0.1 || r < 1e-9 {
		return 0, 1
	}
	step := niceStep((hi - lo) / 8)
	return max(0, step*math.Floor(lo/step)), min(1, step*math.Ceil(hi/step))
}

const (
	// windowColumns is into how many columns the window is divided to judge how
	// high it has to be.
	windowColumns = 200
	// tooFlat is how many times lower than the window a tenth of the mass of some
	// curve may be before spikes are cut off in favor of it.
	tooFlat = 30
	// cutRoom is how many times higher than that tenth the window is then, and
	// how many times higher than the window the mean over a pole's column may be.
	cutRoom = 4
)

// densities returns the height of the window over [lo, hi]: that of the highest
// peak, except that poles are cut off, and so are spikes beside which other
// curves or modes would be too flat to see. Heights are judged by the mean
// density in columns, which stays finite at a pole.
func densities(curves []Curve, lo, hi float64) float64 {
	columns := make([][]float64, len(curves))
	lowest := math.Inf(1)
	for i, c := range curves {
		columns[i] = meanDensities(c.Mixture, lo, hi)
		lowest = min(lowest, lowestTenth(columns[i]))
	}
	top, limit, cut := 0.0, tooFlat*lowest, false
	consider := func(height float64) {
		if height <= limit {
			top = max(top, height)
		} else {
			cut = true
		}
	}
	for i, c := range curves {
		density := c.Mixture.PDF
		poleLeft := lo == 0 && math.IsInf(density(0), 1)
		poleRight := hi == 1 && math.IsInf(density(1), 1)
		for j, h := range columns[i] {
			if poleLeft && j == 0 || poleRight && j == windowColumns-1 {
				h /= cutRoom
			}
			consider(h)
		}
		for _, x := range c.Mixture.Modes() {
			if p := density(x); lo <= x && x <= hi && !math.IsInf(p, 1) {
				consider(p)
			}
		}
	}
	if cut {
		top = max(top, cutRoom*lowest)
	}
	return top
}

// meanDensities returns the mean of the density in each column of the window.
func meanDensities(f *mixture.Beta, lo, hi float64) []float64 {
	means := make([]float64, windowColumns)
	width := (hi - lo) / windowColumns
	for i := range means {
		x0, x1 := lo+float64(i)*width, lo+float64(i+1)*width
		mass := f.Survival(x0) - f.Survival(x1)
		if below := f.CDF(x1); below < 0.5 { // where the difference keeps its digits
			mass = below - f.CDF(x0)
		}
		means[i] = max(0, mass) / width
	}
	return means
}

// lowestTenth returns the height below which the columns hold a tenth of the
// mass.
func lowestTenth(columns []float64) float64 {
	sorted := slices.Sorted(slices.Values(columns))
	total, sum := 0.0, 0.0
	for _, h := range sorted {
		total += h
	}
	for _, h := range sorted {
		if sum += h; sum >= 0.1*total {
			return h
		}
	}
	return sorted[len(sorted)-1]
}

// features returns numbers near which the density bends: its modes, and places
// around the mean of each component, the narrowest of which lie between two
// pixels.
func features(f *mixture.Beta) []float64 {
	at := f.Modes()
	for k := range f.K() {
		_, a, b := f.Component(k)
		s := a + b
		mean := a / s
		sd := math.Sqrt(mean * (b / s) / (s + 1))
		for j := -16; j <= 16; j++ {
			at = append(at, mean+sd*float64(j)/2)
		}
	}
	return at
}
