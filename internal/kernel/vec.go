package kernel

// Add computes dst[i] = a[i] + b[i]. dst may be a or b.
func Add(dst, a, b []float32) {
	sameLen(len(dst), len(a), len(b))
	active.add(dst, a, b)
}

// Mul computes dst[i] = a[i] · b[i]. dst may be a or b.
func Mul(dst, a, b []float32) {
	sameLen(len(dst), len(a), len(b))
	active.mul(dst, a, b)
}

// Prefetch starts to load x into the cache, without waiting for it: for rows that are
// read in random order. Of a long row only the beginning is loaded; the
// processor guesses the rest.
func Prefetch(x []float32) {
	if len(x) > 0 {
		active.prefetch(x[:min(len(x), 256)])
	}
}

// Fill sets every element of dst to v.
func Fill(dst []float32, v float32) {
	if v == 0 {
		clear(dst)
		return
	}
	for i := range dst {
		dst[i] = v
	}
}

func sameLen(a, b, c int) {
	if a != b || a != c {
		panic("kernel: slices differ in length")
	}
}

func addGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func mulGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

// sumLanes is the number of float64 partial sums of Sum and SumSq: element i
// goes to partial i mod sumLanes, and the partials are added pairwise at the
// end. The order is the same in every implementation.
const sumLanes = 16

// Sum returns Σ x[i], accumulated in float64 in a fixed order.
func Sum(x []float32) float64 { return active.sum(x) }

// SumSq returns Σ x[i]², accumulated in float64 in a fixed order.
func SumSq(x []float32) float64 { return active.sumSq(x) }

// ColSums adds the sum of each column of x [rows, cols] to dst [cols]; rows
// are added in order, so it is the bias gradient of a Dense layer.
func ColSums(dst, x []float32, rows, cols int) {
	if len(dst) < cols || len(x) < rows*cols {
		panic("kernel: ColSums: slice too short")
	}
	active.colSums(dst[:cols], x[:rows*cols], rows, cols)
}

func sumGeneric(x []float32) float64 {
	var p [sumLanes]float64
	for i, v := range x {
		p[i%sumLanes] += float64(v)
	}
	return foldLanes(&p)
}

func sumSqGeneric(x []float32) float64 {
	var p [sumLanes]float64
	for i, v := range x {
		p[i%sumLanes] += float64(v) * float64(v)
	}
	return foldLanes(&p)
}

// foldLanes adds the upper half of the partials to the lower half until one
// is left.
func foldLanes(p *[sumLanes]float64) float64 {
	for n := sumLanes / 2; n > 0; n /= 2 {
		for i := range n {
			p[i] += p[i+n]
		}
	}
	return p[0]
}

func colSumsGeneric(dst, x []float32, rows, cols int) {
	for r := range rows {
		for c, v := range x[r*cols : (r+1)*cols] {
			dst[c] += v
		}
	}
}
