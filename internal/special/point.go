package special

import "math"

// Sum returns Σ x, added in order.
func Sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// SumExcept returns the sum of all x_j, j ≠ i. The total less x_i would lose nine digits at x = (1e7, 1e-3).
func SumExcept(x []float64, i int) float64 {
	s := 0.0
	for j, v := range x {
		if j != i {
			s += v
		}
	}
	return s
}

// Normalize divides x by its sum.
func Normalize(x []float64) {
	s := Sum(x)
	for i := range x {
		x[i] /= s
	}
}

// Sigmoid returns 1/(1 + exp(−x)) without overflow.
func Sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// Softplus returns log(1 + exp x) without overflow; log Sigmoid(x) = −Softplus(−x).
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Point is a place in [0, 1] known from both ends, so that neither x nor 1−x
// loses digits, and by its logarithms, so that it may lie closer to an end
// than the smallest float64.
type Point struct {
	X, Y       float64 // x and 1−x, each correctly rounded or nearly so
	LogX, LogY float64 // ln x and ln(1−x)
}

// At returns the point x of [0, 1].
func At(x float64) Point {
	return point(x, 1-x)
}

// Ratio returns the point u/(u+v), u, v > 0.
func Ratio(u, v float64) Point {
	s := u + v
	return point(u/s, v/s)
}

func point(x, y float64) Point {
	if x < 0.5 {
		return Point{x, y, math.Log(x), math.Log1p(-x)}
	}
	return Point{x, y, math.Log1p(-y), math.Log(y)}
}

// AtLogit returns the point whose logit, ln(x/(1−x)), is z. Far out in the
// tails x or y underflows to zero while its logarithm stays right.
func AtLogit(z float64) Point {
	if z <= 0 {
		e := math.Exp(z)
		y := 1 / (1 + e)
		l := log1pSmall(e)
		return Point{e * y, y, z - l, -l}
	}
	e := math.Exp(-z)
	x := 1 / (1 + e)
	l := log1pSmall(e)
	return Point{x, e * x, -l, -z - l}
}

// Logistic returns the X and the Y of AtLogit(z).
func Logistic(z float64) (x, y float64) {
	e := math.Exp(-math.Abs(z))
	x = 1 / (1 + e)
	y = e * x
	if z <= 0 {
		return y, x
	}
	return x, y
}

// log1pSmall is ln(1+e) for e in [0, 1]. It corrects the rounding of 1+e as
// Kahan's log1p does, with the faster math.Log.
func log1pSmall(e float64) float64 {
	u := 1 + e
	if u == 1 {
		return e
	}
	return math.Log(u) + (e-(u-1))/u
}
