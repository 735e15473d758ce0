package calibrate

import "math"

// symmetric is a positive definite matrix [n×n].
type symmetric struct {
	n int
	a []float64
}

func newSymmetric(n int) *symmetric { return &symmetric{n, make([]float64, n*n)} }

// add adds w x xᵀ.
func (s *symmetric) add(w float64, x []float64) {
	for i, v := range x {
		row := s.a[i*s.n : (i+1)*s.n]
		for j := range row {
			row[j] += w * v * x[j]
		}
	}
}

// factor returns the lower Cholesky factor.
func (s *symmetric) factor() []float64 {
	l := make([]float64, len(s.a))
	for i := range s.n {
		for j := range i + 1 {
			sum := s.a[i*s.n+j]
			for k := range j {
				sum -= l[i*s.n+k] * l[j*s.n+k]
			}
			if i == j {
				l[i*s.n+i] = math.Sqrt(max(sum, 1e-12))
			} else {
				l[i*s.n+j] = sum / l[j*s.n+j]
			}
		}
	}
	return l
}

// solve returns the solution of s y = x.
func (s *symmetric) solve(x []float64) []float64 { return solveFactor(s.factor(), s.n, x) }

func solveFactor(l []float64, n int, x []float64) []float64 {
	y := make([]float64, n)
	for i := range n {
		y[i] = (x[i] - dot(l[i*n:i*n+i], y)) / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			y[i] -= l[k*n+i] * y[k]
		}
		y[i] /= l[i*n+i]
	}
	return y
}

// inverse returns the inverse.
func (s *symmetric) inverse() []float64 {
	l, out := s.factor(), make([]float64, 0, len(s.a))
	for i := range s.n {
		unit := make([]float64, s.n)
		unit[i] = 1
		out = append(out, solveFactor(l, s.n, unit)...)
	}
	return out
}

// dot returns Σ a_i b_i.
func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += x * b[i]
	}
	return s
}
