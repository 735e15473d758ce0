package kernel

import "time"

// Peak measures the multiply-add peak of one core with the active
// implementation's vectors, in floating-point operations a second: the best of
// several short loops that touch registers only. The reference has no vectors;
// its peak is that of a scalar multiply and add.
func Peak() float64 {
	const rounds = 1 << 16
	best := 0.0
	for range 40 {
		start := time.Now()
		flops := active.peak(rounds)
		best = max(best, float64(flops)/time.Since(start).Seconds())
	}
	return best
}

// peakGeneric does n rounds of eight independent multiply-adds and returns the
// number of operations.
func peakGeneric(n int) int {
	a := peakSink
	b, c, d, e, f, g, h := a, a, a, a, a, a, a
	for range n {
		a, b, c, d = a*a+a, b*b+b, c*c+c, d*d+d
		e, f, g, h = e*e+e, f*f+f, g*g+g, h*h+h
	}
	peakSink = a + b + c + d + e + f + g + h
	return 16 * n
}

var peakSink float32
