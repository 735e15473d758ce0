package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func tailsGroup() {
	for _, v := range []*vector64{{name: "AVX512", new: ZMM, bytes: 64}, {name: "AVX2", new: YMM, bytes: 32}} {
		betaTails(v)
		v.frame, v.held = nil, 0
		logBetas(v)
	}
}

// The layout of BetaTailTerm: eight values each.
const (
	tailA = 64 * iota
	tailB
	tailC
	tailW
	tailTermSize
)

// tailTerms is how many terms of the continued fraction are taken: BetaTailLimit.
const tailTerms = 64

// betaTails generates the function that finds the lower tails of eight mixtures, each at a point of its own.
func betaTails(v *vector64) {
	function("betaTails"+v.name, "func(dst, z, q *float64, terms *float64, n int)",
		"betaTails"+v.name+" computes BetaTails for n > 0 terms of four times eight numbers each.")
	dst, z, q := loadGP("dst"), loadGP("z"), loadGP("q")
	for at := 0; at < 64; at += v.bytes {
		v.held = 0
		terms, left := loadGP("terms"), loadGP("n")
		Comment(fmt.Sprintf("lanes %d to %d: x, y and their logarithms", at/8, (at+v.bytes)/8-1))
		p := v.tailPoint(Mem{Base: z, Disp: at})
		Comment("dst holds the sums over the terms: the mass below the point and three derivatives")
		zero := v.new()
		VXORPD(zero, zero, zero)
		for d := range 4 {
			VMOVUPD(zero, Mem{Base: dst, Disp: 64*d + at})
		}
		loop := fmt.Sprintf("terms%d", at)
		Label(loop)
		v.tailTerm(p, terms, dst, at)
		ADDQ(U32(tailTermSize), terms)
		DECQ(left)
		JNZ(LabelRef(loop))
		v.tailSeries(Mem{Base: dst, Disp: at}, Mem{Base: q, Disp: at})
	}
	VZEROUPPER()
	RET()
}

// tailPoint is a point, x = e^logX and y = 1 − x.
type tailPoint struct{ x, y, logX, logY Op }

// tailPoint computes points from their logits.
func (v *vector64) tailPoint(logits Mem) (p tailPoint) {
	logX, logY, e, below := v.sides(logits)
	v.exactExp(e)
	whole := v.new()
	l, one := v.log1p(e), v.new()
	VMOVUPD(v.float(1), one)
	VADDPD(one, e, whole)
	VDIVPD(whole, one, whole)
	VMULPD(whole, e, e)
	p.x, p.y = v.hold(v.choose(below, e, whole)), v.hold(v.choose(below, whole, e))
	VSUBPD(l, logX, logX)
	VSUBPD(l, logY, logY)
	p.logX, p.logY = v.hold(logX), v.hold(logY)
	return p
}

// tailTerm adds a term to the sums: its density φ = exp(C + A ln x + B ln y) and what follows from it. The tail on the side
// of the mean on which the point lies is φ times a continued fraction.
func (v *vector64) tailTerm(p tailPoint, term, dst GPVirtual, at int) {
	param := func(d int) Mem { return Mem{Base: term, Disp: d + at} }
	a, b, f := v.new(), v.new(), v.new()
	VMOVUPD(param(tailA), a)
	VMOVUPD(param(tailB), b)
	VMOVUPD(param(tailC), f)
	VFMADD231PD(p.logX, a, f)
	VFMADD231PD(p.logY, b, f)
	v.exactExp(f)
	lambda, curve, t := v.new(), v.new(), v.new()
	VMULPD(p.y, a, lambda)
	VFNMADD231PD(p.x, b, lambda)
	Comment("the density and its derivatives: times lambda = ay - bx, and times lambda^2 - (a+b)xy")
	VADDPD(a, b, curve)
	VMULPD(p.x, curve, curve)
	VMULPD(p.y, curve, curve)
	VMULPD(lambda, lambda, t)
	VSUBPD(curve, t, curve)
	for d, factor := range []VecVirtual{nil, lambda, curve} {
		sum, to := v.new(), Mem{Base: dst, Disp: 64*(d+1) + at}
		VMOVUPD(to, sum)
		if factor == nil {
			VADDPD(f, sum, sum)
		} else {
			VFMADD231PD(factor, f, sum)
		}
		VMOVUPD(sum, to)
	}
	Comment("above the mean a and b, x and y change places")
	zero, x, y := v.new(), v.new(), v.new()
	VXORPD(zero, zero, zero)
	VMOVUPD(p.x, x)
	VMOVUPD(p.y, y)
	above := v.less(lambda, zero)
	c := tailFraction{a: v.choose(above, b, a), b: v.hold(v.choose(above, a, b)), x: v.hold(v.choose(above, y, x))}
	VANDPD(v.bits(math.MaxInt64), lambda, lambda)
	VADDPD(v.float(1), lambda, lambda)
	c.l = v.hold(lambda)
	density := v.hold(f)
	if v.bytes == 32 {
		above = v.hold(above.(VecVirtual))
	}
	tail := v.fraction(c, fmt.Sprintf("%d", at))
	VMULPD(density, tail, tail)
	Comment("below the mean that is the mass, above it what the weight has more")
	mass, rest := v.new(), v.new()
	VMOVUPD(param(tailW), rest)
	VSUBPD(tail, rest, rest)
	if v.bytes == 32 {
		m := v.new()
		VMOVUPD(above, m)
		above = m
	}
	tail = v.choose(above, rest, tail)
	VADDPD(Mem{Base: dst, Disp: at}, tail, mass)
	VMOVUPD(mass, Mem{Base: dst, Disp: at})
}

