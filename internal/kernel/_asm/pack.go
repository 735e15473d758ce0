package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// packPanel copies a panel of up to 16 columns; absent ones become zero.
func packPanel(table Mem) {
	function("packPanelAVX2", "func(dst, src *float32, lds, k, n int)",
		"packPanelAVX2 computes, for p < k (k ≥ 1) and j < 16, with n from 1 to 16,",
		"",
		"\tdst[p*16+j] = j < n ? src[p*lds+j] : 0")
	dst, src, lds, k, n := loadGP("dst"), loadGP("src"), loadGP("lds"), loadGP("k"), loadGP("n")
	SHLQ(Imm(2), lds)
	CMPQ(n, Imm(16))
	JNE(LabelRef("narrow"))
	v := ymms(2)
	Label("wide")
	VMOVUPS(Mem{Base: src}, v[0])
	VMOVUPS(Mem{Base: src, Disp: 32}, v[1])
	VMOVUPS(v[0], Mem{Base: dst})
	VMOVUPS(v[1], Mem{Base: dst, Disp: 32})
	ADDQ(lds, src)
	ADDQ(Imm(64), dst)
	DECQ(k)
	JNZ(LabelRef("wide"))
	VZEROUPPER()
	RET()

	Label("narrow")
	mask := ymms(2)
	lo, hi, zero := GP64(), GP64(), GP64()
	MOVQ(U32(8), lo)
	CMPQ(n, lo)
	CMOVQLT(n, lo)
	XORQ(zero, zero)
	LEAQ(Mem{Base: n, Disp: -8}, hi)
	TESTQ(hi, hi)
	CMOVQLT(zero, hi)
	tailMask(table, lo, mask[0])
	tailMask(table, hi, mask[1])
	Label("masked")
	VMASKMOVPS(Mem{Base: src}, mask[0], v[0])
	VMASKMOVPS(Mem{Base: src, Disp: 32}, mask[1], v[1])
	VMOVUPS(v[0], Mem{Base: dst})
	VMOVUPS(v[1], Mem{Base: dst, Disp: 32})
	ADDQ(lds, src)
	ADDQ(Imm(64), dst)
	DECQ(k)
	JNZ(LabelRef("masked"))
	VZEROUPPER()
	RET()
}

// copyRows copies short rows without a call for each. The last vector of a row ends with it.
func copyRows() {
	function("copyRowsAVX2", "func(dst *float32, ldd int, src *float32, lds, rows, n int)",
		"copyRowsAVX2 computes, for r < rows (rows ≥ 1) and j < n (n ≥ 8),",
		"",
		"\tdst[r*ldd+j] = src[r*lds+j]")
	dst, ldd, src, lds := loadGP("dst"), loadGP("ldd"), loadGP("src"), loadGP("lds")
	rows, last := loadGP("rows"), loadGP("n")
	SUBQ(Imm(8), last)
	j, v := GP64(), YMM()
	move := func(at GPVirtual) {
		VMOVUPS(Mem{Base: src, Index: at, Scale: 4}, v)
		VMOVUPS(v, Mem{Base: dst, Index: at, Scale: 4})
	}
	Label("row")
	XORQ(j, j)
	CMPQ(j, last)
	JGE(LabelRef("end"))
	Label("loop")
	move(j)
	ADDQ(Imm(8), j)
	CMPQ(j, last)
	JL(LabelRef("loop"))
	Label("end")
	move(last)
	LEAQ(Mem{Base: src, Index: lds, Scale: 4}, src)
	LEAQ(Mem{Base: dst, Index: ldd, Scale: 4}, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
