package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// maxRun is the largest number of neighbouring positions in a tile of
// indexedRuns.
const maxRun = 16

// indexedRuns computes tiles of run neighbouring positions. The taps of a kernel
// row are neighbours too, so that the input value of position p and tap l is
// that of position p+1 and tap l−1: each value is broadcast once and used for
// up to kw positions, while the kw weight vectors of the row stay in registers.
// That takes the 32 registers of AVX-512, also for vectors of 8.
func indexedRuns(run, kw, lanes int) {
	name := fmt.Sprintf("indexedRuns%dx%dx%dAVX512", lanes, kw, run)
	function(name, "func(out, bias, x *float32, a, o *int32, n int, rows *int32, nr int, v *float32)",
		fmt.Sprintf("%s computes, for j < n (n ≥ 1), p < %d and c < %d, with nr ≥ 1,", name, run, lanes),
		"",
		fmt.Sprintf("\tout[(o[j]+p)*%[1]d+c] = bias[c] + Σ_{r<nr} Σ_{l<%[2]d} v[(r*%[2]d+l)*%[1]d+c] * x[a[j]+p+rows[r]+l]", lanes, kw))
	acc, w := vectors(run, lanes), vectors(kw, lanes)
	b := vectors(1, lanes)[0]
	outBase, x, a, o, n := loadGP("out"), loadGP("x"), loadGP("a"), loadGP("o"), loadGP("n")
	rows0, nr, v0 := loadGP("rows"), loadGP("nr"), loadGP("v")
	LEAQ(Mem{Base: rows0, Index: nr, Scale: 4}, nr)
	bias := loadGP("bias")
	at, rows, v, off, to := GP64(), GP64(), GP64(), GP64(), GP64()

	Label("tile")
	MOVLQSX(Mem{Base: a}, at)
	LEAQ(Mem{Base: x, Index: at, Scale: 4}, at)
	VMOVUPS(Mem{Base: bias}, acc[0])
	for i := 1; i < run; i++ {
		VMOVAPS(acc[0], acc[i])
	}
	MOVQ(rows0, rows)
	MOVQ(v0, v)
	Label("row")
	MOVLQSX(Mem{Base: rows}, off)
	for l := range w {
		VMOVUPS(Mem{Base: v, Disp: 4 * lanes * l}, w[l])
	}
	for i := range run + kw - 1 {
		VBROADCASTSS(Mem{Base: at, Index: off, Scale: 4, Disp: 4 * i}, b)
		for l := range kw {
			if p := i - l; p >= 0 && p < run {
				VFMADD231PS(b, w[l], acc[p])
			}
		}
	}
	ADDQ(U32(4*lanes*kw), v)
	ADDQ(Imm(4), rows)
	CMPQ(rows, nr)
	JNE(LabelRef("row"))
	MOVLQSX(Mem{Base: o}, to)
	SHLQ(Imm(map[int]uint64{8: 5, 16: 6}[lanes]), to)
	ADDQ(outBase, to)
	for i := range run {
		VMOVUPS(acc[i], Mem{Base: to, Disp: 4 * lanes * i})
	}
	ADDQ(Imm(4), a)
	ADDQ(Imm(4), o)
	DECQ(n)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

func runsGroup() {
	for _, lanes := range []int{8, 16} {
		for _, kw := range []int{3, 5} {
			for run := 1; run <= maxRun; run++ {
				indexedRuns(run, kw, lanes)
			}
		}
	}
}