// tailFraction are the parameters of the continued fraction: l is 1 + λ. The first is in a register, which changes.
type tailFraction struct {
	a       VecVirtual
	b, x, l Op
}

// fraction returns the continued fraction of special.fractionRatio by the forward recurrence of its convergents n/d,
// NaN in lanes where it takes too many terms. A lane keeps the first convergent that is exact, so that its value does not
// depend on the others.
func (v *vector64) fraction(c tailFraction, label string) VecVirtual {
	one, r := v.new(), v.new()
	VMOVUPD(v.float(1), one)
	VADDPD(one, c.a, r)
	VDIVPD(r, one, r)
	n0, n1, d0, d1 := v.new(), v.copy(one), v.copy(one), v.new()
	VXORPD(n0, n0, n0)
	VMULPD(c.l, c.a, d1)
	VMULPD(r, d1, d1)
	kept := v.newLanes()
	m := v.copy(one)
	a := c.a // a + m − 1
	left := GP64()
	MOVQ(U32(tailTerms), left)
	loop := "fraction" + label
	Label(loop)
	t, alpha, beta := v.new(), v.new(), v.new()
	Comment("t = m(b-m)xr, alpha = (a+m-1)(a+b+m-1)xrt")
	VMOVUPD(c.b, t)
	VADDPD(t, a, alpha)
	VSUBPD(m, t, t)
	VMULPD(m, t, t)
	VMULPD(c.x, r, r)
	VMULPD(r, t, t)
	VMULPD(a, alpha, alpha)
	VMULPD(r, t, beta)
	VMULPD(beta, alpha, alpha)
	Comment("r = 1/(a+2m+1), beta = m + t + (a+m)(l + m(2-x))r")
	VADDPD(v.float(1), a, a)
	VADDPD(v.float(1), a, r)
	VADDPD(m, r, r)
	VMOVUPD(v.float(1), beta)
	VDIVPD(r, beta, r)
	VADDPD(m, t, t)
	VMOVUPD(v.float(2), beta)
	VSUBPD(c.x, beta, beta)
	VFMADD213PD(c.l, m, beta)
	VMULPD(a, beta, beta)
	VFMADD213PD(t, r, beta)
	Comment("the next convergent, in place of the one before the last")
	VMULPD(alpha, n0, n0)
	VFMADD231PD(n1, beta, n0)
	VMULPD(alpha, d0, d0)
	VFMADD231PD(d1, beta, d0)
	VMULPD(d1, n0, t)
	VMOVAPD(t, alpha)
	VFNMADD231PD(n1, d0, alpha)
	VANDPD(v.bits(math.MaxInt64), alpha, alpha)
	VANDPD(v.bits(math.MaxInt64), t, t)
	VMULPD(v.float(0x1p-53), t, t)
	v.keepLanes(kept, v.lessOrEqual(alpha, t), n0, d0)
	v.jumpIfAll(kept, "exact"+label)
	for _, pair := range [][2]VecVirtual{{n0, n1}, {d0, d1}} {
		VMOVAPD(pair[0], t)
		VMOVAPD(pair[1], pair[0])
		VMOVAPD(t, pair[1])
	}
	VADDPD(v.float(1), m, m)
	DECQ(left)
	JNZ(LabelRef(loop))
	Label("exact" + label)
	return v.keptRatio(kept)
}

// lanes are the lanes of which numerator and denominator are kept.
type lanes struct {
	done VecVirtual // AVX2: all ones in lanes that are kept
	mask Register   // AVX-512
	n, d Op
}

