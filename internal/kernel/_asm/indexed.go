package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const indexedSignature = "func(out, bias, x *float32, a *int32, na int, b *int32, nb int, v *float32)"

// indexed computes tiles of rows × vecs accumulators: for each b, vecs weight
// vectors are loaded and one input value is broadcast for each row.
func indexed(name string, rows, vecs, lanes int, bcst bool) {
	function(name, indexedSignature,
		fmt.Sprintf("%s computes, for r < na (a multiple of %d) and c < %d,", name, rows, vecs*lanes),
		"",
		fmt.Sprintf("\tout[r*%d+c] = (bias ? bias[c] : out[r*%[1]d+c]) + Σ_{t<nb} v[t*%[1]d+c] * x[a[r]+b[t]]", vecs*lanes))
	width := 4 * lanes
	row := vecs * width

	var acc, w []VecVirtual
	var bc VecVirtual
	if lanes == 16 {
		acc, w = zmms(rows*vecs), zmms(vecs)
	} else {
		acc, w = ymms(rows*vecs), ymms(vecs)
		bc = YMM()
	}
	ptr := make([]GPVirtual, rows)
	for i := range ptr {
		ptr[i] = GP64()
	}

	Label("tile")
	n := loadGP("na")
	SUBQ(Imm(uint64(rows)), n)
	JL(LabelRef("done"))
	Store(n, Param("na"))
	{
		x, a := loadGP("x"), loadGP("a")
		for i, p := range ptr {
			MOVLQSX(Mem{Base: a, Disp: 4 * i}, p)
			LEAQ(Mem{Base: x, Index: p, Scale: 4}, p)
		}
		ADDQ(Imm(uint64(4*rows)), a)
		Store(a, Param("a"))
	}
	{
		bias := loadGP("bias")
		TESTQ(bias, bias)
		JZ(LabelRef("present"))
		for j := range vecs {
			VMOVUPS(Mem{Base: bias, Disp: j * width}, acc[j])
		}
		for i := vecs; i < rows*vecs; i++ {
			VMOVAPS(acc[i%vecs], acc[i])
		}
		JMP(LabelRef("start"))
		Label("present")
		out := loadGP("out")
		for i := range acc {
			VMOVUPS(Mem{Base: out, Disp: i * width}, acc[i])
		}
	}
	Label("start")
	b, v, nb := loadGP("b"), loadGP("v"), loadGP("nb")
	TESTQ(nb, nb)
	JZ(LabelRef("store"))
	LEAQ(Mem{Base: b, Index: nb, Scale: 4}, nb)
	off := GP64()
	Label("loop")
	MOVLQSX(Mem{Base: b}, off)
	for j := range w {
		VMOVUPS(Mem{Base: v, Disp: j * width}, w[j])
	}
	for i := range rows {
		at := Mem{Base: ptr[i], Index: off, Scale: 4}
		if bcst {
			for j := range w {
				VFMADD231PS_BCST(at, w[j], acc[i*vecs+j])
			}
			continue
		}
		VBROADCASTSS(at, bc)
		for j := range w {
			VFMADD231PS(bc, w[j], acc[i*vecs+j])
		}
	}
	ADDQ(Imm(uint64(row)), v)
	ADDQ(Imm(4), b)
	CMPQ(b, nb)
	JNE(LabelRef("loop"))
	Label("store")
	out := loadGP("out")
	for i := range acc {
		VMOVUPS(acc[i], Mem{Base: out, Disp: i * width})
	}
	ADDQ(U32(rows*row), out)
	Store(out, Param("out"))
	JMP(LabelRef("tile"))
	Label("done")
	VZEROUPPER()
	RET()
}
