package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	magic   = 3 << 51
	ln2High = 0x1.62e42fefap-1
	ln2Low  = 0x1.cf79abc9e3b39p-40

	expTerms = 11

	// rootsOfTwo is the number of powers 2^(j/16), 0 ≤ j < 16, that AVX-512 looks up in two registers.
	rootsOfTwo = 16
)

// exp replaces x ≤ 700 by its exponential, with a relative error of 3e-13; below −300 it no longer changes.
func (v *vector64) exp(x VecVirtual) {
	VMAXPD(v.float(-300), x, x)
	if v.bytes == 64 {
		v.expByRoots(x)
		return
	}
	v.expTerms(x, expTerms)
}

// keepExp keeps what exp needs in registers: with AVX-512 its constants but for the last coefficients of the series.
func (v *vector64) keepExp(coefficients int) {
	if v.bytes != 64 {
		return
	}
	v.keep(magic, rootsOfTwo*math.Log2E, math.Ln2/rootsOfTwo)
	v.keep(expCoefficients(rootTerms)[:coefficients]...)
	for i := range v.roots {
		v.roots[i] = v.loaded(rootTable(i))
	}
}

// rootTerms is the number of terms for |r| ≤ ln 2/32: r⁶/720 is 1.4e-13.
const rootTerms = 6

// expByRoots takes x = (16n + j) ln 2/16 + r apart, and exp(x) = 2ⁿ 2^(j/16) (1 + r(1 + r/2 + …)) from fewer terms than expTerms, for |x| up to 700.
// 16n + j + 1.5·2⁵² has 16n + j in its last bits: the last four of them choose the root, and all of them, moved to the
// exponent, are added to its bits, from which the table has subtracted j there. The product by ln 2/16 needs no second
// part: its error is 700·16/ln 2 times 2⁻⁵⁸, or 6e-14.
func (v *vector64) expByRoots(x VecVirtual) {
	n, whole := v.new(), v.new()
	VMOVUPD(v.float(magic), n)
	VFMADD231PD(v.float(rootsOfTwo*math.Log2E), x, n)
	VSUBPD(v.float(magic), n, whole)
	VFNMADD231PD(v.float(math.Ln2/rootsOfTwo), whole, x)
	root := v.copy(n)
	VPERMI2PD(v.roots[1], v.roots[0], root)
	VPSLLQ(Imm(48), n, n)
	VPADDQ(n, root, root)
	c := expCoefficients(rootTerms)
	q := v.horner(x, c[:rootTerms-1]...)
	VMULPD(root, x, x)
	VFMADD213PD(root, q, x)
}

var rootTables [2]Mem

// rootTable is half of the table of expByRoots.
func rootTable(half int) Mem {
	if rootTables[half].Symbol.Name != "" {
		return rootTables[half]
	}
	m := GLOBL([]string{"rootsOfTwoLow", "rootsOfTwoHigh"}[half], RODATA|NOPTR)
	for i := range 8 {
		j := uint64(8*half + i)
		DATA(8*i, U64(math.Float64bits(math.Exp2(float64(j)/rootsOfTwo))-j<<48))
	}
	rootTables[half] = m
	return m
}

// expTerms replaces x by its exponential, by the given number of terms of the series. The power of two is added to the
// exponent, n + 1.5·2⁵² having n in its last bits.
func (v *vector64) expTerms(x VecVirtual, terms int) {
	n, whole := v.new(), v.new()
	VMOVUPD(v.float(magic), n)
	VFMADD231PD(v.float(math.Log2E), x, n)
	VSUBPD(v.float(magic), n, whole)
	VFNMADD231PD(v.float(ln2High), whole, x)
	VFNMADD231PD(v.float(ln2Low), whole, x)
	q := v.horner(x, expCoefficients(terms)...)
	VPSLLQ(Imm(52), n, n)
	VPADDQ(n, q, x)
}

// expCoefficients are those of Taylor's series, the highest first.
func expCoefficients(terms int) []float64 {
	c := make([]float64, terms)
	f := 1.0
	for i := range c {
		c[len(c)-1-i] = 1 / f
		f *= float64(i + 1)
	}
	return c
}
