package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transpose8x8 transposes the 8×8 matrix whose rows are r, in place in the
// sense that it returns the registers that hold the result.
func transpose8x8(r []VecVirtual) []VecVirtual {
	t := ymms(8)
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 {
		VSHUFPS(Imm(0x44), t[i+2], t[i], r[i])
		VSHUFPS(Imm(0xee), t[i+2], t[i], r[i+1])
		VSHUFPS(Imm(0x44), t[i+3], t[i+1], r[i+2])
		VSHUFPS(Imm(0xee), t[i+3], t[i+1], r[i+3])
	}
	for i := range 4 {
		VPERM2F128(Imm(0x20), r[i+4], r[i], t[i])
		VPERM2F128(Imm(0x31), r[i+4], r[i], t[i+4])
	}
	return t
}

// steps8 repeats body for p = 0, 8, 16, … and at last for the final 8 of n ≥ 8
// positions, with p in a register.
func steps8(n GPVirtual, body func(p GPVirtual)) {
	p, last := GP64(), GP64()
	XORQ(p, p)
	LEAQ(Mem{Base: n, Disp: -8}, last)
	Label("step")
	body(p)
	CMPQ(p, last)
	JGE(LabelRef("done"))
	ADDQ(Imm(8), p)
	CMPQ(p, last)
	CMOVQGT(last, p)
	JMP(LabelRef("step"))
	Label("done")
	VZEROUPPER()
	RET()
}

func transpose() {
	function("unblockAVX2", "func(dst *float32, ldd int, src *float32, lds, n, lanes int)",
		"unblockAVX2 computes, for p < n (n ≥ 8) and c < lanes (1 … 8),",
		"",
		"\tdst[c*ldd+p] = src[p*lds+c]",
		"",
		"It reads src[p*lds+c] for all c < 8.")
	dst, ldd, src, lds, lanes := loadGP("dst"), loadGP("ldd"), loadGP("src"), loadGP("lds"), loadGP("lanes")
	n := loadGP("n")
	SHLQ(Imm(2), ldd)
	SHLQ(Imm(2), lds)
	steps8(n, func(p GPVirtual) {
		from, to := GP64(), GP64()
		MOVQ(p, from)
		IMULQ(lds, from)
		ADDQ(src, from)
		LEAQ(Mem{Base: dst, Index: p, Scale: 4}, to)
		r := ymms(8)
		for i := range 8 {
			VMOVUPS(Mem{Base: from}, r[i])
			ADDQ(lds, from)
		}
		t := transpose8x8(r)
		for i := range 8 {
			VMOVUPS(t[i], Mem{Base: to})
			if i < 7 {
				CMPQ(lanes, Imm(uint64(i+1)))
				JE(LabelRef("stored"))
				ADDQ(ldd, to)
			}
		}
		Label("stored")
	})

	function("blockAVX2", "func(dst *float32, ldd int, src *float32, lds, n, lanes int)",
		"blockAVX2 computes, for p < n (n ≥ 8) and c < 8, with lanes from 1 to 8,",
		"",
		"\tdst[p*ldd+c] = c < lanes ? src[c*lds+p] : 0")
	dst, ldd, src, lds, lanes = loadGP("dst"), loadGP("ldd"), loadGP("src"), loadGP("lds"), loadGP("lanes")
	n = loadGP("n")
	SHLQ(Imm(2), ldd)
	SHLQ(Imm(2), lds)
	steps8(n, func(p GPVirtual) {
		from, to := GP64(), GP64()
		MOVQ(p, to)
		IMULQ(ldd, to)
		ADDQ(dst, to)
		LEAQ(Mem{Base: src, Index: p, Scale: 4}, from)
		r := ymms(8)
		for i := 1; i < 8; i++ {
			VXORPS(r[i], r[i], r[i])
		}
		for i := range 8 {
			VMOVUPS(Mem{Base: from}, r[i])
			if i < 7 {
				CMPQ(lanes, Imm(uint64(i+1)))
				JE(LabelRef("loaded"))
				ADDQ(lds, from)
			}
		}
		Label("loaded")
		t := transpose8x8(r)
		for i := range 8 {
			VMOVUPS(t[i], Mem{Base: to})
			ADDQ(ldd, to)
		}
	})

	for _, vecs := range []int{1, 2} {
		name := fmt.Sprintf("blockSum%dAVX2", 8*vecs)
		function(name, "func(sum, v *float32, n int)",
			fmt.Sprintf("%s computes sum[c] += v[p*%d+c] for p = 0 … n-1 in order, c < %[2]d.", name, 8*vecs))
		sum, v, n := loadGP("sum"), loadGP("v"), loadGP("n")
		acc := ymms(vecs)
		for i := range acc {
			VMOVUPS(Mem{Base: sum, Disp: 32 * i}, acc[i])
		}
		TESTQ(n, n)
		JZ(LabelRef("done"))
		Label("loop")
		for i := range acc {
			VADDPS(Mem{Base: v, Disp: 32 * i}, acc[i], acc[i])
		}
		ADDQ(Imm(uint64(32*vecs)), v)
		DECQ(n)
		JNZ(LabelRef("loop"))
		Label("done")
		for i := range acc {
			VMOVUPS(acc[i], Mem{Base: sum, Disp: 32 * i})
		}
		VZEROUPPER()
		RET()
	}
}
