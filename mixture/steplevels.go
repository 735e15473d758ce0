package mixture

import (
	"math"
	"math/bits"
)

// stepLevels finds, for each of up to 64 buckets, the smallest of the steps that were required in ranges of buckets. Steps are
// rounded down to levels, 32 for each power of two, and each level has a set of buckets as the bits of a number, so that a range
// costs the same however long it is. The zero value is ready for use.
type stepLevels struct {
	buckets [stepLevelCount]uint64 // 0 for levels that are not used
	used    [stepLevelCount / 64]uint64
}

const (
	// stepLevelCount is the number of levels; the last is that of all steps from 7.875, the first that of all below 2⁻²⁹, which is
	// shorter than any table can have.
	stepLevelCount = 1024
	// stepLevelBits are the bits of a number that do not determine its level, stepLevelFirst the others of 2⁻²⁹.
	stepLevelBits, stepLevelFirst = 52 - 5, (1023 - 29) << 5
)

// require requires a positive step in buckets from … to, 0 ≤ from ≤ to < 64, if sign is negative. It has no branches,
// because whether a range is empty is hard to predict.
func (s *stepLevels) require(from, to int, step, sign float64) {
	level := min(max(int(math.Float64bits(step)>>stepLevelBits)-stepLevelFirst, 0), stepLevelCount-1)
	some := uint64(int64(math.Float64bits(sign)) >> 63)
	s.buckets[level] |= (2<<uint(to&63) - 1<<uint(from&63)) & some
	s.used[level/64] |= 1 << (level % 64) & some
}

// fill sets those of at most 64 buckets in which steps were required, and makes s ready for the next use. Steps of the first
// level are 0.
func (s *stepLevels) fill(buckets []float64) {
	left := ^uint64(0) >> (64 - len(buckets)) // buckets that are not set yet
	for word, used := range s.used {
		for ; used != 0; used &= used - 1 {
			level := word*64 + bits.TrailingZeros64(used)
			step := math.Float64frombits(uint64(level+stepLevelFirst) << stepLevelBits)
			if level == 0 {
				step = 0
			}
			for fresh := s.buckets[level] & left; fresh != 0; fresh &= fresh - 1 {
				buckets[bits.TrailingZeros64(fresh)] = step
			}
			left &^= s.buckets[level]
			s.buckets[level] = 0
		}
		s.used[word] = 0
	}
}
