package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// vectors returns n new registers of the given number of lanes.
func vectors(n, lanes int) []VecVirtual {
	if lanes == 16 {
		return zmms(n)
	}
	return ymms(n)
}

// sparseDotBlock holds the gradients of taps taps, vecs vectors each, while it
// runs over the winners.
func sparseDotBlock(taps, vecs, lanes int, isa string) {
	cb := vecs * lanes
	name := fmt.Sprintf("sparseDotBlock%dx%d%s", cb, taps, isa)
	function(name, "func(dw, x *float32, off, pos *int32, grad *float32, n int)",
		fmt.Sprintf("%s computes, for t < %d, c < %d and j = 0 … n-1 in order,", name, taps, cb),
		"",
		fmt.Sprintf("\tdw[t*%d+c] += grad[j] * x[(pos[j]+off[t])*%[1]d+c]", cb))
	shift := Imm(5)
	if cb == 16 {
		shift = Imm(6)
	}
	ptr := make([]GPVirtual, taps)
	x, off := loadGP("x"), loadGP("off")
	for i := range ptr {
		ptr[i] = GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * i}, ptr[i])
		SHLQ(shift, ptr[i])
		ADDQ(x, ptr[i])
	}
	acc := vectors(taps*vecs, lanes)
	dw := loadGP("dw")
	for i := range acc {
		VMOVUPS(Mem{Base: dw, Disp: 4 * lanes * i}, acc[i])
	}
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	LEAQ(Mem{Base: pos, Index: n, Scale: 4}, n)
	at, gv := GP64(), vectors(1, lanes)[0]
	Label("loop")
	MOVLQSX(Mem{Base: pos}, at)
	SHLQ(shift, at)
	VBROADCASTSS(Mem{Base: g}, gv)
	for i := range acc {
		VFMADD231PS(Mem{Base: ptr[i/vecs], Index: at, Scale: 1, Disp: i % vecs * 4 * lanes}, gv, acc[i])
	}
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	CMPQ(pos, n)
	JNE(LabelRef("loop"))
	Label("done")
	dw = loadGP("dw")
	for i := range acc {
		VMOVUPS(acc[i], Mem{Base: dw, Disp: 4 * lanes * i})
	}
	VZEROUPPER()
	RET()
}

func sparseAddBlock(vecs, lanes int, isa string) {
	cb := vecs * lanes
	name := fmt.Sprintf("sparseAddBlock%d%s", cb, isa)
	function(name, "func(dx, w *float32, off *int32, taps int, pos *int32, grad *float32, n int)",
		fmt.Sprintf("%s computes, for j = 0 … n-1 in order (n ≥ 1), t < taps (taps ≥ 1) and c < %d,", name, cb),
		"",
		fmt.Sprintf("\tdx[(pos[j]+off[t])*%d+c] += grad[j] * w[t*%[1]d+c]", cb))
	shift := Imm(5)
	if cb == 16 {
		shift = Imm(6)
	}
	dx, w, off, taps := loadGP("dx"), loadGP("w"), loadGP("off"), loadGP("taps")
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	at, wp, op, o := GP64(), GP64(), GP64(), GP64()
	gv := vectors(1, lanes)[0]
	Label("winner")
	MOVLQSX(Mem{Base: pos}, at)
	SHLQ(shift, at)
	ADDQ(dx, at)
	VBROADCASTSS(Mem{Base: g}, gv)
	MOVQ(w, wp)
	MOVQ(off, op)
	left := GP64()
	MOVQ(taps, left)
	steps := func(n int) {
		for t := range n {
			MOVLQSX(Mem{Base: op, Disp: 4 * t}, o)
			SHLQ(shift, o)
			for i := range vecs {
				d := vectors(1, lanes)[0]
				m := Mem{Base: at, Index: o, Scale: 1, Disp: 4 * lanes * i}
				VMOVUPS(m, d)
				VFMADD231PS(Mem{Base: wp, Disp: 4*cb*t + 4*lanes*i}, gv, d)
				VMOVUPS(d, m)
			}
		}
		ADDQ(U32(4*cb*n), wp)
		ADDQ(Imm(uint64(4*n)), op)
	}
	SUBQ(Imm(4), left)
	JL(LabelRef("few"))
	Label("four")
	steps(4)
	SUBQ(Imm(4), left)
	JGE(LabelRef("four"))
	Label("few")
	ADDQ(Imm(4), left)
	JZ(LabelRef("next"))
	Label("tap")
	steps(1)
	DECQ(left)
	JNZ(LabelRef("tap"))
	Label("next")
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	DECQ(n)
	JNZ(LabelRef("winner"))
	VZEROUPPER()
	RET()
}

