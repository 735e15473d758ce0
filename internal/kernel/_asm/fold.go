package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// fold is the max-pool of one output row: the running maximum and its position
// stay in registers while a window is read.
func fold(vecs int) {
	name := fmt.Sprintf("foldMax%dAVX2", 8*vecs)
	function(name, "func(best *float32, arg *int32, row *float32, nz, pw, pos, first int)",
		fmt.Sprintf("%s computes, for z < nz, i < pw and c < %d in order,", name, 8*vecs),
		"",
		fmt.Sprintf("\tv = row[(z*pw+i)*%d+c]", 8*vecs),
		fmt.Sprintf("\tif v > best[z*%d+c] || v != v { best[z*%[1]d+c], arg[z*%[1]d+c] = v, pos+z*pw+i }", 8*vecs),
		"",
		"and, if first is not 0, starts each window from -Inf at its first position.")
	best, arg, row := loadGP("best"), loadGP("arg"), loadGP("row")
	nz, pw := loadGP("nz"), loadGP("pw")
	first := loadGP("first")
	at, one, inf := YMM(), YMM(), YMM()
	{
		p := loadGP("pos").As32()
		VMOVD(p, at.AsX())
		VPBROADCASTD(at.AsX(), at)
		t := GP32()
		MOVL(U32(1), t)
		VMOVD(t, one.AsX())
		VPBROADCASTD(one.AsX(), one)
		MOVL(U32(0xff800000), t)
		VMOVD(t, inf.AsX())
		VPBROADCASTD(inf.AsX(), inf)
	}
	m, a := ymms(vecs), ymms(vecs)
	i := GP64()
	TESTQ(nz, nz)
	JZ(LabelRef("done"))
	Label("window")
	TESTQ(first, first)
	JZ(LabelRef("present"))
	for j := range m {
		VMOVAPS(inf, m[j])
		VMOVDQA(at, a[j])
	}
	JMP(LabelRef("scan"))
	Label("present")
	for j := range m {
		VMOVUPS(Mem{Base: best, Disp: 32 * j}, m[j])
		VMOVDQU(Mem{Base: arg, Disp: 32 * j}, a[j])
	}
	Label("scan")
	MOVQ(pw, i)
	Label("loop")
	for j := range m {
		foldStep(Mem{Base: row, Disp: 32 * j}, m[j], a[j], at)
	}
	VPADDD(one, at, at)
	ADDQ(Imm(uint64(32*vecs)), row)
	DECQ(i)
	JNZ(LabelRef("loop"))
	for j := range m {
		VMOVUPS(m[j], Mem{Base: best, Disp: 32 * j})
		VMOVDQU(a[j], Mem{Base: arg, Disp: 32 * j})
	}
	ADDQ(Imm(uint64(32*vecs)), best)
	ADDQ(Imm(uint64(32*vecs)), arg)
	DECQ(nz)
	JNZ(LabelRef("window"))
	Label("done")
	VZEROUPPER()
	RET()
}

// foldStep takes the value at mem, position at, into the maximum m and its
// position a. Positions only grow, so the larger of the old one and the
// position where the value wins is the new one. VMAXPS returns its second
// source, m, if either is NaN; a NaN value is put in by or.
func foldStep(mem Mem, m, a, at VecVirtual) {
	v, nan, win := YMM(), YMM(), YMM()
	VMOVUPS(mem, v)
	VCMPPS(Imm(3), v, v, nan)  // unordered
	VCMPPS(Imm(30), m, v, win) // v > m
	VMAXPS(m, v, m)
	VORPS(nan, win, win)
	VORPS(nan, m, m)
	VPAND(at, win, win)
	VPMAXSD(win, a, a)
}

// foldWide is fold with masks, 16 channels in one register.
func foldWide() {
	function("foldMax16AVX512", "func(best *float32, arg *int32, row *float32, nz, pw, pos, first int)",
		"foldMax16AVX512 computes, for z < nz, i < pw and c < 16 in order,",
		"",
		"\tv = row[(z*pw+i)*16+c]",
		"\tif v > best[z*16+c] || v != v { best[z*16+c], arg[z*16+c] = v, pos+z*pw+i }",
		"",
		"and, if first is not 0, starts each window from -Inf at its first position.")
	best, arg, row := loadGP("best"), loadGP("arg"), loadGP("row")
	nz, pw, first := loadGP("nz"), loadGP("pw"), loadGP("first")
	at, one, inf, v, m, a := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VPBROADCASTD(loadGP("pos").As32(), at)
	t := GP32()
	MOVL(U32(1), t)
	VPBROADCASTD(t, one)
	MOVL(U32(0xff800000), t)
	VPBROADCASTD(t, inf)
	win, nan := K(), K()
	i := GP64()
	TESTQ(nz, nz)
	JZ(LabelRef("done"))
	Label("window")
	TESTQ(first, first)
	JZ(LabelRef("present"))
	VMOVAPS(inf, m)
	VMOVDQA32(at, a)
	JMP(LabelRef("scan"))
	Label("present")
	VMOVUPS(Mem{Base: best}, m)
	VMOVDQU32(Mem{Base: arg}, a)
	Label("scan")
	MOVQ(pw, i)
	Label("loop")
	VMOVUPS(Mem{Base: row}, v)
	VCMPPS(Imm(3), v, v, nan)  // unordered
	VCMPPS(Imm(30), m, v, win) // v > m
	KORW(nan, win, win)
	VMOVAPS(v, win, m)
	VMOVDQA32(at, win, a)
	VPADDD(one, at, at)
	ADDQ(Imm(64), row)
	DECQ(i)
	JNZ(LabelRef("loop"))
	VMOVUPS(m, Mem{Base: best})
	VMOVDQU32(a, Mem{Base: arg})
	ADDQ(Imm(64), best)
	ADDQ(Imm(64), arg)
	DECQ(nz)
	JNZ(LabelRef("window"))
	Label("done")
	VZEROUPPER()
	RET()
}
