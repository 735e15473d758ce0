package kernel

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