// sparseAddRuns is sparseAddBlock for taps that lie side by side, run of them in a row of
// the kernel, whose places are computed once.
func sparseAddRuns(run, vecs, lanes int, isa string) {
	cb := vecs * lanes
	name := fmt.Sprintf("sparseAddRuns%dx%d%s", cb, run, isa)
	function(name, "func(dx, w *float32, off *int32, rows int, pos *int32, grad *float32, n int)",
		fmt.Sprintf("%s computes, for j = 0 … n-1 in order (n ≥ 1), r < rows (rows ≥ 1), t < %d and c < %d,", name, run, cb),
		"",
		fmt.Sprintf("\tdx[(pos[j]+off[%d*r]+t)*%d+c] += grad[j] * w[(%[1]d*r+t)*%[2]d+c]", run, cb))
	shift := Imm(5)
	if cb == 16 {
		shift = Imm(6)
	}
	dx, w, off, rows := loadGP("dx"), loadGP("w"), loadGP("off"), loadGP("rows")
	pos, g, n := loadGP("pos"), loadGP("grad"), loadGP("n")
	at, wp, op, o, left := GP64(), GP64(), GP64(), GP64(), GP64()
	gv := vectors(1, lanes)[0]
	Label("winner")
	MOVLQSX(Mem{Base: pos}, at)
	SHLQ(shift, at)
	ADDQ(dx, at)
	VBROADCASTSS(Mem{Base: g}, gv)
	MOVQ(w, wp)
	MOVQ(off, op)
	MOVQ(rows, left)
	Label("row")
	MOVLQSX(Mem{Base: op}, o)
	SHLQ(shift, o)
	for i := range run * vecs {
		d := vectors(1, lanes)[0]
		m := Mem{Base: at, Index: o, Scale: 1, Disp: 4 * lanes * i}
		VMOVUPS(m, d)
		VFMADD231PS(Mem{Base: wp, Disp: 4 * lanes * i}, gv, d)
		VMOVUPS(d, m)
	}
	ADDQ(U32(4*cb*run), wp)
	ADDQ(Imm(uint64(4*run)), op)
	DECQ(left)
	JNZ(LabelRef("row"))
	ADDQ(Imm(4), pos)
	ADDQ(Imm(4), g)
	DECQ(n)
	JNZ(LabelRef("winner"))
	VZEROUPPER()
	RET()
}

func sparseBlocks() {
	for taps := 1; taps <= maxSparseRows; taps++ {
		sparseDotBlock(taps, 1, 8, "AVX2")
	}
	for taps := 1; taps <= 6; taps++ {
		sparseDotBlock(taps, 2, 8, "AVX2")
	}
	for taps := 1; taps <= maxSparseRows; taps++ {
		sparseDotBlock(taps, 1, 16, "AVX512")
	}
	sparseAddBlock(1, 8, "AVX2")
	sparseAddBlock(2, 8, "AVX2")
	sparseAddBlock(1, 16, "AVX512")
	for _, run := range []int{3, 5} {
		sparseAddRuns(run, 1, 8, "AVX2")
		sparseAddRuns(run, 2, 8, "AVX2")
		sparseAddRuns(run, 1, 16, "AVX512")
	}
}
