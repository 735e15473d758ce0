package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// logBetas generates the function that takes logarithms of Beta functions.
func logBetas(v *vector64) {
	function("logBetas"+v.name, "func(logW, logA, logB, beta, w, a, b *float64, n int)",
		"logBetas"+v.name+" computes LogBetas for n > 0 distributions, a multiple of 8.")
	to := []GPVirtual{loadGP("logW"), loadGP("logA"), loadGP("logB"), loadGP("beta")}
	from := []GPVirtual{loadGP("w"), loadGP("a"), loadGP("b")}
	n := loadGP("n")
	Label("loop")
	var value [3]VecVirtual
	for i := range value {
		value[i] = v.new()
		VMOVUPD(Mem{Base: from[i]}, value[i])
		VMOVUPD(v.log(value[i]), Mem{Base: to[i]})
	}
	Comment("G(x) = G(x+10)/p, p = x(x+1)...(x+9), for x < 10, and with it for a + b what is next of them")
	sum := v.new()
	VADDPD(value[1], value[2], sum)
	pa, first, smallA := v.raised(value[1])
	pb, second, smallB := v.raised(value[2])
	ps := v.rising(sum)
	VADDPD(v.float(10), sum, sum)
	p20 := v.rising(sum)
	VMULPD(ps, p20, p20)
	one := v.new()
	VMOVUPD(v.float(1), one)
	VMULPD(pb, pa, pa)
	VDIVPD(v.choose(smallA, v.choose(smallB, p20, ps), v.choose(smallB, ps, one)), pa, pa)
	product := v.hold(v.log(pa))
	Comment("the smaller one is a, so that the result does not depend on their order; s = a + b, low what it was rounded by")
	a, b, s, low := v.new(), v.new(), v.new(), v.new()
	VMINPD(first, second, a)
	VMAXPD(first, second, b)
	VADDPD(a, b, s)
	VSUBPD(b, s, low)
	VSUBPD(low, a, low)
	Comment("the remainders of Stirling's formula, half of ln 2pi, and what is known already")
	sum = v.stirling(a)
	VADDPD(v.stirling(b), sum, sum)
	VSUBPD(v.stirling(s), sum, sum)
	VADDPD(v.float(halfLog2Pi), sum, sum)
	VSUBPD(low, sum, sum)
	VSUBPD(product, sum, sum)
	Comment("(a-1/2) ln(a/b) - (s-1/2) ln(1+a/b) - (ln b)/2")
	half := v.new()
	VMOVUPD(v.float(0.5), half)
	VFNMADD231PD(v.log(b), half, sum)
	VDIVPD(b, a, b)
	VSUBPD(half, s, s)
	VFNMADD231PD(v.log1p(b), s, sum)
	VSUBPD(half, a, a)
	VFMADD231PD(v.log(b), a, sum)
	VMOVUPD(sum, Mem{Base: to[3]})
	for _, at := range append(to, from...) {
		ADDQ(Imm(uint64(v.bytes)), at)
	}
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// raised returns p = x(x+1)…(x+9) and x + 10 for x < 10, otherwise 1 and x, and where x is less.
func (v *vector64) raised(x VecVirtual) (p, z VecVirtual, small Op) {
	ten, one := v.new(), v.new()
	VMOVUPD(v.float(10), ten)
	small = v.less(x, ten)
	VADDPD(ten, x, ten)
	VMOVUPD(v.float(1), one)
	return v.choose(small, v.rising(x), one), v.choose(small, ten, x), small
}

// rising returns x(x+1)…(x+9).
func (v *vector64) rising(x VecVirtual) VecVirtual {
	p, z := v.copy(x), v.copy(x)
	for range 9 {
		VADDPD(v.float(1), z, z)
		VMULPD(z, p, p)
	}
	return p
}

// stirling returns the remainder of Stirling's formula for x ≥ 10.
func (v *vector64) stirling(x VecVirtual) VecVirtual {
	r, u := v.new(), v.new()
	VMOVUPD(v.float(1), r)
	VDIVPD(x, r, r)
	VMULPD(r, r, u)
	q := v.horner(u, -3617./122400, 1./156, -691./360360, 1./1188, -1./1680, 1./1260, -1./360, 1./12)
	VMULPD(r, q, q)
	return q
}
