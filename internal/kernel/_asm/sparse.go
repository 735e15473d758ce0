package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// maxSparseRows is the largest number of kernel rows whose gradients are held
// in registers at once.
const maxSparseRows = 9

// sparseDot holds rows gradients of up to 8 taps each while it runs over the
// winners.
func sparseDot(rows int, table Mem) {
	name := fmt.Sprintf("sparseDot%dAVX2", rows)
	function(name, "func(dw *float32, ldw int, x *float32, rows *int32, kw int, pos *int32, grad *float32, n int)",
		fmt.Sprintf("%s computes, for r < %d, l < kw ≤ 8 and j = 0 … n-1 in order,", name, rows),
		"",
		"\tdw[r*ldw+l] += grad[j] * x[pos[j]+rows[r]+l]")
	mask := YMM()
	tailMask(table, loadGP("kw"), mask)
	ptr := make([]GPVirtual, rows)
	x, off := loadGP("x"), loadGP("rows")
	for i := range ptr {
		ptr[i] = GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * i}, ptr[i])
		LEAQ(Mem{Base: x, Index: ptr[i], Scale: 4}, ptr[i])
	}
	acc := ymms(rows)
	dw, ldw := loadGP("dw"), loadGP("ldw")
	for i := range acc {
		VMASKMOVPS(Mem{Base: dw}, mask, acc[i])
		if i < rows-1 {
			LEAQ(Mem{Base: dw, Index: ldw, Scale: 4}, dw)
		}
	}
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	LEAQ(Mem{Base: pos, Index: n, Scale: 4}, n)
	at, gv := GP64(), YMM()
	Label("loop")
	MOVLQSX(Mem{Base: pos}, at)
	VBROADCASTSS(Mem{Base: g}, gv)
	for i := range acc {
		t := YMM()
		VMASKMOVPS(Mem{Base: ptr[i], Index: at, Scale: 4}, mask, t)
		VFMADD231PS(t, gv, acc[i])
	}
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	CMPQ(pos, n)
	JNE(LabelRef("loop"))
	Label("done")
	dw, ldw = loadGP("dw"), loadGP("ldw")
	for i := range acc {
		VMASKMOVPS(acc[i], mask, Mem{Base: dw})
		if i < rows-1 {
			LEAQ(Mem{Base: dw, Index: ldw, Scale: 4}, dw)
		}
	}
	VZEROUPPER()
	RET()
}

func sparseAdd(table Mem) {
	function("sparseAddAVX2", "func(dx, w *float32, ldw int, rows *int32, nr, kw int, pos *int32, grad *float32, n int)",
		"sparseAddAVX2 computes, for j = 0 … n-1 in order, r < nr (nr ≥ 1) and l < 8, with kw ≤ 8,",
		"",
		"\tdx[pos[j]+rows[r]+l] += grad[j] * (l < kw ? w[r*ldw+l] : 0)")
	mask := YMM()
	tailMask(table, loadGP("kw"), mask)
	dx, w, ldw, rows, nr := loadGP("dx"), loadGP("w"), loadGP("ldw"), loadGP("rows"), loadGP("nr")
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	LEAQ(Mem{Base: rows, Index: nr, Scale: 4}, nr)
	SHLQ(Imm(2), ldw)
	TESTQ(n, n)
	JZ(LabelRef("done"))
	at, wp, rp, off, gv := GP64(), GP64(), GP64(), GP64(), YMM()
	Label("winner")
	MOVLQSX(Mem{Base: pos}, at)
	LEAQ(Mem{Base: dx, Index: at, Scale: 4}, at)
	VBROADCASTSS(Mem{Base: g}, gv)
	MOVQ(w, wp)
	MOVQ(rows, rp)
	Label("row")
	MOVLQSX(Mem{Base: rp}, off)
	wv, d := YMM(), YMM()
	VMASKMOVPS(Mem{Base: wp}, mask, wv)
	VMOVUPS(Mem{Base: at, Index: off, Scale: 4}, d)
	VFMADD231PS(wv, gv, d)
	VMOVUPS(d, Mem{Base: at, Index: off, Scale: 4})
	ADDQ(ldw, wp)
	ADDQ(Imm(4), rp)
	CMPQ(rp, nr)
	JNE(LabelRef("row"))
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	DECQ(n)
	JNZ(LabelRef("winner"))
	Label("done")
	VZEROUPPER()
	RET()
}
