package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// winners compares eight windows at a time with one output row, and moves those
// whose maximum lies in it, with a gradient that is not zero, to the front.
func winners(table Mem) {
	function("winnersAVX2", "func(pos *int32, sel, grad *float32, arg *int32, n, nz, ph int, rowPos *int32, lo, width, stride int, compress *uint64) int",
		"winnersAVX2 computes, for z < nz and h < ph with r = z*ph+h, and j < n, in order (none of them 0),",
		"",
		"\tl = arg[z*n+j] - (lo + r*width)",
		"\tif 0 <= l && l < width && grad[z*n+j] != 0 { pos[m], sel[m] = rowPos[r]+l*stride, grad[z*n+j]; m++ }",
		"",
		"and returns m. It writes up to 8 elements beyond. Row k of compress has the places of the ones of k as bytes.")
	pos, sel := loadGP("pos"), loadGP("sel")
	lo, width, stride, none := YMM(), YMM(), YMM(), YMM()
	broadcastInt("lo", lo)
	broadcastInt("width", width)
	broadcastInt("stride", stride)
	VPCMPEQD(none, none, none)
	g, arg, rowPos, compress := loadGP("grad"), loadGP("arg"), loadGP("rowPos"), loadGP("compress")
	m, row, j := GP64(), GP64(), GP64()
	XORQ(m, m)
	base := YMM()

	Label("windows")
	ph := loadGP("ph")
	MOVQ(ph, row)
	Label("row")
	VPBROADCASTD(Mem{Base: rowPos}, base)
	n := loadGP("n")
	XORQ(j, j)
	step := func(masked bool) {
		l, v := YMM(), YMM()
		at, vat := Mem{Base: arg, Index: j, Scale: 4}, Mem{Base: g, Index: j, Scale: 4}
		if masked {
			mask := YMM()
			tailMask(table, n, mask)
			VPMASKMOVD(at, mask, l)
			VMASKMOVPS(vat, mask, v)
		} else {
			VMOVDQU(at, l)
			VMOVUPS(vat, v)
		}
		in, low, zero := YMM(), YMM(), YMM()
		VPSUBD(lo, l, l)
		VPCMPGTD(l, width, in)
		VPCMPGTD(none, l, low)
		VPAND(low, in, in)
		VXORPS(zero, zero, zero)
		VCMPPS(Imm(4), zero, v, zero)
		VANDPS(zero, in, in)
		k, order := GP64(), YMM()
		VMOVMSKPS(in, k.As32())
		VPMOVZXBD(Mem{Base: compress, Index: k, Scale: 8}, order)
		VPMULLD(stride, l, l)
		VPADDD(base, l, l)
		VPERMD(l, order, l)
		VPERMPS(v, order, v)
		VMOVDQU(l, Mem{Base: pos, Index: m, Scale: 4})
		VMOVUPS(v, Mem{Base: sel, Index: m, Scale: 4})
		POPCNTQ(k, k)
		ADDQ(k, m)
	}
	CMPQ(n, Imm(8))
	JL(LabelRef("rest"))
	Label("eight")
	step(false)
	ADDQ(Imm(8), j)
	SUBQ(Imm(8), n)
	CMPQ(n, Imm(8))
	JGE(LabelRef("eight"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("next"))
	step(true)
	Label("next")
	ADDQ(Imm(4), rowPos)
	VPADDD(width, lo, lo)
	DECQ(row)
	JNZ(LabelRef("row"))
	n = loadGP("n")
	LEAQ(Mem{Base: arg, Index: n, Scale: 4}, arg)
	LEAQ(Mem{Base: g, Index: n, Scale: 4}, g)
	nz := loadGP("nz")
	DECQ(nz)
	Store(nz, Param("nz"))
	JNZ(LabelRef("windows"))
	Store(m, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// winnersTwo is winners with masks for windows of two rows, up to sixteen in a row: these are loaded once, and their
// winners stored once, those of the upper row before those of the lower one.
func winnersTwo() {
	lanes := GLOBL("laneNumbers", RODATA|NOPTR)
	for i := range 16 {
		DATA(i, U8(uint8(i)))
	}
	function("winnersTwoAVX512", "func(pos *int32, sel, grad *float32, arg *int32, n, nz int, rowPos *int32, lo, width, stride int) int",
		"winnersTwoAVX512 computes, for z < nz and h < 2 with r = 2*z+h, and j < n ≤ 16, in order (none of them 0),",
		"",
		"\tl = arg[z*n+j] - (lo + r*width)",
		"\tif 0 <= l && l < width && grad[z*n+j] != 0 { pos[m], sel[m] = rowPos[r]+l*stride, grad[z*n+j]; m++ }",
		"",
		"and returns m. It writes up to 16 elements beyond.")
	n := loadGP("n")
	Comment("K1: the windows of a row; the numbers of the lanes.")
	windows := K()
	{
		bits := GP64()
		MOVQ(n, RCX)
		MOVL(U32(1), bits.As32())
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), windows)
	}
	lane := ZMM()
	VPMOVZXBD(lanes, lane)
	lo, width, both, stride, back, zero := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	broadcastInt("lo", lo)
	broadcastInt("width", width)
	broadcastInt("stride", stride)
	VPADDD(width, width, both)
	VPMULLD(width, stride, back)
	VPXORD(zero, zero, zero)
	pos, sel, g, arg, rowPos, nz := loadGP("pos"), loadGP("sel"), loadGP("grad"), loadGP("arg"), loadGP("rowPos"), loadGP("nz")
	m := GP64()
	XORQ(m, m)

	Label("windows")
	Comment("Windows whose winner lies in the upper and in the lower row; the places of both.")
	l, v, in, upper, lower := ZMM(), ZMM(), K(), K(), K()
	VMOVDQU32_Z(Mem{Base: arg}, windows, l)
	VMOVUPS_Z(Mem{Base: g}, windows, v)
	VPSUBD(lo, l, l)
	VCMPPS(Imm(4), zero, v, in)          // not equal
	VPCMPUD(Imm(1), width, l, in, upper) // less, without a sign
	at, base := ZMM(), ZMM()
	VPMULLD(stride, l, at)
	VPSUBD(width, l, l)
	VPCMPUD(Imm(1), width, l, in, lower)
	VPBROADCASTD(Mem{Base: rowPos, Disp: 4}, base)
	VPSUBD(back, base, base)
	VPADDD(at, base, base)
	VPADDD_BCST(Mem{Base: rowPos}, at, upper, base)
	Comment("The lanes of the winners in order, and what they hold.")
	order, second := ZMM(), ZMM()
	VPCOMPRESSD_Z(lane, upper, order)
	VPCOMPRESSD_Z(lane, lower, second)
	count, bits, rest := GP64(), GP64(), K()
	KMOVW(upper, ECX)
	POPCNTL(ECX, ECX)
	MOVL(U32(0xffff), bits.As32())
	SHLL(CL, bits.As32())
	KMOVW(bits.As32(), rest)
	VPEXPANDD(second, rest, order)
	VPERMD(base, order, base)
	VPERMPS(v, order, v)
	KMOVW(lower, count.As32())
	POPCNTL(count.As32(), count.As32())
	toPos, toSel := Mem{Base: pos, Index: m, Scale: 4}, Mem{Base: sel, Index: m, Scale: 4}
	CMPQ(n, Imm(8))
	JG(LabelRef("many"))
	VMOVDQU32(base.AsY(), toPos)
	VMOVUPS(v.AsY(), toSel)
	JMP(LabelRef("stored"))
	Label("many")
	VMOVDQU32(base, toPos)
	VMOVUPS(v, toSel)
	Label("stored")
	ADDQ(RCX, m)
	ADDQ(count, m)
	VPADDD(both, lo, lo)
	ADDQ(Imm(8), rowPos)
	LEAQ(Mem{Base: arg, Index: n, Scale: 4}, arg)
	LEAQ(Mem{Base: g, Index: n, Scale: 4}, g)
	DECQ(nz)
	JNZ(LabelRef("windows"))
	Store(m, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// broadcastInt loads the lower half of an int parameter into all lanes.
func broadcastInt(name string, v VecVirtual) { VPBROADCASTD(address(name), v) }
