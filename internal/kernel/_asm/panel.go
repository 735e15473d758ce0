package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func panelGroup() {
	for _, wide := range []bool{true, false} {
		rootGammas(newVector64(wide))
		gridGammas(newVector64(wide))
		panelBelow(newVector64(wide))
		leaveOneOut(newVector64(wide))
	}
}

// newVector64 returns the vectors of AVX-512, with constants in registers, or those of AVX2.
func newVector64(wide bool) *vector64 {
	if wide {
		return &vector64{name: "AVX512", new: ZMM, bytes: 64, kept: map[float64]VecVirtual{}}
	}
	return &vector64{name: "AVX2", new: YMM, bytes: 32}
}

// rootGammas generates the function that computes the densities of several variables at the same points.
func rootGammas(v *vector64) {
	function("rootGammas"+v.name, "func(dst, s, lines *float64, m, n int)",
		"rootGammas"+v.name+" computes dst[j*n+k] = exp(lines[2*j+1] + lines[2*j]*ln(s[k]) - s[k]*s[k]) for j < m and k < n, a multiple of 8.")
	dst, s, m, n := loadGP("dst"), loadGP("s"), loadGP("m"), loadGP("n")
	v.keepExp(rootTerms - 1)
	stride, left := GP64(), GP64()
	MOVQ(n, left)
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	Label("points")
	x, square := v.new(), v.new()
	VMOVUPD(Mem{Base: s}, x)
	VMULPD(x, x, square)
	log := v.log(x)
	line, j, to := loadGP("lines"), GP64(), GP64()
	MOVQ(m, j)
	MOVQ(dst, to)
	Label("variables")
	f, slope := v.new(), v.new()
	VBROADCASTSD(Mem{Base: line}, slope)
	VBROADCASTSD(Mem{Base: line, Disp: 8}, f)
	VSUBPD(square, f, f)
	VFMADD231PD(log, slope, f)
	v.exp(f)
	VMOVUPD(f, Mem{Base: to})
	ADDQ(Imm(16), line)
	ADDQ(stride, to)
	DECQ(j)
	JNZ(LabelRef("variables"))
	ADDQ(Imm(uint64(v.bytes)), s)
	ADDQ(Imm(uint64(v.bytes)), dst)
	SUBQ(Imm(uint64(v.bytes/8)), left)
	JG(LabelRef("points"))
	VZEROUPPER()
	RET()
}

// gridTerms and gridRow are those of package kernel.
const gridTerms, gridRow = 10, 48

// gridGammas generates the function that takes distribution functions from tables, and computes densities.
func gridGammas(v *vector64) {
	function("gridGammas"+v.name, "func(cdf, pdf, slope, offset, table *float64, variables *int, m, n int)",
		"gridGammas"+v.name+" computes gridGammasGeneric for m > 0 variables at n points, a multiple of 8.")
	cdf, pdf, slope, offset := loadGP("cdf"), loadGP("pdf"), loadGP("slope"), loadGP("offset")
	variable, m, n := loadGP("variables"), loadGP("m"), loadGP("n")
	v.keepExp(rootTerms - 1)
	one := v.loaded(v.float(1))
	Label("variable")
	row, left, k := loadGP("table"), GP64(), GP64()
	MOVQ(Mem{Base: variable}, left)
	LEAQ(Mem{Base: row, Index: left, Scale: 8}, row)
	MOVQ(Mem{Base: variable, Disp: 8}, left)
	x, a, log := v.new(), v.new(), v.new()
	VBROADCASTSD(Mem{Base: variable, Disp: 16}, x)
	VBROADCASTSD(Mem{Base: variable, Disp: 24}, a)
	VBROADCASTSD(Mem{Base: variable, Disp: 32}, log)
	XORQ(k, k)
	Label("points")
	for at := 0; at < 64; at += v.bytes {
		f := v.new()
		VMOVUPD(Mem{Base: offset, Index: k, Scale: 8, Disp: at}, f)
		VSUBPD(log, f, f)
		VFMADD231PD(Mem{Base: slope, Index: k, Scale: 8, Disp: at}, a, f)
		v.exp(f)
		VMOVUPD(f, Mem{Base: pdf, Disp: at})
	}
	sums := make([]VecVirtual, 64/v.bytes)
	for i := range sums {
		sums[i] = v.loaded(one)
	}
	TESTQ(left, left)
	JLE(LabelRef("ones"))
	for i := range sums {
		in := func(d int) Mem { return Mem{Base: row, Index: k, Scale: 8, Disp: 8*d*gridRow + i*v.bytes} }
		VMOVUPD(in(gridTerms-1), sums[i])
		for d := gridTerms - 2; d >= 0; d-- {
			VFMADD213PD(in(d), x, sums[i])
		}
	}
	Label("ones")
	for i, sum := range sums {
		VMOVUPD(sum, Mem{Base: cdf, Disp: i * v.bytes})
	}
	SUBQ(Imm(8), left)
	ADDQ(Imm(8), k)
	ADDQ(Imm(64), cdf)
	ADDQ(Imm(64), pdf)
	CMPQ(k, n)
	JL(LabelRef("points"))
	ADDQ(Imm(40), variable)
	DECQ(m)
	JNZ(LabelRef("variable"))
	VZEROUPPER()
	RET()
}

