package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func vecGroup() {
	masks = maskTable()

	function("addAVX2", "func(dst, a, b *float32, n int)", "addAVX2 computes dst[i] = a[i] + b[i] for i < n.")
	elementwise(4, []string{"dst", "a", "b"}, func(l lane) {
		v, w := l.load("a"), l.load("b")
		VADDPS(w, v, v)
		l.store(v, "dst")
	})

	function("mulAVX2", "func(dst, a, b *float32, n int)", "mulAVX2 computes dst[i] = a[i] * b[i] for i < n.")
	elementwise(4, []string{"dst", "a", "b"}, func(l lane) {
		v, w := l.load("a"), l.load("b")
		VMULPS(w, v, v)
		l.store(v, "dst")
	})

	function("reluAVX2", "func(dst, x *float32, n int)", "reluAVX2 computes dst[i] = x[i] < 0 ? 0 : x[i] for i < n.")
	zero := YMM()
	VXORPS(zero, zero, zero)
	elementwise(4, []string{"dst", "x"}, func(l lane) {
		v := l.load("x")
		VMAXPS(v, zero, v) // the second source, x, if either is NaN
		l.store(v, "dst")
	})

	function("reluGradAVX2", "func(dx, dy, y *float32, n int)", "reluGradAVX2 computes dx[i] = y[i] > 0 ? dy[i] : 0 for i < n.")
	zero = YMM()
	VXORPS(zero, zero, zero)
	elementwise(4, []string{"dx", "dy", "y"}, func(l lane) {
		g, y := l.load("dy"), l.load("y")
		VCMPPS(Imm(30), zero, y, y) // y > 0
		VANDPS(y, g, g)
		l.store(g, "dx")
	})

	function("tanhGradAVX2", "func(dx, dy, y *float32, n int)", "tanhGradAVX2 computes dx[i] = dy[i] * (1 - y[i]*y[i]) for i < n.")
	one := constant(float(1))
	elementwise(2, []string{"dx", "dy", "y"}, func(l lane) {
		g, y := l.load("dy"), l.load("y")
		VFNMADD213PS(one, y, y)
		VMULPS(y, g, g)
		l.store(g, "dx")
	})

	function("sigmoidGradAVX2", "func(dx, dy, y *float32, n int)", "sigmoidGradAVX2 computes dx[i] = dy[i] * (y[i] * (1 - y[i])) for i < n.")
	one = constant(float(1))
	elementwise(2, []string{"dx", "dy", "y"}, func(l lane) {
		g, y := l.load("dy"), l.load("y")
		t := YMM()
		VSUBPS(y, one, t)
		VMULPS(t, y, y)
		VMULPS(y, g, g)
		l.store(g, "dx")
	})

	reduceAVX2()
	colSumsAVX2()
	prefetch()
}

// prefetch asks for each cache line once.
func prefetch() {
	function("prefetchLines", "func(x *float32, n int)", "prefetchLines asks for the cache lines of x[0] … x[n-1] (n ≥ 1).")
	lines(loadGP("x"), func(x Register) { PREFETCHT0(Mem{Base: x}) })
	function("claimLines", "func(x *float32, n int)",
		"claimLines asks for the cache lines of x[0] … x[n-1] (n ≥ 1), to be written: no other core keeps a copy.")
	Load(Param("x"), RAX)
	lines(RAX, func(Register) {
		Comment("PREFETCHW (AX), which the assembler does not know; older processors take it for nothing")
		for _, b := range []uint8{0x0f, 0x0d, 0x08} {
			Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(b)}})
		}
	})
}

// lines calls f for the beginning of each cache line from x on.
func lines(x Register, f func(x Register)) {
	n := loadGP("n")
	LEAQ(Mem{Base: x, Index: n, Scale: 4, Disp: -4}, n)
	ANDQ(I8(-64), x)
	Label("line")
	f(x)
	ADDQ(Imm(64), x)
	CMPQ(x, n)
	JBE(LabelRef("line"))
	RET()
}

// reduceAVX2 generates the reductions over multiples of 16 elements.
func reduceAVX2() {
	for _, square := range []bool{false, true} {
		name, term := "sumAVX2", "x[i]"
		if square {
			name, term = "sumSqAVX2", "x[i] * x[i]"
		}
		function(name, "func(p *float64, x *float32, n int)", name+" computes p[i mod 16] += "+term+" in float64, for i < n, a multiple of 16.")
		p, x, n := loadGP("p"), loadGP("x"), loadGP("n")
		acc := ymms(4)
		for i := range acc {
			VMOVUPD(Mem{Base: p, Disp: 32 * i}, acc[i])
		}
		Label("loop")
		for i := range acc {
			v := YMM()
			VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, v)
			if square {
				VFMADD231PD(v, v, acc[i])
			} else {
				VADDPD(v, acc[i], acc[i])
			}
		}
		ADDQ(Imm(64), x)
		SUBQ(Imm(16), n)
		JG(LabelRef("loop"))
		for i := range acc {
			VMOVUPD(acc[i], Mem{Base: p, Disp: 32 * i})
		}
		VZEROUPPER()
		RET()
	}
}

// colSumsAVX2 holds the sums of 32 columns, then of 8, then of the rest, over
// all rows.
func colSumsAVX2() {
	function("colSumsAVX2", "func(dst, x *float32, rows, n int)",
		"colSumsAVX2 computes dst[c] += x[r*n+c] for r = 0 … rows-1 in order (rows ≥ 1), c < n.")
	dst, x, rows, cols, n := loadGP("dst"), loadGP("x"), loadGP("rows"), loadGP("n"), loadGP("n")
	SHLQ(Imm(2), cols)
	p, r := GP64(), GP64()
	column := func(label string, vecs int, masked bool) {
		acc := ymms(vecs)
		mask := YMM()
		if masked {
			tailMask(masks, n, mask)
			VMASKMOVPS(Mem{Base: dst}, mask, acc[0])
		} else {
			for i := range acc {
				VMOVUPS(Mem{Base: dst, Disp: 32 * i}, acc[i])
			}
		}
		MOVQ(x, p)
		MOVQ(rows, r)
		Label(label + "rows")
		if masked {
			v := YMM()
			VMASKMOVPS(Mem{Base: p}, mask, v)
			VADDPS(v, acc[0], acc[0])
		} else {
			for i := range acc {
				VADDPS(Mem{Base: p, Disp: 32 * i}, acc[i], acc[i])
			}
		}
		ADDQ(cols, p)
		DECQ(r)
		JNZ(LabelRef(label + "rows"))
		if masked {
			VMASKMOVPS(acc[0], mask, Mem{Base: dst})
			return
		}
		for i := range acc {
			VMOVUPS(acc[i], Mem{Base: dst, Disp: 32 * i})
		}
		ADDQ(U32(32*vecs), dst)
		ADDQ(U32(32*vecs), x)
		SUBQ(Imm(uint64(8*vecs)), n)
	}
	Label("wide")
	CMPQ(n, Imm(32))
	JL(LabelRef("eight"))
	column("wide", 4, false)
	JMP(LabelRef("wide"))
	Label("eight")
	CMPQ(n, Imm(8))
	JL(LabelRef("rest"))
	column("eight", 1, false)
	JMP(LabelRef("eight"))
	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	column("rest", 1, true)
	Label("done")
	VZEROUPPER()
	RET()
}
