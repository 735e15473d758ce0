//go:build !purego

package kernel

import "credence/internal/rng"

// mask8 is maskGeneric, sixteen numbers at a time.
func mask8(keep []float32, s *rng.Stream, limit uint32, scale float32) {
	if n := len(keep) / 16; n > 0 {
		key, low, high := s.Skip(4 * uint64(n))
		maskAVX2(&keep[0], n, key, key>>32, low, high, int(limit), scale)
		keep = keep[16*n:]
	}
	maskGeneric(keep, s, limit, scale)
}

// mask16 is maskGeneric, 32 numbers at a time.
func mask16(keep []float32, s *rng.Stream, limit uint32, scale float32) {
	if n := len(keep) / 32; n > 0 {
		key, low, high := s.Skip(8 * uint64(n))
		maskAVX512(&keep[0], n, key, key>>32, low, high, int(limit), scale)
		keep = keep[32*n:]
	}
	mask8(keep, s, limit, scale)
}
