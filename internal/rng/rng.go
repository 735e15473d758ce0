// Package rng implements counter-based random numbers: every number is a pure
// function of a seed, a purpose and a place (epoch, step, item …), so that
// results never depend on the order in which goroutines run, and checkpoints
// contain no generator state.
//
// The generator is Philox 4×32-10 (Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", 2011). A [Stream] is a
// math/rand/v2.Source, so all of that package's distributions are available:
//
//	r := rand.New(rng.New(seed, "dropout", epoch, step, item))
//	x := r.NormFloat64()
package rng

import "math/bits"

// Stream is one sequence of random numbers. Streams made from different
// arguments of [New] are independent for all practical purposes.
type Stream struct {
	// The key and the counter as 64-bit words: a word that was written in two halves cannot
	// be loaded whole until both stores have reached the cache.
	key, low, high uint64
	buf            [2]uint64
	have           int // numbers left in buf
}

// New returns the stream of the given seed, purpose and place. The same
// arguments always give the same stream, on every machine.
func New(seed uint64, purpose string, place ...uint64) *Stream {
	s := &Stream{}
	s.Reset(seed, purpose, place...)
	return s
}

// Reset sets s to the stream that New would return, without allocating.
func (s *Stream) Reset(seed uint64, purpose string, place ...uint64) {
	At(seed, purpose, place...).set(s)
}

// Place is a seed, a purpose and a place, or a prefix of a place.
type Place struct {
	hash   uint64
	length int
}

// At returns the place of the given seed and purpose.
func At(seed uint64, purpose string, place ...uint64) Place {
	h := mix(seed ^ 0x9e3779b97f4a7c15)
	for i := 0; i < len(purpose); i++ {
		h = mix(h ^ uint64(purpose[i]))
	}
	h = mix(h ^ uint64(len(purpose))<<32)
	for _, p := range place {
		h = mix(h ^ mix(p+0x632be59bd9b4e019))
	}
	return Place{h, len(place)}
}

// Stream sets s to the stream that New would return for p with last appended.
func (p Place) Stream(s *Stream, last uint64) {
	Place{mix(p.hash ^ mix(last+0x632be59bd9b4e019)), p.length + 1}.set(s)
}

// set sets s to the stream of p: purpose and place are hashed into a key and a counter
// offset of 64 bits each; the low 64 bits of the counter run along the stream.
func (p Place) set(s *Stream) {
	g := mix(p.hash ^ 0xd1b54a32d192ed03 ^ uint64(p.length))
	s.key, s.low, s.high, s.have = p.hash, 0, g, 0
}

// Uint64 returns the next 64 random bits.
func (s *Stream) Uint64() uint64 {
	if s.have == 0 {
		b := Philox([2]uint32{uint32(s.key), uint32(s.key >> 32)},
			[4]uint32{uint32(s.low), uint32(s.low >> 32), uint32(s.high), uint32(s.high >> 32)})
		s.buf[1] = uint64(b[1])<<32 | uint64(b[0])
		s.buf[0] = uint64(b[3])<<32 | uint64(b[2])
		s.have = 2
		s.low++
	}
	s.have--
	return s.buf[s.have]
}

// Skip passes over n blocks of two numbers and returns the key and both halves of the
// counter of the first, each two words of [Philox], for callers that compute many blocks
// at once. Numbers left from the previous block are dropped, so s should be new or at the
// end of a block.
func (s *Stream) Skip(n uint64) (key, low, high uint64) {
	low = s.low
	s.low, s.have = low+n, 0
	return s.key, low, s.high
}

// Float64 returns a uniform number in [0, 1) with 53 random bits.
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Philox is the Philox 4×32-10 block function: 128 random bits that depend on
// nothing but key and counter.
func Philox(key [2]uint32, ctr [4]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	k0, k1 := key[0], key[1]
	for range 10 {
		h0, l0 := bits.Mul32(m0, ctr[0])
		h1, l1 := bits.Mul32(m1, ctr[2])
		ctr = [4]uint32{h1 ^ ctr[1] ^ k0, l1, h0 ^ ctr[3] ^ k1, l0}
		k0 += w0
		k1 += w1
	}
	return ctr
}

// mix is the finalizer of SplitMix64: a bijection in which every input bit
// reaches every output bit.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
