package head

import "math"

// exp replaces each x by exp(x).
func exp(x []float32) {
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v)))
	}
}
