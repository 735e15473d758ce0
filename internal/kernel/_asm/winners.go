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

// winnersWide is winners with masks, sixteen windows at a time.
func winnersWide() {
	function("winnersAVX512", "func(pos *int32, sel, grad *float32, arg *int32, n, nz, ph int, rowPos *int32, lo, width, stride int) int",
		"winnersAVX512 computes, for z < nz and h < ph with r = z*ph+h, and j < n, in order (none of them 0),",
		"",
		"\tl = arg[z*n+j] - (lo + r*width)",
		"\tif 0 <= l && l < width && grad[z*n+j] != 0 { pos[m], sel[m] = rowPos[r]+l*stride, grad[z*n+j]; m++ }",
		"",
		"and returns m. It writes up to 16 elements beyond.")
	pos, sel := loadGP("pos"), loadGP("sel")
	Comment("K1: the windows of the last vector of a row.")
	tail := K()
	{
		bits := GP64()
		MOVQ(loadGP("n"), RCX)
		ANDQ(Imm(15), RCX)
		MOVL(U32(1), bits.As32())
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), tail)
	}
	lo, width, stride, zero := ZMM(), ZMM(), ZMM(), ZMM()
	broadcastInt("lo", lo)
	broadcastInt("width", width)
	broadcastInt("stride", stride)
	VPXORD(zero, zero, zero)
	g, arg, rowPos := loadGP("grad"), loadGP("arg"), loadGP("rowPos")
	m, row, j := GP64(), GP64(), GP64()
	XORQ(m, m)
	base := ZMM()

	Label("windows")
	Load(Param("ph"), row)
	Label("row")
	VPBROADCASTD(Mem{Base: rowPos}, base)
	n := loadGP("n")
	XORQ(j, j)
	step := func(label string, last bool) {
		l, v, in := ZMM(), ZMM(), K()
		at, vat := Mem{Base: arg, Index: j, Scale: 4}, Mem{Base: g, Index: j, Scale: 4}
		if last {
			VMOVDQU32_Z(at, tail, l)
			VMOVUPS_Z(vat, tail, v)
		} else {
			VMOVDQU32(at, l)
			VMOVUPS(vat, v)
		}
		VPSUBD(lo, l, l)
		VCMPPS(Imm(4), zero, v, in)       // not equal
		VPCMPUD(Imm(1), width, l, in, in) // less, without a sign
		VPMULLD(stride, l, l)
		VPADDD(base, l, l)
		VPCOMPRESSD_Z(l, in, l)
		VCOMPRESSPS_Z(v, in, v)
		k := GP64()
		KMOVW(in, k.As32())
		POPCNTL(k.As32(), k.As32())
		toPos, toSel := Mem{Base: pos, Index: m, Scale: 4}, Mem{Base: sel, Index: m, Scale: 4}
		Comment("Vectors of 64 bytes take longer to store; more than 8 winners are rare.")
		CMPQ(k, Imm(8))
		JG(LabelRef("many" + label))
		VMOVDQU32(l.AsY(), toPos)
		VMOVUPS(v.AsY(), toSel)
		JMP(LabelRef("stored" + label))
		Label("many" + label)
		VMOVDQU32(l, toPos)
		VMOVUPS(v, toSel)
		Label("stored" + label)
		ADDQ(k, m)
	}
	SUBQ(Imm(16), n)
	JL(LabelRef("rest"))
	Label("sixteen")
	step("", false)
	ADDQ(Imm(16), j)
	SUBQ(Imm(16), n)
	JGE(LabelRef("sixteen"))
	Label("rest")
	ADDQ(Imm(16), n)
	JZ(LabelRef("next"))
	step("Last", true)
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

// broadcastInt loads the lower half of an int parameter into all lanes.
func broadcastInt(name string, v VecVirtual) { VPBROADCASTD(address(name), v) }
