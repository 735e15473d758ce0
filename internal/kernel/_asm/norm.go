package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func normGroup() {
	masks = maskTable()

	function("normAVX2", "func(y, x *float32, mean, a, b float32, n int)",
		"normAVX2 computes y[i] = (x[i]-mean)*a + b for i < n, each operation rounded.")
	mean, a, b := broadcast("mean"), broadcast("a"), broadcast("b")
	elementwise(4, []string{"y", "x"}, func(l lane) {
		v := l.load("x")
		VSUBPS(mean, v, v)
		VMULPS(a, v, v)
		VADDPS(b, v, v)
		l.store(v, "y")
	})

	function("normGradAVX2", "func(dx, dy, x *float32, mean, inv, scale, a, b float32, n int)",
		"normGradAVX2 computes dx[i] = scale * (dy[i] - a - (x[i]-mean)*inv*b) for i < n,", "each operation rounded.")
	mean, inv, scale := broadcast("mean"), broadcast("inv"), broadcast("scale")
	a, b = broadcast("a"), broadcast("b")
	elementwise(2, []string{"dx", "dy", "x"}, func(l lane) {
		g, v := l.load("dy"), l.load("x")
		VSUBPS(mean, v, v)
		VMULPS(inv, v, v)
		VMULPS(b, v, v)
		VSUBPS(a, g, g)
		VSUBPS(v, g, g)
		VMULPS(scale, g, g)
		l.store(g, "dx")
	})

	function("centredDotAVX2", "func(p *float64, dy, x *float32, mean float32, n int)",
		"centredDotAVX2 computes p[i mod 16] += dy[i] * (x[i]-mean) for i < n, a multiple of 16:",
		"the difference in float32, the rest in float64.")
	p, dy, x, n := loadGP("p"), loadGP("dy"), loadGP("x"), loadGP("n")
	centre := broadcast("mean").AsX()
	acc := ymms(4)
	for i := range acc {
		VMOVUPD(Mem{Base: p, Disp: 32 * i}, acc[i])
	}
	Label("loop")
	for i := range acc {
		v, left, right := XMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: x, Disp: 16 * i}, v)
		VSUBPS(centre, v, v)
		VCVTPS2PD(v, right)
		VCVTPS2PD(Mem{Base: dy, Disp: 16 * i}, left)
		VFMADD231PD(left, right, acc[i]) // the product is exact
	}
	ADDQ(Imm(64), dy)
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JG(LabelRef("loop"))
	for i := range acc {
		VMOVUPD(acc[i], Mem{Base: p, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}
