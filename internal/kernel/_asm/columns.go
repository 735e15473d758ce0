package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// columnPoints and columnOutputs are the points and outputs of a column; see
// ../winograd_tiles.go.
const (
	columnPoints  = 8
	columnOutputs = 4
)

// winogradColumns computes the products of a few tiles at all points of a column and
// interpolates the column at once: products never leave the registers. Each weight
// is loaded for a few tiles only, so that this pays while all of them stay in the
// first-level cache.
func winogradColumns(tiles int) {
	const t, half = columnPoints, (columnPoints - 1) / 2
	name := fmt.Sprintf("winogradColumns%dAVX512", tiles)
	function(name, "func(mid, x *float32, n, step int, b *int32, nb int, v, powers *float32)",
		fmt.Sprintf("%s computes, for j < n (n ≥ 1), z < %d, p < %d and c < 16, with nb ≥ 1,", name, tiles, columnOutputs),
		"",
		fmt.Sprintf("\tP(i) = Σ_{r<nb} v[((j*%d+i)*nb+r)*16+c] * x[j+i*step+z*%[1]d+b[r]]", t),
		fmt.Sprintf("\tmid[((j*%d+z)*%d+p)*16+c] = Σ_{q<%d} powers[p*%[3]d+q] * (P(1+2*q) ± P(2+2*q))", tiles, columnOutputs, half),
		"",
		fmt.Sprintf("with + for even p, − for odd; for p = 0 plus P(0), for p = %d plus P(%d).", columnOutputs-1, t-1))
	acc, w, sum, y := zmms(t*tiles), ZMM(), ZMM(), ZMM()
	mid, x, n, v := loadGP("mid"), loadGP("x"), loadGP("n"), loadGP("v")
	Store(n, Param("n"))
	b, nb := loadGP("b"), loadGP("nb")
	LEAQ(Mem{Base: b, Index: nb, Scale: 4}, b)
	Comment("1, 3, 5 and 7 times the distance of two points in x and in v.")
	apart := multiples(loadGP("step"), 2)
	weights := GP64()
	MOVQ(nb, weights)
	ahead := multiples(weights, 6)
	NEGQ(nb)
	Store(nb, Param("nb"))
	r, at := nb, GP64()

	Label("column")
	for _, a := range acc {
		VPXORD(a, a, a)
	}
	Load(Param("nb"), r)
	Label("tap")
	MOVLQSX(Mem{Base: b, Index: r, Scale: 4}, at)
	LEAQ(Mem{Base: x, Index: at, Scale: 4}, at)
	for i := range t {
		VMOVUPS(ahead.at(v, i, 0), w)
		for z := range tiles {
			VFMADD231PS_BCST(apart.at(at, i, 4*t*z), w, acc[z*t+i])
		}
	}
	ADDQ(Imm(64), v)
	INCQ(r)
	JNZ(LabelRef("tap"))

	powers := at
	Load(Param("powers"), powers)
	for z := range tiles {
		p := acc[z*t : (z+1)*t]
		to := func(i int) Mem { return Mem{Base: mid, Disp: 64 * (columnOutputs*z + i)} }
		VMOVAPS(p[0], y)
		for q := range half {
			plus, minus := p[1+2*q], p[2+2*q]
			VADDPS(minus, plus, sum)
			VSUBPS(minus, plus, minus)
			VMOVAPS(sum, plus)
			VADDPS(sum, y, y)
		}
		VMOVUPS(y, to(0))
		for i := 1; i < columnOutputs; i++ {
			for q := range half {
				term := p[1+2*q+i%2]
				power := Mem{Base: powers, Disp: 4 * (i*half + q)}
				if q == 0 {
					VMULPS_BCST(power, term, y)
				} else {
					VFMADD231PS_BCST(power, term, y)
				}
			}
			if i == columnOutputs-1 {
				VADDPS(p[t-1], y, y)
			}
			VMOVUPS(y, to(i))
		}
	}
	ADDQ(U32(64*columnOutputs*tiles), mid)
	ADDQ(Imm(4), x)
	Comment("The next column, whose weights follow: v is one point further by now.")
	LEAQ(ahead.at(v, t-1, 0), v)
	left := GP64()
	Load(Param("n"), left)
	DECQ(left)
	Store(left, Param("n"))
	JNZ(LabelRef("column"))
	VZEROUPPER()
	RET()
}

// scaled is 1, 3, 5 and 7 times a distance in bytes.
type scaled [4]GPVirtual

// multiples returns those of a distance in units of 1<<shift bytes.
func multiples(unit GPVirtual, shift uint64) (m scaled) {
	SHLQ(Imm(shift), unit)
	m[0] = unit
	for i := 1; i < 4; i++ {
		m[i] = GP64()
		LEAQ(Mem{Base: m[i-1], Index: unit, Scale: 2}, m[i])
	}
	return m
}

// at is the address i < 8 distances and disp bytes behind base.
func (m *scaled) at(base GPVirtual, i, disp int) Mem {
	a := Mem{Base: base, Disp: disp}
	switch i {
	case 0:
	case 1, 3, 5, 7:
		a.Index, a.Scale = m[i/2], 1
	case 2, 4:
		a.Index, a.Scale = m[0], uint8(i)
	case 6:
		a.Index, a.Scale = m[1], 2
	default:
		panic("asm: more than 7 distances")
	}
	return a
}
