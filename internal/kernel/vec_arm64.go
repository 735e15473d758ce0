//go:build !purego

package kernel

import "credence/internal/rng"

func sumOfNEON(x []float32) (sum float64) {
	sumNEON(&sum, first(x), len(x))
	return sum
}

func sumSqOfNEON(x []float32) (sum float64) {
	sumSqNEON(&sum, first(x), len(x))
	return sum
}

func centredDotOfNEON(g, x []float32, mean float32) (sum float64) {
	centredDotNEON(&sum, first(g), first(x), mean, len(g))
	return sum
}

// maskBlocksNEON is maskGeneric, sixteen numbers at a time.
func maskBlocksNEON(keep []float32, s *rng.Stream, limit uint32, scale float32) {
	if n := len(keep) / 16; n > 0 {
		key, low, high := s.Skip(4 * uint64(n))
		maskNEON(&keep[0], n, key, low, high, int(limit), scale)
		keep = keep[16*n:]
	}
	maskGeneric(keep, s, limit, scale)
}
