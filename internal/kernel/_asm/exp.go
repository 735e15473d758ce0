package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func expGroup() {
	masks = maskTable()

	function("expAVX2", "func(dst, x *float32, n int)", "expAVX2 computes dst[i] = exp(x[i]) for i < n.")
	elementwise(2, []string{"dst", "x"}, func(l lane) { l.store(exp(l.load("x")), "dst") })

	expAVX512()

	function("tanhAVX2", "func(dst, x *float32, n int)", "tanhAVX2 computes dst[i] = tanh(x[i]) for i < n.")
	elementwise(1, []string{"dst", "x"}, func(l lane) { l.store(tanh(l.load("x")), "dst") })

	function("sigmoidAVX2", "func(dst, x *float32, n int)", "sigmoidAVX2 computes dst[i] = 1/(1 + exp(-x[i])) for i < n.")
	elementwise(2, []string{"dst", "x"}, func(l lane) {
		v := l.load("x")
		VXORPS(bits32(0x80000000), v, v)
		e := exp(v)
		one := constant(float(1))
		VADDPS(one, e, e)
		VDIVPS(e, one, e)
		l.store(e, "dst")
	})

	function("geluAVX2", "func(dst, x *float32, n int)", "geluAVX2 computes dst[i] = x[i]*Φ(x[i]) for i < n, Φ the normal distribution function.")
	elementwise(1, []string{"dst", "x"}, func(l lane) {
		x := l.load("x")
		phi := normal(x)
		VMULPS(x, phi, phi)
		l.store(phi, "dst")
	})

	function("geluGradAVX2", "func(dx, dy, x *float32, n int)",
		"geluGradAVX2 computes dx[i] = dy[i] * (Φ(x[i]) + x[i]*exp(-x[i]*x[i]/2)/sqrt(2π)) for i < n.")
	elementwise(1, []string{"dx", "dy", "x"}, func(l lane) {
		x := l.load("x")
		phi := normal(x)
		q := YMM()
		VMULPS(x, x, q)
		VMULPS(float(-0.5), q, q)
		q = exp(q)
		VMULPS(float(0.3989422804014327), q, q)
		VFMADD231PS(q, x, phi)
		g := l.load("dy")
		VMULPS(phi, g, g)
		l.store(g, "dx")
	})
}

// normal returns Φ(x) = ½erfc(−x/√2). With z = |x|/√2 and t = 1/(1 + z/2),
//
//	erfc z = t·exp(−z² + P(t))
//
// to a relative 1.2e-7 (Numerical Recipes, erfcc); the side of x follows from
// Φ(−x) = 1 − Φ(x). Rounding of z² adds a relative 6e-8·z².
func normal(x VecVirtual) VecVirtual {
	z, t := YMM(), YMM()
	VANDPS(bits32(0x7fffffff), x, z)
	VMULPS(float(0.7071067811865476), z, z)
	VMOVUPS(float(0.5), t)
	VFMADD213PS(float(1), z, t)
	VDIVPS(t, constant(float(1)), t)
	p := horner(t, 0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
		-0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223)
	VFNMADD231PS(z, z, p)
	p = exp(p)
	VMULPS(t, p, p)
	VMULPS(float(0.5), p, p)
	upper := YMM()
	VSUBPS(p, constant(float(1)), upper)
	VBLENDVPS(x, p, upper, p)
	return p
}

// expSeries has the coefficients of P.
var expSeries = []float64{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}

// exp returns eˣ, x destroyed. With n = round(x/ln 2) and r = x − n·ln 2 in two
// pieces, eʳ = 1 + r + r²·P(r) on |r| ≤ ½ln 2 (coefficients of Cephes expf), and
// eˣ = eʳ·2ⁿ, multiplied in two halves so that neither factor leaves the range.
// Beyond ±104 the result no longer changes; NaN passes min and max.
func exp(x VecVirtual) VecVirtual {
	VMINPS(x, constant(float(89)), x)
	VMAXPS(x, constant(float(-104)), x)
	n := YMM()
	VMULPS(float(1.44269504088896341), x, n)
	VROUNDPS(Imm(0), n, n)
	VFNMADD231PS(float(0.693359375), n, x)
	VFNMADD231PS(float(-2.12194440e-4), n, x)
	p := horner(x, expSeries...)
	q := YMM()
	VMULPS(x, x, q)
	VFMADD213PS(x, q, p)
	VADDPS(float(1), p, p)
	half, rest := YMM(), YMM()
	VCVTPS2DQ(n, rest)
	VPSRAD(Imm(1), rest, half)
	VPSUBD(half, rest, rest)
	for _, e := range []VecVirtual{half, rest} {
		VPADDD(bits32(127), e, e)
		VPSLLD(Imm(23), e, e)
		VMULPS(e, p, p)
	}
	return p
}

// expAVX512 generates exp with its constants in registers and the power of two in one instruction, which rounds as the two products of halves do.
func expAVX512() {
	function("expAVX512", "func(dst, x *float32, n int)", "expAVX512 computes dst[i] = exp(x[i]) for i < n (n ≥ 1), with the bits of expAVX2.")
	all := func(x float64) VecVirtual { return constant32(math.Float32bits(float32(x))) }
	most, least, log2e, high, low := all(89), all(-104), all(1.44269504088896341), all(0.693359375), all(-2.12194440e-4)
	var c []VecVirtual
	for _, a := range append(expSeries, 1) {
		c = append(c, all(a))
	}
	dst, x, n := loadGP("dst"), loadGP("x"), loadGP("n")
	chunk16("values", n, func(live Register) {
		v, power, p, q := ZMM(), ZMM(), ZMM(), ZMM()
		VMOVUPS_Z(Mem{Base: x}, live, v)
		VMINPS(v, most, v)
		VMAXPS(v, least, v)
		VMULPS(log2e, v, power)
		VRNDSCALEPS(Imm(0), power, power)
		VFNMADD231PS(high, power, v)
		VFNMADD231PS(low, power, v)
		VMOVAPS(c[0], p)
		for _, a := range c[1:len(expSeries)] {
			VFMADD213PS(a, v, p)
		}
		VMULPS(v, v, q)
		VFMADD213PS(v, q, p)
		VADDPS(c[len(expSeries)], p, p)
		VSCALEFPS(power, p, p)
		VMOVUPS(p, live, Mem{Base: dst})
	}, dst, x)
	VZEROUPPER()
	RET()
}

// tanh returns tanh x, x destroyed: x + x³·P(x²) below 0.625 (Cephes tanhf),
// else 1 − 2/(e²ˣ + 1) with the sign of x.
func tanh(x VecVirtual) VecVirtual {
	sign, a := YMM(), YMM()
	VANDPS(bits32(0x80000000), x, sign)
	VANDNPS(x, constant(bits32(0x80000000)), a)
	big := YMM()
	VADDPS(a, a, big)
	big = exp(big)
	one := constant(float(1))
	VADDPS(one, big, big)
	two := constant(float(2))
	VDIVPS(big, two, big)
	VSUBPS(big, one, big)
	VORPS(sign, big, big)
	s := YMM()
	VMULPS(x, x, s)
	p := horner(s, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	VMULPS(s, p, p)
	VFMADD213PS(x, x, p)
	small := YMM()
	VCMPPS(Imm(17), float(0.625), a, small)
	VBLENDVPS(small, p, big, big)
	return big
}
