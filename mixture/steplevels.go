package mixture

import (
	"math"
	"math/bits"
)

// stepLevels finds, for each of up to 64 buckets, the smallest of the steps that were required in ranges of buckets. Steps are
// sorted into levels, eight for each power of two, and each level has a set of buckets as the bits of a number, so that a range
// costs the same however long it is. All steps of a level count as the smallest of them. The zero value is ready for use.
type stepLevels struct {
	buckets [stepLevelCount]uint64
	least   [stepLevelCount]float64 // of the steps of a level
	used    [stepLevelCount / 64]uint64
}

// stepLevelCount is the number of levels; the last is that of steps from 7.5, the first that of all below 2⁻²⁹.
const stepLevelCount = 256

// require requires a positive step in buckets from … to−1, to ≤ 64.
func (s *stepLevels) require(from, to int, step float64) {
	const first = (1023 - 29) << 3 // the level of 2⁻²⁹ before it is shifted
	level := min(max(int(math.Float64bits(step)>>49)-first, 0), stepLevelCount-1)
	bit := uint64(1) << (level % 64)
	if used := &s.used[level/64]; *used&bit == 0 {
		*used |= bit
		s.buckets[level], s.least[level] = 0, step
	}
	s.buckets[level] |= (uint64(1)<<uint(to-from) - 1) << uint(from)
	s.least[level] = min(s.least[level], step)
}

// fill sets the buckets in which steps were required, and makes s ready for the next use.
func (s *stepLevels) fill(buckets []float64) {
	done := uint64(0)
	for word, used := range s.used {
		for ; used != 0; used &= used - 1 {
			level := word*64 + bits.TrailingZeros64(used)
			fresh := s.buckets[level] &^ done
			done |= fresh
			for step := s.least[level]; fresh != 0; fresh &= fresh - 1 {
				buckets[bits.TrailingZeros64(fresh)] = step
			}
		}
		s.used[word] = 0
	}
}
