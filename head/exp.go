package head

import "credence/internal/kernel"

// exp sets each y to exp(x); y may be x.
func exp(y, x []float32) { kernel.Exp(y, x) }
