package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func maskGroup() {
	maskAVX2()
	maskAVX512()
}

// argument is where a parameter lies.
func argument(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// maskAVX2 draws four blocks of Philox 4×32-10 at a time, one in each quarter of a
// register: a word of a block is the lower half of its 64 bits, and what is above
// counts for nothing, since VPMULUDQ multiplies lower halves.
func maskAVX2() {
	function("maskAVX2", "func(keep *float32, n int, key0, key1, low, high uint64, limit int, scale float32)",
		"maskAVX2 computes, for j < 4n (n ≥ 1) with b = Philox(key0, key1, low + j, high), low and high",
		"two words each,",
		"",
		"\tkeep[4*j+i] = b[i^1] >= limit ? scale : 0,   i < 4")
	table := func(name string, v func(i int) uint64) Mem {
		m := GLOBL(name, RODATA|NOPTR)
		for i := range 4 {
			DATA(8*i, U64(v(i)))
		}
		return m
	}
	all := func(name string, v uint64) Mem { return table(name, func(int) uint64 { return v }) }
	m0, m1 := all("maskM0", 0xD2511F53), all("maskM1", 0xCD9E8D57)
	w0, w1 := all("maskW0", 0x9E3779B9), all("maskW1", 0xBB67AE85)
	four, steps := all("maskFour", 4), table("maskSteps", func(i int) uint64 { return uint64(i) })
	keep, n := loadGP("keep"), loadGP("n")
	Comment("The key, the four counters, and the two words above them.")
	key0, key1, at, top := YMM(), YMM(), YMM(), YMM()
	VPBROADCASTD(argument("key0"), key0)
	VPBROADCASTD(argument("key1"), key1)
	VPBROADCASTQ(argument("low"), at)
	VPADDQ(steps, at, at)
	VPBROADCASTQ(argument("high"), top)
	limit, scale := YMM(), YMM()
	broadcastInt("limit", limit)
	VBROADCASTSS(argument("scale"), scale)

	Label("four")
	c := ymms(4)
	VMOVDQA(at, c[0])
	VPSRLQ(Imm(32), at, c[1])
	VMOVDQA(top, c[2])
	VPSRLQ(Imm(32), top, c[3])
	VPADDQ(four, at, at)
	k0, k1 := YMM(), YMM()
	VMOVDQA(key0, k0)
	VMOVDQA(key1, k1)
	for round := range 10 {
		if round > 0 {
			VPADDD(w0, k0, k0)
			VPADDD(w1, k1, k1)
		}
		p0, p1 := YMM(), YMM()
		VPMULUDQ(m0, c[0], p0)
		VPMULUDQ(m1, c[2], p1)
		VPSRLQ(Imm(32), p1, c[0])
		VPSRLQ(Imm(32), p0, c[2])
		VPXOR(c[1], c[0], c[0])
		VPXOR(c[3], c[2], c[2])
		VPXOR(k0, c[0], c[0])
		VPXOR(k1, c[2], c[2])
		c[1], c[3] = p1, p0
	}
	Comment("Words 1, 0, 3, 2 of each block in order.")
	first, second, lo, hi := YMM(), YMM(), YMM(), YMM()
	VPSLLQ(Imm(32), c[0], c[0])
	VPSLLQ(Imm(32), c[2], c[2])
	VPBLENDD(Imm(0xaa), c[0], c[1], first)
	VPBLENDD(Imm(0xaa), c[2], c[3], second)
	VPUNPCKLQDQ(second, first, lo)
	VPUNPCKHQDQ(second, first, hi)
	VPERM2I128(Imm(0x20), hi, lo, first)
	VPERM2I128(Imm(0x31), hi, lo, second)
	for i, v := range []VecVirtual{first, second} {
		t := YMM()
		VPMAXUD(limit, v, t)
		VPCMPEQD(t, v, t)
		VPAND(scale, t, t)
		VMOVUPS(t, Mem{Base: keep, Disp: 32 * i})
	}
	ADDQ(Imm(64), keep)
	DECQ(n)
	JNZ(LabelRef("four"))
	VZEROUPPER()
	RET()
}

// maskAVX512 draws eight blocks at a time in the same way.
func maskAVX512() {
	function("maskAVX512", "func(keep *float32, n int, key0, key1, low, high uint64, limit int, scale float32)",
		"maskAVX512 is maskAVX2 for j < 8n.")
	table := func(name string, v func(i int) uint64) VecVirtual {
		m := GLOBL(name, RODATA|NOPTR)
		for i := range 8 {
			DATA(8*i, U64(v(i)))
		}
		z := ZMM()
		VMOVDQU64(m, z)
		return z
	}
	all := func(name string, v uint64) VecVirtual { return table(name, func(int) uint64 { return v }) }
	m0, m1 := all("maskM0x8", 0xD2511F53), all("maskM1x8", 0xCD9E8D57)
	w0, w1 := all("maskW0x8", 0x9E3779B9), all("maskW1x8", 0xBB67AE85)
	eight, lower := all("maskEight", 8), all("maskLower", 1<<32-1)
	at := table("maskSteps8", func(i int) uint64 { return uint64(i) })
	// The blocks of two registers in order, two quarters of each.
	order := func(first uint64) func(i int) uint64 {
		return func(i int) uint64 { return first + uint64(i/4*2+i%2+i%4/2*8) }
	}
	low, high := table("maskFirst", order(0)), table("maskSecond", order(4))
	key0, key1, start, top, limit, scale := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VPBROADCASTD(argument("key0"), key0)
	VPBROADCASTD(argument("key1"), key1)
	VPBROADCASTQ(argument("low"), start)
	VPADDQ(start, at, at)
	VPBROADCASTQ(argument("high"), top)
	VPBROADCASTD(argument("limit"), limit)
	VBROADCASTSS(argument("scale"), scale)
	keep, n := loadGP("keep"), loadGP("n")

	const xor3, joined = 0x96, 0xea // of three operands: their xor; the first and the second, or the third
	Label("eight")
	c := zmms(4)
	VMOVDQA64(at, c[0])
	VPSRLQ(Imm(32), at, c[1])
	VMOVDQA64(top, c[2])
	VPSRLQ(Imm(32), top, c[3])
	VPADDQ(eight, at, at)
	k0, k1 := ZMM(), ZMM()
	VMOVDQA64(key0, k0)
	VMOVDQA64(key1, k1)
	for round := range 10 {
		if round > 0 {
			VPADDD(w0, k0, k0)
			VPADDD(w1, k1, k1)
		}
		p0, p1 := ZMM(), ZMM()
		VPMULUDQ(m0, c[0], p0)
		VPMULUDQ(m1, c[2], p1)
		VPSRLQ(Imm(32), p1, c[0])
		VPSRLQ(Imm(32), p0, c[2])
		VPTERNLOGD(U8(xor3), k0, c[1], c[0])
		VPTERNLOGD(U8(xor3), k1, c[3], c[2])
		c[1], c[3] = p1, p0
	}
	Comment("Words 1, 0, 3, 2 of each block in order.")
	VPSLLQ(Imm(32), c[0], c[0])
	VPSLLQ(Imm(32), c[2], c[2])
	VPTERNLOGQ(U8(joined), c[0], lower, c[1])
	VPTERNLOGQ(U8(joined), c[2], lower, c[3])
	even, odd := ZMM(), ZMM()
	VPUNPCKLQDQ(c[3], c[1], even)
	VPUNPCKHQDQ(c[3], c[1], odd)
	for i, index := range []VecVirtual{low, high} {
		v, t, k := ZMM(), ZMM(), K()
		VMOVDQA64(even, v)
		VPERMT2Q(odd, index, v)
		VPCMPUD(Imm(5), limit, v, k) // not less than
		VMOVAPS_Z(scale, k, t)
		VMOVUPS(t, Mem{Base: keep, Disp: 64 * i})
	}
	ADDQ(U32(128), keep)
	DECQ(n)
	JNZ(LabelRef("eight"))
	VZEROUPPER()
	RET()
}
