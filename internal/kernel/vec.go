package kernel

import (
	"math"

	"credence/internal/rng"
)

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

// Claim starts to load x into the cache to be written, without waiting for it: for memory that other cores have read since this
// one wrote it. Stores take turns in taking their lines back, claims do so together.
func Claim(x []float32) {
	if len(x) > 0 {
		active.claim(x)
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

// Normalize computes y[i] = (x[i] − mean)·a + b. y may be x.
func Normalize(y, x []float32, mean, a, b float32) {
	sameLen(len(y), len(x), len(x))
	active.norm(y, x, mean, a, b)
}

// NormGrad are the numbers of the gradient of a normalization.
type NormGrad struct {
	Mean, Inv float32 // as subtracted from x and multiplied by
	Scale     float32 // of the whole
	A, B      float32 // means of dy and of dy·x̂ over the batch
}

// Apply computes the input gradient, with x̂ = (x − Mean)·Inv:
//
//	dx[i] = Scale·(dy[i] − A − x̂[i]·B)
//
// dx may be dy.
func (p *NormGrad) Apply(dx, dy, x []float32) {
	sameLen(len(dx), len(dy), len(x))
	active.normGrad(dx, dy, x, p)
}

// CentredDot returns Σ g[i]·(x[i] − mean): the difference in float32, products
// and sums in float64, in the order of Sum.
func CentredDot(g, x []float32, mean float32) float64 {
	sameLen(len(g), len(x), len(x))
	return active.centredDot(g, x, mean)
}

func normGeneric(y, x []float32, mean, a, b float32) {
	for i, v := range x {
		y[i] = float32((v-mean)*a) + b
	}
}

func normGradGeneric(dx, dy, x []float32, p *NormGrad) {
	for i, g := range dy {
		dx[i] = p.Scale * (g - p.A - float32((x[i]-p.Mean)*p.Inv*p.B))
	}
}

func centredDotGeneric(g, x []float32, mean float32) float64 {
	var p [sumLanes]float64
	for i, v := range g {
		p[i%sumLanes] += float64(v) * float64(x[i]-mean)
	}
	return foldLanes(&p)
}

// Mask draws the values that dropout keeps, from the 32-bit random numbers of s:
//
//	keep[i] = scale if number i ≥ limit, otherwise 0
//
// Of 64 bits of s the upper half comes first. s is used up: it may be left
// anywhere.
func Mask(keep []float32, s *rng.Stream, limit uint32, scale float32) {
	active.mask(keep, s, limit, scale)
}

func maskGeneric(keep []float32, s *rng.Stream, limit uint32, scale float32) {
	for i := 0; i < len(keep); i += 2 {
		u := s.Uint64()
		keep[i] = 0
		if uint32(u>>32) >= limit {
			keep[i] = scale
		}
		if i+1 < len(keep) {
			keep[i+1] = 0
			if uint32(u) >= limit {
				keep[i+1] = scale
			}
		}
	}
}

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

// Activation names an elementwise function.
type Activation uint8

// The activations. All but GELU are non-decreasing.
const (
	Identity Activation = iota
	ReLU                // max(x, 0)
	Tanh                // tanh x
	Sigmoid             // 1/(1 + e⁻ˣ)
	GELU                // x·Φ(x) = ½x(1 + erf(x/√2)), the exact form, to about 1e-6
)

// activations are the functions and their gradients, by their Activation.
type activations [GELU + 1]struct {
	forward  func(y, x []float32)
	backward func(dx, dy, ref []float32)
}

var activationsGeneric = activations{
	Identity: {func(y, x []float32) { copy(y, x) }, func(dx, dy, _ []float32) { copy(dx, dy) }},
	ReLU:     {reluGeneric, reluGradGeneric},
	Tanh:     {eachGeneric(math.Tanh), tanhGradGeneric},
	Sigmoid:  {eachGeneric(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), sigmoidGradGeneric},
	GELU:     {eachGeneric(func(x float64) float64 { return x * normCDF(x) }), geluGradGeneric},
}

// eachGeneric returns the function that computes dst[i] = f(x[i]) in float64.
func eachGeneric(f func(float64) float64) func(dst, x []float32) {
	return func(dst, x []float32) {
		for i, v := range x {
			dst[i] = float32(f(float64(v)))
		}
	}
}

// Forward computes y[i] = a(x[i]). y may be x.
func (a Activation) Forward(y, x []float32) {
	sameLen(len(y), len(x), len(x))
	active.act[a].forward(y, x)
}

// Backward computes dx[i] = dy[i]·a′(x[i]). ref is the output y = a(x) for
// every activation but GELU, for which it is the input x (see NeedsInput).
// dx may be dy.
//
//	ReLU     dy if y > 0, else 0
//	Tanh     dy·(1 − y²)
//	Sigmoid  dy·y(1 − y)
//	GELU     dy·(Φ(x) + x·φ(x))
func (a Activation) Backward(dx, dy, ref []float32) {
	sameLen(len(dx), len(dy), len(ref))
	active.act[a].backward(dx, dy, ref)
}

// NeedsInput reports whether Backward takes the input of the activation
// rather than its output.
func (a Activation) NeedsInput() bool { return a == GELU }

// Monotone reports whether the activation is non-decreasing, which the fused
// convolution and max-pool requires.
func (a Activation) Monotone() bool { return a <= Sigmoid }

// reluGeneric keeps -0 and NaN, as the assembly's max(0, x) does.
func reluGeneric(dst, x []float32) {
	for i, v := range x {
		if v < 0 {
			v = 0
		}
		dst[i] = v
	}
}

func reluGradGeneric(dx, dy, y []float32) {
	for i, g := range dy {
		if !(y[i] > 0) {
			g = 0
		}
		dx[i] = g
	}
}

func tanhGradGeneric(dx, dy, y []float32) {
	for i, g := range dy {
		dx[i] = g * (1 - float32(y[i]*y[i]))
	}
}

func sigmoidGradGeneric(dx, dy, y []float32) {
	for i, g := range dy {
		dx[i] = g * float32(y[i]*(1-y[i]))
	}
}

func geluGradGeneric(dx, dy, x []float32) {
	const invSqrt2Pi = 0.3989422804014327
	for i, g := range dy {
		v := float64(x[i])
		dx[i] = g * float32(normCDF(v)+v*invSqrt2Pi*math.Exp(-v*v/2))
	}
}

// normCDF is Φ(x), the standard normal distribution function.
func normCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// Exp computes dst[i] = exp(x[i]) within 2 ulp; overflow gives +Inf, underflow
// 0 (results below the smallest normal number may be flushed to 0). dst may
// be x.
func Exp(dst, x []float32) {
	sameLen(len(dst), len(x), len(x))
	active.exp(dst, x)
}
