package evaluate

import "math"

// lowess is the locally linear smoother of Cleveland (1979, J. Am. Stat. Assoc. 74) without robustness iterations: at a
// point, least squares of the nearest neighbors with tricube weights. As in the author's program, and R's lowess with
// iter = 0, lines are fitted at points that are about delta apart, and the curve is linear in between. The
// curve is a linear function of y, so that fits are weights.
type lowess struct {
	x      []float64 // [n], ascending
	points []int     // where lines are fitted: indexes of x, ascending; the first is 0, the last n−1
	left   []int     // of each point, the first of its neighbors
	right  []int     // and the last
	piece  []int     // [n], the last point at or before an item
	buffer []float64
}

// newLowess selects the points; span is the share of items that are neighbors of a point.
func newLowess(x []float64, span, delta float64) *lowess {
	n := len(x)
	l := &lowess{x: x, piece: make([]int, n), buffer: make([]float64, n)}
	neighbors := max(2, min(n, int(span*float64(n)+1e-7)))
	left, right := 0, neighbors-1
	for i := 0; i < n; {
		for right < n-1 && x[i]-x[left] > x[right+1]-x[i] {
			left++
			right++
		}
		l.points, l.left, l.right = append(l.points, i), append(l.left, left), append(l.right, right)
		// Items at the same x share the line; the next point is the last within delta, or the next item.
		last, next := i, i+1
		for ; next < n && x[next] <= x[i]+delta; next++ {
			if x[next] == x[i] {
				last = next
			}
		}
		if last > i {
			l.points, l.left, l.right = append(l.points, last), append(l.left, left), append(l.right, right)
		}
		i = max(last+1, next-1)
	}
	k := 0
	for i := range x {
		for k+1 < len(l.points) && l.points[k+1] <= i {
			k++
		}
		l.piece[i] = k
	}
	return l
}

// weights returns the weights of the items from the given one on for the curve at point k. The slice is
// valid until the next call.
func (l *lowess) weights(k int) (from int, w []float64) {
	x, at := l.x, l.x[l.points[k]]
	from = l.left[k]
	h := max(at-x[from], x[l.right[k]]-at)
	w = l.buffer[:0]
	total := 0.0
	for _, v := range x[from:] {
		r, weight := math.Abs(v-at), 0.0
		if r > 0.999*h && v > at {
			break
		}
		if c := r / h; r <= 0.001*h {
			weight = 1
		} else if r <= 0.999*h {
			c = 1 - c*c*c
			weight = c * c * c
		}
		w = append(w, weight)
		total += weight
	}
	mean, spread := 0.0, 0.0
	for i := range w {
		w[i] /= total
		mean += w[i] * x[from+i]
	}
	for i := range w {
		spread += w[i] * (x[from+i] - mean) * (x[from+i] - mean)
	}
	// Without spread the line has no slope, and the fit is the mean.
	if h > 0 && math.Sqrt(spread) > 0.001*(x[len(x)-1]-x[0]) {
		slope := (at - mean) / spread
		for i := range w {
			w[i] *= 1 + slope*(x[from+i]-mean)
		}
	}
	return from, w
}

// fit returns the curve at the points for values y.
func (l *lowess) fit(y []float64) []float64 {
	c := make([]float64, len(l.points))
	for k := range c {
		from, w := l.weights(k)
		for i, v := range w {
			c[k] += v * y[from+i]
		}
	}
	return c
}

// between returns the point at or before item i and the share of the way to the next.
func (l *lowess) between(i int) (k int, share float64) {
	k = l.piece[i]
	if at := l.points[k]; l.x[at] < l.x[i] {
		share = (l.x[i] - l.x[at]) / (l.x[l.points[k+1]] - l.x[at])
	}
	return k, share
}

// at interpolates values at the points to all items.
func (l *lowess) at(values []float64) []float64 {
	out := make([]float64, len(l.x))
	for i := range out {
		k, share := l.between(i)
		if out[i] = values[k]; share > 0 {
			out[i] += share * (values[k+1] - values[k])
		}
	}
	return out
}
