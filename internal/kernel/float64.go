package kernel

// The two functions below are a linear model's in float64: values for all
// classes, and what an item adds to the gradients. They give the bits of
//
//	s0 += w[k]·x[k] for k = 0, 4, 8, …;  s1, s2, s3 from k = 1, 2, 3;  the last
//	len(x) mod 4 products to s0;  then (s0 + s1) + (s2 + s3)
//	y[k] += a[r]·x[r, k]  for r = 0, 1, …
//
// in every implementation, with every product and sum rounded.

// Dots64 sets dst [d] to the products of the rows of w [d, n] with x [n].
func Dots64(dst, w, x []float64) {
	if len(w) < len(dst)*len(x) {
		panic("kernel: Dots64: slice too short")
	}
	active.dots64(dst, w, x)
}

// AddRows64 adds the rows of x, ld apart and each as long as y, to y, multiplied
// by a, one after the other.
func AddRows64(y, a, x []float64, ld int) {
	if len(a) > 0 && len(x) < (len(a)-1)*ld+len(y) {
		panic("kernel: AddRows64: slice too short")
	}
	active.addRows64(y, a, x, ld)
}

// Dot64 returns Σ a_i b_i.
func Dot64(a, b []float64) float64 {
	var sum [1]float64
	Dots64(sum[:], a, b)
	return sum[0]
}

// Axpy64 adds a·x to y.
func Axpy64(a float64, x, y []float64) { AddRows64(y[:len(x)], []float64{a}, x, len(x)) }

func dots64Generic(dst, w, x []float64) {
	for c := range dst {
		dst[c] = dot64(w[c*len(x):(c+1)*len(x)], x)
	}
}

func dot64(w, x []float64) float64 {
	var s0, s1, s2, s3 float64
	w = w[:len(x)]
	for len(x) >= 4 && len(w) >= 4 {
		s0 += float64(w[0] * x[0])
		s1 += float64(w[1] * x[1])
		s2 += float64(w[2] * x[2])
		s3 += float64(w[3] * x[3])
		w, x = w[4:], x[4:]
	}
	for k, v := range x {
		s0 += float64(w[k] * v)
	}
	return (s0 + s1) + (s2 + s3)
}

func addRows64Generic(y, a, x []float64, ld int) {
	for r, f := range a {
		for k, v := range x[r*ld:][:len(y)] {
			y[k] += float64(f * v)
		}
	}
}