// newLanes has kept none: 0/0 is NaN.
func (v *vector64) newLanes() *lanes {
	n, d := v.new(), v.new()
	VXORPD(n, n, n)
	VXORPD(d, d, d)
	if v.bytes == 64 {
		mask := K()
		KXORB(mask, mask, mask)
		return &lanes{mask: mask, n: n, d: d}
	}
	done := v.new()
	VXORPD(done, done, done)
	return &lanes{done: done, n: v.hold(n), d: v.hold(d)}
}

// keepLanes keeps n and d where they are exact and were not kept before.
func (v *vector64) keepLanes(k *lanes, exact Op, n, d VecVirtual) {
	if v.bytes == 64 {
		fresh := K()
		KANDNB(exact, k.mask, fresh)
		VMOVAPD(n, fresh, k.n)
		VMOVAPD(d, fresh, k.d)
		KORB(exact, k.mask, k.mask)
		return
	}
	fresh := v.new()
	VANDNPD(exact, k.done, fresh)
	for _, pair := range []struct {
		value VecVirtual
		to    Op
	}{{n, k.n}, {d, k.d}} {
		t := v.new()
		VMOVUPD(pair.to, t)
		VBLENDVPD(fresh, pair.value, t, t)
		VMOVUPD(t, pair.to)
	}
	VORPD(exact, k.done, k.done)
}

// jumpIfAll jumps if all lanes are kept.
func (v *vector64) jumpIfAll(k *lanes, label string) {
	if v.bytes == 64 {
		KORTESTB(k.mask, k.mask)
		JCS(LabelRef(label))
		return
	}
	bits := GP32()
	VMOVMSKPD(k.done, bits)
	CMPL(bits, Imm(15))
	JEQ(LabelRef(label))
}

// keptRatio returns n/d.
func (v *vector64) keptRatio(k *lanes) VecVirtual {
	r := v.new()
	VMOVUPD(k.n, r)
	VDIVPD(k.d, r, r)
	return r
}

// lessOrEqual compares lanes.
func (v *vector64) lessOrEqual(x, y VecVirtual) Op {
	var m Op = K()
	if v.bytes == 32 {
		m = v.new()
	}
	VCMPPD(Imm(2), y, x, m)
	return m
}

// tailSeries replaces the mass and its derivatives at dst by what a step of root finding takes: with h = ln(mass/q),
// h itself, d = −h/h′, d h″/(2h′) and d² h‴/(6h′).
func (v *vector64) tailSeries(dst, q Mem) {
	row := func(d int) Mem { m := dst; m.Disp += 64 * d; return m }
	mass, r := v.new(), v.new()
	VMOVUPD(dst, mass)
	VMOVUPD(v.float(1), r)
	VDIVPD(mass, r, r)
	h1, r2, r3 := v.new(), v.new(), v.new()
	VMULPD(row(1), r, h1)
	VMULPD(row(2), r, r2)
	VMULPD(row(3), r, r3)
	Comment("h'' = r2 - h'^2, h''' = r3 - 3h'r2 + 2h'^3")
	h2 := v.copy(r2)
	VFNMADD231PD(h1, h1, h2)
	t := v.copy(h2)
	VADDPD(t, t, t)
	VADDPD(r2, t, t) // 3r2 − 2h′²
	VFNMADD231PD(t, h1, r3)
	VDIVPD(q, mass, mass)
	h := v.new()
	VMOVUPD(v.float(0x1p-1000), h)
	VMAXPD(mass, h, h)
	h = v.log(h)
	d := v.new()
	VMOVUPD(v.float(1), d)
	VDIVPD(h1, d, d) // 1/h′
	VMULPD(d, h2, h2)
	VMULPD(d, r3, r3)
	VMULPD(h, d, d)
	VXORPD(v.bits(1<<63), d, d)
	VMULPD(d, h2, h2)
	VMULPD(v.float(0.5), h2, h2)
	VMULPD(d, r3, r3)
	VMULPD(d, r3, r3)
	VMULPD(v.float(1./6), r3, r3)
	for i, x := range []VecVirtual{h, d, h2, r3} {
		VMOVUPD(x, row(i))
	}
}

// hold returns x where there are registers enough, otherwise a copy of it in the function's frame.
func (v *vector64) hold(x VecVirtual) Op {
	if v.bytes == 64 {
		return x
	}
	if v.held == len(v.frame) {
		v.frame = append(v.frame, AllocLocal(v.bytes))
	}
	m := v.frame[v.held]
	v.held++
	VMOVUPD(x, m)
	return m
}

// exactExp makes x its exponential with a relative error of 3e-16, for −700 ≤ x ≤ 700; below that it no longer changes.
func (v *vector64) exactExp(x VecVirtual) {
	VMAXPD(v.float(-700), x, x)
	v.expTerms(x, 14)
}
