package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// runVariant is one shape of indexedRuns: vectors of lanes, vecs of them to a
// block of channels, kernel rows of kw taps, tiles of up to longest positions.
// The tables in ../runs_amd64.go list the results.
type runVariant struct {
	isa                      string
	lanes, vecs, kw, longest int
}

var runVariants = []runVariant{
	{"AVX2", 8, 1, 3, 12},
	{"AVX2", 8, 1, 5, 10},
	{"AVX2", 8, 2, 3, 6},
	{"AVX2", 8, 2, 5, 6},
	{"AVX512", 8, 1, 3, 16},
	{"AVX512", 8, 1, 5, 16},
	{"AVX512", 16, 1, 3, 16},
	{"AVX512", 16, 1, 5, 16},
}

func runsGroup() {
	for _, v := range runVariants {
		for run := 1; run <= v.longest; run++ {
			indexedRuns(v, run)
		}
	}
}

// indexedRuns computes tiles of run neighbouring positions.
func indexedRuns(f runVariant, run int) {
	cb := f.lanes * f.vecs
	name := fmt.Sprintf("indexedRuns%dx%dx%d%s", cb, f.kw, run, f.isa)
	function(name, "func(out, bias, x *float32, a, o *int32, n int, rows *int32, nr int, v *float32)",
		fmt.Sprintf("%s computes, for j < n (n ≥ 1), p < %d and c < %d, with nr ≥ 1,", name, run, cb),
		"",
		fmt.Sprintf("\tout[(o[j]+p)*%[1]d+c] = bias[c] + Σ_{r<nr} Σ_{l<%[2]d} v[(r*%[2]d+l)*%[1]d+c] * x[a[j]+p+rows[r]+l]", cb, f.kw))
	width := 4 * f.lanes
	acc := vectors(run*f.vecs, f.lanes)
	outBase, x, a, o, n := loadGP("out"), loadGP("x"), loadGP("a"), loadGP("o"), loadGP("n")
	rows0, nr, v0 := loadGP("rows"), loadGP("nr"), loadGP("v")
	LEAQ(Mem{Base: rows0, Index: nr, Scale: 4}, nr)
	bias := loadGP("bias")
	at, rows, v, off, to := GP64(), GP64(), GP64(), GP64(), GP64()

	Label("tile")
	MOVLQSX(Mem{Base: a}, at)
	LEAQ(Mem{Base: x, Index: at, Scale: 4}, at)
	for i := range acc {
		if i < f.vecs {
			VMOVUPS(Mem{Base: bias, Disp: width * i}, acc[i])
		} else {
			VMOVAPS(acc[i%f.vecs], acc[i])
		}
	}
	MOVQ(rows0, rows)
	MOVQ(v0, v)
	Label("row")
	MOVLQSX(Mem{Base: rows}, off)
	value := func(i int) Mem { return Mem{Base: at, Index: off, Scale: 4, Disp: 4 * i} }
	weight := func(i int) Mem { return Mem{Base: v, Disp: width * i} }
	if f.vecs == 1 {
		sharedRow(f, run, acc, value, weight)
	} else {
		plainRow(f, run, acc, value, weight)
	}
	ADDQ(U32(4*cb*f.kw), v)
	ADDQ(Imm(4), rows)
	CMPQ(rows, nr)
	JNE(LabelRef("row"))
	MOVLQSX(Mem{Base: o}, to)
	SHLQ(Imm(map[int]uint64{8: 5, 16: 6}[cb]), to)
	ADDQ(outBase, to)
	for i := range acc {
		VMOVUPS(acc[i], Mem{Base: to, Disp: width * i})
	}
	ADDQ(Imm(4), a)
	ADDQ(Imm(4), o)
	DECQ(n)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// sharedRow adds one kernel row. The input value of position p and tap l is that
// of position p+1 and tap l−1: each value is broadcast once and used for up to
// kw positions, while the weights of the row stay in registers.
func sharedRow(f runVariant, run int, acc []VecVirtual, value, weight func(i int) Mem) {
	w, b := vectors(f.kw, f.lanes), vectors(1, f.lanes)[0]
	for l := range w {
		VMOVUPS(weight(l), w[l])
	}
	for i := range run + f.kw - 1 {
		VBROADCASTSS(value(i), b)
		for l := range f.kw {
			if p := i - l; p >= 0 && p < run {
				VFMADD231PS(b, w[l], acc[p])
			}
		}
	}
}

// plainRow adds one kernel row tap by tap, for blocks of two vectors, whose
// sums leave no registers for the weights of a row.
func plainRow(f runVariant, run int, acc []VecVirtual, value, weight func(i int) Mem) {
	w, b := vectors(f.vecs, f.lanes), vectors(1, f.lanes)[0]
	for l := range f.kw {
		for i := range w {
			VMOVUPS(weight(l*f.vecs+i), w[i])
		}
		for p := range run {
			VBROADCASTSS(value(p+l), b)
			for i := range w {
				VFMADD231PS(b, w[i], acc[p*f.vecs+i])
			}
		}
	}
}
