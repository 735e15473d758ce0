package logistic

import (
	"credence/internal/kernel"
	"credence/internal/par"
)

// Dense is a matrix in row-major order. Its weights are [c × f]. One goroutine at
// a time may fit to it.
type Dense struct {
	Columns int
	Values  []float64

	sums [pieces][]float64 // of MultiplyTransposed
}

// pieces is into how many pieces the rows are split, whose sums are added in order.
const pieces = 16

// Row returns row j, a slice of Values.
func (x *Dense) Row(j int) []float64 { return x.Values[j*x.Columns : (j+1)*x.Columns] }

// Select returns the matrix of some rows.
func (x *Dense) Select(rows []int) *Dense {
	s := &Dense{Columns: x.Columns}
	for _, j := range rows {
		s.Values = append(s.Values, x.Row(j)...)
	}
	return s
}

// Size returns the numbers of rows and columns.
func (x *Dense) Size() (examples, features int) { return len(x.Values) / x.Columns, x.Columns }

// Multiply sets z [n × c] to the products Wx_j.
func (x *Dense) Multiply(z, w []float64, c int) {
	par.Chunks(len(x.Values)/x.Columns, 64, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			kernel.Dots64(z[j*c:(j+1)*c], w, x.Row(j))
		}
	})
}

// MultiplyTransposed sets w to the sum over rows of r_j ⊗ x_j.
func (x *Dense) MultiplyTransposed(w, r []float64, c int) {
	n := len(x.Values) / x.Columns
	par.For(pieces, func(p int) {
		if len(x.sums[p]) != len(w) {
			x.sums[p] = make([]float64, len(w))
		}
		x.addRows(x.sums[p], r, c, p*n/pieces, (p+1)*n/pieces)
	})
	clear(w)
	for _, s := range x.sums {
		kernel.Axpy64(1, s, w)
	}
}

// addRows sets sum to that over the rows lo … hi−1. A few of them at a time add
// to a stretch of the sum while it and they are in the first-level cache; each of
// its elements still sees one row after the other.
func (x *Dense) addRows(sum, r []float64, c, lo, hi int) {
	const few, stretch = 4, 512
	f := x.Columns
	clear(sum)
	slopes := make([]float64, c*few) // [c, few]
	for j := lo; j < hi; j += few {
		n := min(few, hi-j)
		for i := range n {
			for k := range c {
				slopes[k*few+i] = r[(j+i)*c+k]
			}
		}
		for from := 0; from < f; from += stretch {
			to := min(from+stretch, f)
			for k := range c {
				kernel.AddRows64(sum[k*f+from:k*f+to], slopes[k*few:k*few+n], x.Values[j*f+from:], f)
			}
		}
	}
}
