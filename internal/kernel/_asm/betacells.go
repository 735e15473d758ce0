package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// cellMasses generates the function that integrates over cells.
func cellMasses(v *vector64) {
	function("cellMasses"+v.name, "func(mass, f *float64, stride int, step *float64, n int, least *float64)",
		"cellMasses"+v.name+fmt.Sprintf(" computes cellMassesGeneric for n cells, a multiple of 8, and sets least to the smallest integral of each of %d lanes.", v.bytes/8))
	mass, f, stride, step, n := loadGP("mass"), loadGP("f"), loadGP("stride"), loadGP("step"), loadGP("n")
	SHLQ(Imm(3), stride)
	upper := GP64()
	LEAQ(Mem{Base: f, Index: stride, Scale: 2}, upper)
	ADDQ(stride, upper)
	least, zero := v.new(), v.new()
	VXORPD(least, least, least)
	VXORPD(zero, zero, zero)
	Label("loop")
	h, sum := v.loaded(Mem{Base: step}), v.new()
	for d, c := range []float64{1. / 665280, 1. / 15840, 1. / 792, 1. / 66, 5. / 44, 0.5} {
		d = 5 - d
		left := Mem{Base: f}
		if d >= 3 {
			left = Mem{Base: upper}
		}
		if d%3 > 0 {
			left.Index, left.Scale = stride, uint8(d%3)
		}
		right := left
		right.Disp = 8
		x := v.loaded(left)
		if d%2 == 0 {
			VADDPD(right, x, x)
		} else {
			VSUBPD(right, x, x)
		}
		VMULPD(v.float(c), x, x)
		if d < 5 {
			VFMADD213PD(x, h, sum)
		} else {
			VMOVAPD(x, sum)
		}
	}
	VMULPD(h, sum, sum)
	VMINPD(sum, least, least)
	VMAXPD(zero, sum, sum)
	VMOVUPD(sum, Mem{Base: mass})
	for _, p := range []GPVirtual{mass, f, upper, step} {
		ADDQ(Imm(uint64(v.bytes)), p)
	}
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("loop"))
	to := loadGP("least")
	VMOVUPD(least, Mem{Base: to})
	VZEROUPPER()
	RET()
}

// The rows of cells, 64 bytes each: the fields of BetaCells.
const (
	cellLeft   = 0
	cellRight  = 6
	cellLength = 12
	cellAt     = 13
	cellWhole  = 14
	cellWork   = 15
)

// cellPolynomial is a polynomial of degree 11 in memory, 64 bytes from one coefficient to the next.
type cellPolynomial struct {
	v  *vector64
	at Mem
}

func (c cellPolynomial) row(d int) Mem { return c.at.Offset(64 * d) }

// value returns the polynomial at t.
func (c cellPolynomial) value(t VecVirtual) VecVirtual {
	s := c.v.loaded(c.row(11))
	for d := 10; d >= 0; d-- {
		VFMADD213PD(c.row(d), t, s)
	}
	return s
}

// lessMultiples subtracts multiples of coefficients from x, the first of them from[i].
func (v *vector64) lessMultiples(x VecVirtual, from []VecVirtual, multiples ...float64) {
	for i, m := range multiples {
		if m == 1 {
			VSUBPD(from[i], x, x)
		} else {
			VFNMADD231PD(v.float(m), from[i], x)
		}
	}
}

// polynomial computes that of cells, as BetaCells.polynomial does, and its integral, divided by t; density may be nil.
func (v *vector64) polynomial(cells GPVirtual, at int, density, integral *cellPolynomial) {
	in := func(row int) Mem { return Mem{Base: cells, Disp: 64*row + at} }
	Comment("left and right ends times h^(d+1)/d!")
	h := v.loaded(in(cellLength))
	scale := v.copy(h)
	c, r := make([]VecVirtual, 6), make([]VecVirtual, 6)
	for d := range c {
		c[d], r[d] = v.new(), v.new()
		VMULPD(in(cellLeft+d), scale, c[d])
		VMULPD(in(cellRight+d), scale, r[d])
		if d < 5 {
			VMULPD(h, scale, scale)
			VMULPD(v.float(1/float64(d+1)), scale, scale)
		}
	}
	Comment("what the left end leaves at the right end, by powers of t - 1, divided by t^6")
	binomials := [][]float64{{1, 1, 1, 1, 1, 1}, {1, 2, 3, 4, 5}, {1, 3, 6, 10}, {1, 4, 10}, {1, 5}, {1}}
	for d, row := range binomials {
		v.lessMultiples(r[d], c[d:], row...)
	}
	store := func(d int, x VecVirtual) {
		if density != nil {
			VMOVUPD(x, density.row(d))
		}
		VMULPD(v.float(1/float64(d+1)), x, x)
		VMOVUPD(x, integral.row(d))
	}
	for d, x := range c {
		store(d, x)
	}
	for d, row := range [][]float64{{}, {6}, {15, 6}, {20, 15, 6}, {15, 20, 15, 6}, {6, 15, 20, 15, 6}} {
		v.lessMultiples(r[d], r, row...)
	}
	Comment("by powers of t")
	for d, row := range binomials {
		x := v.copy(r[d])
		for i, m := range row[1:] {
			if i%2 == 0 {
				m = -m
			}
			VFMADD231PD(v.float(m), r[d+1+i], x)
		}
		store(6+d, x)
	}
}