// panelMost is the largest number of points of a panel.
const panelMost = 48

// panelBelow generates the function that integrates densities. All sums of a row stay in registers, so that each number of points has a
// loop of its own.
func panelBelow(v *vector64) {
	function("panelBelow"+v.name, "func(cdf, pdf, top, integrals *float64, m, l, n int, half float64)",
		"panelBelow"+v.name+" computes cdf[j*n+k] = max(0, top[j] - half*sum of pdf[j*n+i]*integrals[i*n+k] over i < l)",
		"for j < m and k < n, a multiple of 8 up to 48.")
	cdf, pdf, top, n := loadGP("cdf"), loadGP("pdf"), loadGP("top"), loadGP("n")
	half, zero := v.parameter("half"), v.new()
	VXORPD(zero, zero, zero)
	for points := 8; points < panelMost; points += 8 {
		CMPQ(n, Imm(uint64(points)))
		JE(LabelRef(fmt.Sprintf("points%d", points)))
	}
	m := GP64()
	for points := panelMost; points > 0; points -= 8 {
		Label(fmt.Sprintf("points%d", points))
		next := fmt.Sprintf("next%d", points)
		m = loadGP("m")
		Label(next)
		sums := make([]VecVirtual, 8*points/v.bytes)
		for i := range sums {
			sums[i] = v.new()
			VXORPD(sums[i], sums[i], sums[i])
		}
		row, left, at := loadGP("integrals"), loadGP("l"), GP64()
		MOVQ(pdf, at)
		loop := fmt.Sprintf("loop%d", points)
		Label(loop)
		f := v.new()
		VBROADCASTSD(Mem{Base: at}, f)
		for i, sum := range sums {
			VFMADD231PD(Mem{Base: row, Disp: i * v.bytes}, f, sum)
		}
		ADDQ(Imm(8), at)
		ADDQ(U32(8*points), row)
		DECQ(left)
		JNZ(LabelRef(loop))
		whole := v.new()
		VBROADCASTSD(Mem{Base: top}, whole)
		for i, sum := range sums {
			VFNMADD213PD(whole, half, sum)
			VMAXPD(zero, sum, sum)
			VMOVUPD(sum, Mem{Base: cdf, Disp: i * v.bytes})
		}
		ADDQ(U32(8*points), pdf)
		ADDQ(U32(8*points), cdf)
		ADDQ(Imm(8), top)
		DECQ(m)
		JNZ(LabelRef(next))
		VZEROUPPER()
		RET()
	}
}

// leaveOneOut generates the function that adds up products of all functions but one.
func leaveOneOut(v *vector64) {
	function("leaveOneOut"+v.name, "func(sums, pdf, cdf, right, left *float64, m, n int)",
		"leaveOneOut"+v.name+" adds right[k]*pdf[j*n+k] times the product of cdf[i*n+k] over i != j to lane k mod "+fmt.Sprint(v.bytes/8)+" of sums[8*j],",
		"for j < m and k < n, a multiple of 8; left is memory for 8*m numbers.")
	sums, pdf, cdf, right, m, n := loadGP("sums"), loadGP("pdf"), loadGP("cdf"), loadGP("right"), loadGP("m"), loadGP("n")
	stride := GP64()
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	Label("points")
	left, j, c := loadGP("left"), GP64(), GP64()
	MOVQ(m, j)
	MOVQ(cdf, c)
	Comment("products of the functions before each")
	before := v.new()
	VMOVUPD(v.float(1), before)
	Label("forward")
	VMOVUPD(before, Mem{Base: left})
	VMULPD(Mem{Base: c}, before, before)
	ADDQ(Imm(64), left)
	ADDQ(stride, c)
	DECQ(j)
	JNZ(LabelRef("forward"))
	Comment("from the last: times the weights and the functions behind it")
	behind, f, sum := v.new(), GP64(), GP64()
	VMOVUPD(Mem{Base: right}, behind)
	MOVQ(m, j)
	MOVQ(stride, f)
	IMULQ(m, f)
	ADDQ(pdf, f)
	MOVQ(m, sum)
	SHLQ(Imm(6), sum)
	ADDQ(sums, sum)
	Label("backward")
	SUBQ(Imm(64), left)
	SUBQ(stride, c)
	SUBQ(stride, f)
	SUBQ(Imm(64), sum)
	x, total := v.new(), v.new()
	VMULPD(Mem{Base: left}, behind, x)
	VMOVUPD(Mem{Base: sum}, total)
	VFMADD231PD(Mem{Base: f}, x, total)
	VMOVUPD(total, Mem{Base: sum})
	VMULPD(Mem{Base: c}, behind, behind)
	DECQ(j)
	JNZ(LabelRef("backward"))
	for _, p := range []GPVirtual{pdf, cdf, right} {
		ADDQ(Imm(uint64(v.bytes)), p)
	}
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("points"))
	VZEROUPPER()
	RET()
}
