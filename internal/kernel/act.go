package kernel

import "math"

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
