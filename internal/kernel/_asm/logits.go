package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// chunk16 calls f with a mask of the lanes of each 16 values that are left of n, and advances the pointers after it.
func chunk16(label string, n GPVirtual, f func(live Register), pointers ...GPVirtual) {
	live, all := K(), GP64()
	Label(label)
	Comment("all 16 lanes, or the first n")
	bits := GP64()
	MOVQ(U32(1<<16-1), all)
	MOVQ(U64(1<<64-1), bits)
	BZHIQ(n, bits, bits)
	CMPQ(n, Imm(16))
	CMOVQGT(all, bits)
	KMOVW(bits.As32(), live)
	f(live)
	for _, p := range pointers {
		ADDQ(Imm(64), p)
	}
	SUBQ(Imm(16), n)
	JG(LabelRef(label))
}

// broadcast32 returns a float32 parameter in all lanes.
func broadcast32(name string) VecVirtual {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := ZMM()
	VBROADCASTSS(c.Addr, v)
	return v
}

// constant32 returns a number in all lanes.
func constant32(bits uint32) VecVirtual {
	r, v := GP32(), ZMM()
	MOVL(U32(bits), r)
	VPBROADCASTD(r, v)
	return v
}

// clampLogits generates the preparation of raw outputs for exponentials.
func clampLogits() {
	function("clampLogitsAVX512", "func(dst, x *float32, k, n, rows int, limit float32) int",
		"clampLogitsAVX512 computes clampLogitsGeneric for rows > 0 of n values (n > k ≥ 1).")
	outside := GP64()
	XORQ(outside, outside)
	Label("row")
	x, n := loadGP("x"), loadGP("k")
	Comment("the largest of the first k")
	top := constant32(math.Float32bits(float32(math.Inf(-1))))
	chunk16("largest", n, func(live Register) {
		v := ZMM()
		VMOVAPS(top, v)
		VMOVUPS(Mem{Base: x}, live, v)
		VMAXPS(v, top, top)
	}, x)
	half, quarter, s := YMM(), XMM(), XMM()
	VEXTRACTF64X4(Imm(1), top, half)
	VMAXPS(top.AsY(), half, half)
	VEXTRACTF128(Imm(1), half, quarter)
	VMAXPS(half.AsX(), quarter, quarter)
	for _, order := range []uint64{0b01001110, 0b10110001} {
		VPERMILPS(Imm(order), quarter, s)
		VMAXPS(s, quarter, quarter)
	}
	VBROADCASTSS(quarter, top)
	Comment("less it, but at least -80; NaN stays NaN")
	least := constant32(math.Float32bits(-80))
	dst := loadGP("dst")
	x, n = loadGP("x"), loadGP("k")
	chunk16("shift", n, func(live Register) {
		v := ZMM()
		VMOVUPS_Z(Mem{Base: x}, live, v)
		VSUBPS(top, v, v)
		VMAXPS(v, least, v)
		VMOVUPS(v, live, Mem{Base: dst})
	}, x, dst)
	Comment("the others between -limit and limit")
	limit, size := broadcast32("limit"), constant32(1<<31-1)
	low := constant32(1 << 31)
	VPORD(limit, low, low)
	k := loadGP("k")
	x, dst, n = loadGP("x"), loadGP("dst"), loadGP("n")
	LEAQ(Mem{Base: x, Index: k, Scale: 4}, x)
	LEAQ(Mem{Base: dst, Index: k, Scale: 4}, dst)
	SUBQ(k, n)
	chunk16("clamp", n, func(live Register) {
		v, a, beyond, count := ZMM(), ZMM(), K(), GP64()
		VMOVUPS_Z(Mem{Base: x}, live, v)
		VPANDD(size, v, a)
		VCMPPS(Imm(0x1e), limit, a, beyond)
		KMOVW(beyond, count.As32())
		POPCNTQ(count, count)
		ADDQ(count, outside)
		VMINPS(v, limit, v)
		VMAXPS(v, low, v)
		VMOVUPS(v, live, Mem{Base: dst})
	}, x, dst)
	nextRow("n", "dst", "x")
	Store(outside, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// nextRow advances the parameters to the next row of so many values, and jumps to it while there is one.
func nextRow(width string, pointers ...string) {
	n := loadGP(width)
	for _, name := range pointers {
		p := loadGP(name)
		LEAQ(Mem{Base: p, Index: n, Scale: 4}, p)
		Store(p, Param(name))
	}
	rows := loadGP("rows")
	DECQ(rows)
	Store(rows, Param("rows"))
	JNZ(LabelRef("row"))
}

// stopGradients generates the removal of gradients that lead further out.
func stopGradients() {
	function("stopGradientsAVX512", "func(grad, x *float32, k, n, rows int, limit float32)",
		"stopGradientsAVX512 computes stopGradientsGeneric for rows > 0 of n values (n > k ≥ 1).")
	limit, size, zero := broadcast32("limit"), constant32(1<<31-1), ZMM()
	VPXORD(zero, zero, zero)
	Label("row")
	grad, x, n, k := loadGP("grad"), loadGP("x"), loadGP("n"), loadGP("k")
	LEAQ(Mem{Base: x, Index: k, Scale: 4}, x)
	LEAQ(Mem{Base: grad, Index: k, Scale: 4}, grad)
	SUBQ(k, n)
	chunk16("stop", n, func(live Register) {
		v, g, a, beyond, out := ZMM(), ZMM(), ZMM(), K(), K()
		Comment("beyond the limit, and of the other sign than the gradient")
		VMOVUPS_Z(Mem{Base: x}, live, v)
		VMOVUPS_Z(Mem{Base: grad}, live, g)
		VPANDD(size, v, a)
		VCMPPS(Imm(0x1e), limit, a, beyond)
		VPXORD(v, g, g)
		VPMOVD2M(g, out)
		KANDW(out, beyond, out)
		VMOVUPS(zero, out, Mem{Base: grad})
	}, x, grad)
	nextRow("n", "grad", "x")
	VZEROUPPER()
	RET()
}
