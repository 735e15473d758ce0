package rng

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The three known answers published with Random123 (kat_vectors, philox4x32
// with 10 rounds).
func TestPhiloxKnownAnswers(t *testing.T) {
	const f = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{f, f, f, f}, [2]uint32{f, f}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.key, c.ctr); got != c.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", c.key, c.ctr, got, c.want)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	add := func(name string, s *Stream) {
		v := s.Uint64()
		if o, ok := seen[v]; ok {
			t.Errorf("%s and %s begin alike", name, o)
		}
		seen[v] = name
	}
	add("seed 1", New(1, "a"))
	add("seed 2", New(2, "a"))
	add("purpose", New(1, "b"))
	add("place 0", New(1, "a", 0))
	add("place 0 0", New(1, "a", 0, 0))
	add("place 1", New(1, "a", 1))
	add("place 0 1", New(1, "a", 0, 1))
	add("place 1 0", New(1, "a", 1, 0))
	a, b := New(7, "x", 3), New(7, "x", 3)
	for range 100 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("equal arguments gave different streams")
		}
	}
}

// Mean and variance over 4e5 uniforms taken from many short streams, as the
// engine draws them. False-alarm rate about 1e-6 (5 standard errors).
func TestUniformAcrossStreams(t *testing.T) {
	const n = 400000
	var sum, sq float64
	for i := range uint64(n / 4) {
		r := rand.New(New(1, "test", i))
		for range 4 {
			u := r.Float64()
			sum += u
			sq += (u - 0.5) * (u - 0.5)
		}
	}
	if d := math.Abs(sum/n - 0.5); d > 5*math.Sqrt(1.0/12/n) {
		t.Errorf("mean is off by %g", d)
	}
	if d := math.Abs(sq/n - 1.0/12); d > 5*math.Sqrt(1.0/180/n) {
		t.Errorf("variance is off by %g", d)
	}
}

func BenchmarkUint64(b *testing.B) {
	s := New(1, "bench")
	for b.Loop() {
		s.Uint64()
	}
}

// TestSkip: the numbers after n blocks are those that follow 2n numbers.
func TestSkip(t *testing.T) {
	a, b := New(1, "x"), New(1, "x")
	key, low, high := a.Skip(5)
	first := Philox([2]uint32{uint32(key), uint32(key >> 32)},
		[4]uint32{uint32(low), uint32(low >> 32), uint32(high), uint32(high >> 32)})
	if u := b.Uint64(); u != uint64(first[1])<<32|uint64(first[0]) {
		t.Errorf("the block that Skip returns begins with %x, not %x", first, u)
	}
	for range 9 {
		b.Uint64()
	}
	for i := range 5 {
		if x, y := a.Uint64(), b.Uint64(); x != y {
			t.Fatalf("number %d after 5 blocks is %x, want %x", i, x, y)
		}
	}
	a.Skip(1<<32 - 8) // runs over the lower word
	if a.low != 1<<32 {
		t.Errorf("counter %v after 2³² blocks", a.low)
	}
}

// TestPlace: a stream from the beginning of a place is that of the whole place.
func TestPlace(t *testing.T) {
	at := At(5, "dropout", 1, 2)
	for last := range uint64(3) {
		var got Stream
		got.Uint64() // what is left of an earlier stream does not matter
		at.Stream(&got, last)
		want := New(5, "dropout", 1, 2, last)
		for i := range 5 {
			if x, y := got.Uint64(), want.Uint64(); x != y {
				t.Fatalf("last %d: number %d is %x, want %x", last, i, x, y)
			}
		}
	}
}
