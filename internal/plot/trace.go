package plot

import (
	"math"
	"slices"

	"credence/mixture"
)

const (
	// traceStep is the pixels between two places at which a curve is looked at
	// in any case; features narrower than that must be seeded.
	traceStep = 2.0
	// traceFinest is the least distance of two points, in pixels.
	traceFinest = 0.01
	// traceError is the largest distance of the line from the curve, in pixels.
	traceError = 0.02
)

// trace returns the graph of f as a line in pixels, from left to right. Values
// may be infinite: whatever leaves the axis y stays just outside of it. Seeds
// are numbers on x near which f has narrow features.
func trace(f func(float64) float64, x, y Axis, seeds []float64) []Point {
	outside := y.End - (y.Start - y.End)
	look := func(px float64) Point {
		v := x.value(px)
		// Rounding must not lead out of the axis: beyond 0 and 1 a density is 0.
		py := y.Pixel(f(min(max(v, x.Lo), x.Hi)))
		return Point{px, max(py, outside)}
	}
	n := int(math.Ceil((x.End - x.Start) / traceStep))
	var at []float64
	for i := range n + 1 {
		at = append(at, x.Start+(x.End-x.Start)*float64(i)/float64(n))
	}
	for _, v := range seeds {
		if px := x.Pixel(v); px > x.Start && px < x.End {
			at = append(at, px)
		}
	}
	slices.Sort(at)

	line := []Point{look(at[0])}
	var refine func(from, to Point)
	refine = func(from, to Point) {
		if to.X-from.X > 2*traceFinest {
			mid := look((from.X + to.X) / 2)
			if math.Abs(mid.Y-(from.Y+to.Y)/2) > traceError/2 {
				refine(from, mid)
				refine(mid, to)
				return
			}
		}
		line = append(line, to)
	}
	for _, px := range at[1:] {
		if last := line[len(line)-1]; px > last.X {
			refine(last, look(px))
		}
	}
	return Simplify(line, traceError)
}

// Simplify leaves out the points of a line that are closer than tolerance to the
// line through the others (Ramer 1972; Douglas and Peucker 1973).
func Simplify(line []Point, tolerance float64) []Point {
	if len(line) < 3 {
		return line
	}
	from, to := line[0], line[len(line)-1]
	dx, dy := to.X-from.X, to.Y-from.Y
	length := math.Hypot(dx, dy)
	farthest, distance := 0, tolerance
	for i, p := range line[1 : len(line)-1] {
		d := math.Abs(dx*(p.Y-from.Y) - dy*(p.X-from.X))
		if d > distance*length {
			farthest, distance = i+1, d/length
		}
	}
	if farthest == 0 {
		return []Point{from, to}
	}
	left := Simplify(line[:farthest+1], tolerance)
	return append(left[:len(left)-1:len(left)-1], Simplify(line[farthest:], tolerance)...)
}

// between returns the part of a line with x from left to right.
func between(line []Point, left, right float64) []Point {
	var part []Point
	for i, p := range line {
		if i > 0 {
			for _, x := range []float64{left, right} {
				if q := line[i-1]; q.X < x && x < p.X {
					part = append(part, Point{x, q.Y + (p.Y-q.Y)*(x-q.X)/(p.X-q.X)})
				}
			}
		}
		if left <= p.X && p.X <= right {
			part = append(part, p)
		}
	}
	return part
}

// below returns the pieces of a line that lie below top, and the middle of each
// gap between or next to them.
func below(line []Point, top float64) (pieces [][]Point, gaps []float64) {
	var piece []Point
	gap := math.NaN() // where the line left, while it is above
	for i, p := range line {
		if i > 0 {
			if q := line[i-1]; (q.Y < top) != (p.Y < top) {
				cross := Point{q.X + (p.X-q.X)*(top-q.Y)/(p.Y-q.Y), top}
				piece = append(piece, cross)
				if p.Y < top {
					gap = cross.X
				} else {
					gaps = append(gaps, (gap+cross.X)/2)
				}
			}
		} else if p.Y < top {
			gap = p.X
		}
		if p.Y >= top {
			piece = append(piece, p)
		} else if len(piece) > 0 {
			pieces = append(pieces, piece)
			piece = nil
		}
	}
	if len(piece) > 0 {
		pieces = append(pieces, piece)
	} else if n := len(line); n > 0 {
		gaps = append(gaps, (gap+line[n-1].X)/2)
	}
	return pieces, gaps
}

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
	step := NiceStep((hi - lo) / 8)
	return max(0, step*math.Floor(lo/step)), min(1, step*math.Ceil(hi/step))
}

const (
	// windowColumns is the number of columns that the window is divided into to judge how
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
// peak, except that poles are cut off, and so are spikes that would make other
// curves or modes too flat to see. Heights are judged by the mean
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

// lowestTenth returns the height below which the columns contain a tenth of the
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
