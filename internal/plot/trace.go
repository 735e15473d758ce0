package plot

import (
	"math"
	"slices"
)

const (
	// traceStep is the pixels between two places at which a curve is looked at
	// in any case; features narrower than that must be seeded.
	traceStep = 2.0
	// traceFinest is the least distance of two points, in pixels.
	traceFinest = 0.01
	// traceError is how far the line may be from the curve, in pixels.
	traceError = 0.02
)

// trace returns the graph of f as a line in pixels, from left to right. Values
// may be infinite: whatever leaves the axis y stays just outside of it. Seeds
// are numbers on x near which f has narrow features.
func trace(f func(float64) float64, x, y axis, seeds []float64) []point {
	outside := y.end - (y.start - y.end)
	look := func(px float64) point {
		v := x.value(px)
		// Rounding must not lead out of the axis: beyond 0 and 1 a density is 0.
		py := y.pixel(f(min(max(v, x.lo), x.hi)))
		return point{px, max(py, outside)}
	}
	n := int(math.Ceil((x.end - x.start) / traceStep))
	var at []float64
	for i := range n + 1 {
		at = append(at, x.start+(x.end-x.start)*float64(i)/float64(n))
	}
	for _, v := range seeds {
		if px := x.pixel(v); px > x.start && px < x.end {
			at = append(at, px)
		}
	}
	slices.Sort(at)

	line := []point{look(at[0])}
	var refine func(from, to point)
	refine = func(from, to point) {
		if to.x-from.x > 2*traceFinest {
			mid := look((from.x + to.x) / 2)
			if math.Abs(mid.y-(from.y+to.y)/2) > traceError/2 {
				refine(from, mid)
				refine(mid, to)
				return
			}
		}
		line = append(line, to)
	}
	for _, px := range at[1:] {
		if last := line[len(line)-1]; px > last.x {
			refine(last, look(px))
		}
	}
	return simplify(line, traceError)
}

// simplify leaves out the points of a line that are closer than tolerance to the
// line through the others (Ramer 1972; Douglas and Peucker 1973).
func simplify(line []point, tolerance float64) []point {
	if len(line) < 3 {
		return line
	}
	from, to := line[0], line[len(line)-1]
	dx, dy := to.x-from.x, to.y-from.y
	length := math.Hypot(dx, dy)
	farthest, distance := 0, tolerance
	for i, p := range line[1 : len(line)-1] {
		d := math.Abs(dx*(p.y-from.y) - dy*(p.x-from.x))
		if d > distance*length {
			farthest, distance = i+1, d/length
		}
	}
	if farthest == 0 {
		return []point{from, to}
	}
	left := simplify(line[:farthest+1], tolerance)
	return append(left[:len(left)-1:len(left)-1], simplify(line[farthest:], tolerance)...)
}

// between returns the part of a line with x from left to right.
func between(line []point, left, right float64) []point {
	var part []point
	for i, p := range line {
		if i > 0 {
			for _, x := range []float64{left, right} {
				if q := line[i-1]; q.x < x && x < p.x {
					part = append(part, point{x, q.y + (p.y-q.y)*(x-q.x)/(p.x-q.x)})
				}
			}
		}
		if left <= p.x && p.x <= right {
			part = append(part, p)
		}
	}
	return part
}

// below returns the pieces of a line that lie below top, and the middle of each
// gap between or beside them.
func below(line []point, top float64) (pieces [][]point, gaps []float64) {
	var piece []point
	gap := math.NaN() // where the line left, while it is above
	for i, p := range line {
		if i > 0 {
			if q := line[i-1]; (q.y < top) != (p.y < top) {
				cross := point{q.x + (p.x-q.x)*(top-q.y)/(p.y-q.y), top}
				piece = append(piece, cross)
				if p.y < top {
					gap = cross.x
				} else {
					gaps = append(gaps, (gap+cross.x)/2)
				}
			}
		} else if p.y < top {
			gap = p.x
		}
		if p.y >= top {
			piece = append(piece, p)
		} else if len(piece) > 0 {
			pieces = append(pieces, piece)
			piece = nil
		}
	}
	if len(piece) > 0 {
		pieces = append(pieces, piece)
	} else if n := len(line); n > 0 {
		gaps = append(gaps, (gap+line[n-1].x)/2)
	}
	return pieces, gaps
}
