package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func float64Group() {
	for _, rows := range []int{1, 2, 4} {
		name := fmt.Sprintf("dots%dAVX2", rows)
		function(name, "func(p, w *float64, ld int, x *float64, n int)",
			fmt.Sprintf("%s computes p[4*r + k mod 4] += w[r*ld+k] * x[k] for r < %d and k < n, a", name, rows), "multiple of 4, product and sum rounded each.")
		p, w, ld, x, n := loadGP("p"), loadGP("w"), loadGP("ld"), loadGP("x"), loadGP("n")
		SHLQ(Imm(3), ld)
		at := rowPointers(w, ld, rows)
		acc := ymms(rows)
		for r := range acc {
			VMOVUPD(Mem{Base: p, Disp: 32 * r}, acc[r])
		}
		k := GP64()
		XORQ(k, k)
		Label("loop")
		v := YMM()
		VMOVUPD(Mem{Base: x, Index: k, Scale: 8}, v)
		for r := range acc {
			t := YMM()
			VMULPD(Mem{Base: at[r], Index: k, Scale: 8}, v, t)
			VADDPD(t, acc[r], acc[r])
		}
		ADDQ(Imm(4), k)
		CMPQ(k, n)
		JL(LabelRef("loop"))
		for r := range acc {
			VMOVUPD(acc[r], Mem{Base: p, Disp: 32 * r})
		}
		VZEROUPPER()
		RET()
	}

	function("addRows4AVX2", "func(y, a, x *float64, ld, n int)",
		"addRows4AVX2 computes y[k] += a[r] * x[r*ld+k] for r = 0 … 3 in order and k < n, a", "multiple of 4, product and sum rounded each.")
	y, a, x, ld, n := loadGP("y"), loadGP("a"), loadGP("x"), loadGP("ld"), loadGP("n")
	SHLQ(Imm(3), ld)
	at := rowPointers(x, ld, 4)
	factor := ymms(4)
	for r := range factor {
		VBROADCASTSD(Mem{Base: a, Disp: 8 * r}, factor[r])
	}
	k := GP64()
	XORQ(k, k)
	Label("loop")
	sum := YMM()
	VMOVUPD(Mem{Base: y, Index: k, Scale: 8}, sum)
	for r := range factor {
		t := YMM()
		VMULPD(Mem{Base: at[r], Index: k, Scale: 8}, factor[r], t)
		VADDPD(t, sum, sum)
	}
	VMOVUPD(sum, Mem{Base: y, Index: k, Scale: 8})
	ADDQ(Imm(4), k)
	CMPQ(k, n)
	JL(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// rowPointers returns where rows begin that are ld bytes apart.
func rowPointers(base, ld GPVirtual, rows int) []GPVirtual {
	at := []GPVirtual{base}
	for len(at) < rows {
		next := GP64()
		MOVQ(at[len(at)-1], next)
		ADDQ(ld, next)
		at = append(at, next)
	}
	return at
}