// cellIntegrals generates the function that integrates polynomials of cells.
func cellIntegrals(v *vector64) {
	function("cellIntegrals"+v.name, "func(dst, cells *float64)", "cellIntegrals"+v.name+" computes BetaCells.Integrals.")
	dst, cells := loadGP("dst"), loadGP("cells")
	for at := 0; at < 64; at += v.bytes {
		integral := cellPolynomial{v, Mem{Base: cells, Disp: 64*cellWork + at}}
		v.polynomial(cells, at, nil, &integral)
		t := v.loaded(Mem{Base: cells, Disp: 64*cellAt + at})
		s := integral.value(t)
		VMULPD(t, s, s)
		VMOVUPD(s, Mem{Base: dst, Disp: at})
	}
	VZEROUPPER()
	RET()
}

// cellRoots generates the function that finds roots of integrals of polynomials of cells.
func cellRoots(v *vector64) {
	function("cellRoots"+v.name, "func(dst, cells *float64)", "cellRoots"+v.name+" computes BetaCells.Roots.")
	dst, cells := loadGP("dst"), loadGP("cells")
	for at := 0; at < 64; at += v.bytes {
		density := cellPolynomial{v, Mem{Base: cells, Disp: 64*cellWork + at}}
		integral := cellPolynomial{v, density.row(12)}
		in := func(row int) Mem { return Mem{Base: cells, Disp: 64*row + at} }
		to := Mem{Base: dst, Disp: at}
		v.polynomial(cells, at, &density, &integral)
		t, lo, hi, root := v.loaded(in(cellAt)), v.new(), v.loaded(v.float(1)), v.loaded(v.float(math.NaN()))
		VDIVPD(in(cellWhole), t, t)
		VXORPD(lo, lo, lo)
		Comment("active lanes are those without a root, in which the density is positive")
		active := v.less(lo, hi)
		steps := GP64()
		MOVQ(I32(cellSteps), steps)
		loop, done := fmt.Sprintf("loop%d", at), fmt.Sprintf("done%d", at)
		Label(loop)
		f, left, zero := density.value(t), integral.value(t), v.new()
		VXORPD(zero, zero, zero)
		VFNMADD213PD(in(cellAt), t, left)
		v.maskAnd(active, v.less(zero, f), active)
		above := v.less(zero, left)
		VMOVAPD(v.choose(above, t, lo), lo)
		VMOVAPD(v.choose(above, hi, t), hi)
		Comment("a Newton step; a small one is the last")
		VDIVPD(f, left, left)
		next, size := v.new(), v.new()
		VADDPD(left, t, next)
		VANDPD(v.bits(1<<63-1), left, size)
		last := v.less(size, v.loaded(v.float(cellStep)))
		v.maskAnd(active, last, last)
		VMAXPD(zero, next, size)
		VMINPD(v.float(1), size, size)
		VMOVAPD(v.choose(last, size, root), root)
		v.maskAndNot(last, active, active)
		Comment("a point outside is replaced by the middle")
		middle := v.new()
		VSUBPD(lo, hi, middle)
		VMULPD(v.float(0.5), middle, middle)
		VADDPD(lo, middle, middle)
		inside := v.less(lo, next)
		v.maskAnd(inside, v.less(next, hi), inside)
		VMOVAPD(v.choose(inside, next, middle), t)
		v.jumpIfNone(active, done)
		DECQ(steps)
		JNZ(LabelRef(loop))
		Label(done)
		VMOVUPD(root, to)
	}
	VZEROUPPER()
	RET()
}

const cellSteps, cellStep = 40, 1e-7

// maskAnd sets to to lanes that are in both masks, maskAndNot to lanes of b that are not in a.
func (v *vector64) maskAnd(a, b, to Op) {
	if v.bytes == 64 {
		KANDW(a, b, to)
	} else {
		VANDPD(a, b, to)
	}
}

func (v *vector64) maskAndNot(a, b, to Op) {
	if v.bytes == 64 {
		KANDNW(b, a, to)
	} else {
		VANDNPD(b, a, to)
	}
}

// jumpIfNone jumps if no lane is in the mask.
func (v *vector64) jumpIfNone(mask Op, label string) {
	if v.bytes == 64 {
		KORTESTW(mask, mask)
	} else {
		VTESTPD(mask, mask)
	}
	JZ(LabelRef(label))
}
