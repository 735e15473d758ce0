package kernel

import "credence/internal/rng"

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
