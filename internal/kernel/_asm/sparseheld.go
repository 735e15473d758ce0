package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func sparseGroup() {
	winnersTwo()
	for _, kw := range []int{3, 5} {
		sparseDotRuns(kw)
		sparseDotTwo(kw)
		sparseAddHeld(kw, 8)
		sparseAddHeld(kw, 16)
	}
}

// sparseDotRuns holds the gradients of kw kernel rows of kw taps of 8 channels, each row in vectors
// of 16 and a last one of 8, while it runs over the winners.
func sparseDotRuns(kw int) {
	name := fmt.Sprintf("sparseDotRuns8x%dAVX512", kw)
	function(name, "func(dw, sum, x *float32, rows, pos *int32, grad *float32, n int)",
		fmt.Sprintf("%s computes, for j = 0 … n-1 in order (n ≥ 1), r < %d, t < %[2]d and c < 8,", name, kw),
		"",
		fmt.Sprintf("\tdw[(%d*r+t)*8+c] += grad[j] * x[(pos[j]+rows[r]+t)*8+c]", kw),
		"\tsum[0] += grad[j]")
	Comment("Where the kernel rows begin in x, and their gradients.")
	ptr := make([]GPVirtual, kw)
	x, rows := loadGP("x"), loadGP("rows")
	for i := range ptr {
		ptr[i] = GP64()
		MOVLQSX(Mem{Base: rows, Disp: 4 * i}, ptr[i])
		SHLQ(Imm(5), ptr[i])
		ADDQ(x, ptr[i])
	}
	acc := make([][]VecVirtual, kw)
	dw := loadGP("dw")
	for i := range acc {
		acc[i] = append(zmms(kw/2), YMM())
		for j, v := range acc[i] {
			VMOVUPS(Mem{Base: dw, Disp: 32*kw*i + 64*j}, v)
		}
	}
	sum, s := loadGP("sum"), XMM()
	VMOVSS(Mem{Base: sum}, s)
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	LEAQ(Mem{Base: pos, Index: n, Scale: 4}, n)
	at, gv := GP64(), ZMM()
	Label("loop")
	MOVLQSX(Mem{Base: pos}, at)
	SHLQ(Imm(5), at)
	VBROADCASTSS(Mem{Base: g}, gv)
	VADDSS(gv.AsX(), s, s)
	for i := range acc {
		last := len(acc[i]) - 1
		for j, v := range acc[i][:last] {
			VFMADD231PS(Mem{Base: ptr[i], Index: at, Scale: 1, Disp: 64 * j}, gv, v)
		}
		VFMADD231PS(Mem{Base: ptr[i], Index: at, Scale: 1, Disp: 64 * last}, gv.AsY(), acc[i][last])
	}
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	CMPQ(pos, n)
	JNE(LabelRef("loop"))
	dw, sum = loadGP("dw"), loadGP("sum")
	for i := range acc {
		for j, v := range acc[i] {
			VMOVUPS(v, Mem{Base: dw, Disp: 32*kw*i + 64*j})
		}
	}
	VMOVSS(s, Mem{Base: sum})
	VZEROUPPER()
	RET()
}

// sparseAddHeld holds the weights of kw kernel rows of kw taps of 8 or 16 channels in registers: every access
// to memory that is left is one to the gradients, which are as many as the processor can store.
func sparseAddHeld(kw, lanes int) {
	name := fmt.Sprintf("sparseAddHeld%dx%dAVX512", lanes, kw)
	function(name, "func(dx, w *float32, off *int32, rows int, pos *int32, grad *float32, n int)",
		fmt.Sprintf("%s computes, for j = 0 … n-1 in order (n ≥ 1), r < rows = %d, t < %[2]d and c < %d,", name, kw, lanes),
		"",
		fmt.Sprintf("\tdx[(pos[j]+off[%d*r]+t)*%d+c] += grad[j] * w[(%[1]d*r+t)*%[2]d+c]", kw, lanes))
	size := 4 * lanes
	shift := Imm(map[int]uint64{8: 5, 16: 6}[lanes])
	Comment("Where the kernel rows begin in dx, and their weights.")
	ptr, held := make([]GPVirtual, kw), vectors(kw*kw, lanes)
	dx, off, w := loadGP("dx"), loadGP("off"), loadGP("w")
	for r := range ptr {
		ptr[r] = GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * kw * r}, ptr[r])
		SHLQ(shift, ptr[r])
		ADDQ(dx, ptr[r])
	}
	for i, v := range held {
		VMOVUPS(Mem{Base: w, Disp: size * i}, v)
	}
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	LEAQ(Mem{Base: pos, Index: n, Scale: 4}, n)
	at, gv := GP64(), vectors(1, lanes)[0]
	Label("winner")
	MOVLQSX(Mem{Base: pos}, at)
	SHLQ(shift, at)
	VBROADCASTSS(Mem{Base: g}, gv)
	for i, v := range held {
		d, m := vectors(1, lanes)[0], Mem{Base: ptr[i/kw], Index: at, Scale: 1, Disp: size * (i % kw)}
		VMOVUPS(m, d)
		VFMADD231PS(v, gv, d)
		VMOVUPS(d, m)
	}
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	CMPQ(pos, n)
	JNE(LabelRef("winner"))
	VZEROUPPER()
	RET()
}
