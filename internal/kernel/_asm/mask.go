package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// mask draws four blocks of Philox 4×32-10 at a time, one in each quarter of a
// register: a word of a block is the lower half of its 64 bits, and what is above
// counts for nothing, since VPMULUDQ multiplies lower halves.
func mask() {
	function("maskAVX2", "func(keep *float32, n int, key *[2]uint32, ctr *[4]uint32, limit int, scale float32)",
		"maskAVX2 computes, for j < 4n (n ≥ 1) with b = Philox(key, ctr + j), the counter 64 bits wide,",
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
	keep, n, key, ctr := loadGP("keep"), loadGP("n"), loadGP("key"), loadGP("ctr")
	Comment("The key, the four counters, and the two words above them.")
	key0, key1, at, top := YMM(), YMM(), YMM(), YMM()
	VPBROADCASTD(Mem{Base: key}, key0)
	VPBROADCASTD(Mem{Base: key, Disp: 4}, key1)
	VPBROADCASTQ(Mem{Base: ctr}, at)
	VPADDQ(steps, at, at)
	VPBROADCASTQ(Mem{Base: ctr, Disp: 8}, top)
	limit, scale := YMM(), YMM()
	broadcastInt("limit", limit)
	address, err := Param("scale").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(address.Addr, scale)

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
