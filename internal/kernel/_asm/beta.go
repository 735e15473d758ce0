package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func betaGroup() {
	betaTable(newVector64(true))
	betaLevels(newVector64(true))
	for _, wide := range []bool{true, false} {
		exp64(newVector64(wide))
		twoMoments(newVector64(wide))
		betaZones(newVector64(wide))
		betaBeyond(newVector64(wide))
		cellMasses(newVector64(wide))
		cellIntegrals(newVector64(wide))
		cellRoots(newVector64(wide))
	}
	logGamma(&vector64{name: "AVX512", new: ZMM, bytes: 64})
	expLinear(&vector64{name: "AVX512", new: ZMM, bytes: 64, kept: map[float64]VecVirtual{}})
	digammaLog(&vector64{name: "AVX512", new: ZMM, bytes: 64})
	betaSums(&vector64{name: "AVX2", new: YMM, bytes: 32})
	logGamma(&vector64{name: "AVX2", new: YMM, bytes: 32})
	expLinear(&vector64{name: "AVX2", new: YMM, bytes: 32})
	digammaLog(&vector64{name: "AVX2", new: YMM, bytes: 32})
}

// vector64 is a kind of vectors of float64.
type vector64 struct {
	name  string
	new   func() VecVirtual
	bytes int
	short bool // vectors of half the length, with the instructions of AVX-512

	suffix string // of labels

	// kept are constants in registers, of which only AVX-512 has enough: a load a cycle would
	// otherwise be what the loop takes.
	kept  map[float64]VecVirtual
	roots [2]VecVirtual // see expByRoots

	// frame is the memory for what has no register, of which so many places are held.
	frame []Mem
	held  int
}

// masked reports whether masks are registers of their own.
func (v *vector64) masked() bool { return v.bytes == 64 || v.short }

// betaSums generates the function that adds the densities of Beta distributions at eight points.
func betaSums(v *vector64) {
	function("betaSums"+v.name, "func(dst, z, terms *float64, n int)",
		"betaSums"+v.name+" computes betaSums for n terms of three numbers each.")
	dst, z, n := loadGP("dst"), loadGP("z"), loadGP("n")
	for at := 0; at < 64; at += v.bytes {
		v.held = 0
		terms := loadGP("terms")
		p, sum := v.beginSums(Mem{Base: z, Disp: at})
		left := GP64()
		MOVQ(n, left)
		loop, done := fmt.Sprintf("loop%d", at), fmt.Sprintf("done%d", at)
		TESTQ(left, left)
		JZ(LabelRef(done))
		Label(loop)
		v.addTerm(v.density(p, terms, 8), sum)
		ADDQ(Imm(24), terms)
		DECQ(left)
		JNZ(LabelRef(loop))
		Label(done)
		Comment("the density and its derivatives")
		v.derivatives(p, sum, func(d int) Mem { return Mem{Base: dst, Disp: at + 64*d} })
	}
	VZEROUPPER()
	RET()
}

// beginSums computes what terms need to know of points, and sums that are zero.
func (v *vector64) beginSums(logits Mem) (p betaPoint, sum betaMoments) {
	Comment("x, y and their logarithms")
	p = v.point(logits)
	Comment("sums over the terms of the density times powers of lambda and of A + B")
	for d := range sum {
		sum[d] = v.sum()
	}
	return p, sum
}

// expLinear generates the function that takes exponentials of a straight line plus a curve.
func expLinear(v *vector64) {
	function("expLinear"+v.name, "func(dst, x, y *float64, n int, slope, offset float64)",
		"expLinear"+v.name+" computes dst[i] = exp(offset + slope*x[i] + y[i]) for i < n, a multiple of 8.")
	dst, x, y, n := loadGP("dst"), loadGP("x"), loadGP("y"), loadGP("n")
	v.keepExp(rootTerms - 1)
	slope, offset := v.parameter("slope"), v.parameter("offset")
	i := GP64()
	XORQ(i, i)
	Label("loop")
	f := v.new()
	VADDPD(Mem{Base: y, Index: i, Scale: 8}, offset, f)
	VFMADD231PD(Mem{Base: x, Index: i, Scale: 8}, slope, f)
	v.exp(f)
	VMOVUPD(f, Mem{Base: dst, Index: i, Scale: 8})
	ADDQ(Imm(uint64(v.bytes/8)), i)
	CMPQ(i, n)
	JL(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// exp64 generates the function that takes exponentials.
func exp64(v *vector64) {
	function("exp64"+v.name, "func(x *float64, n int)", "exp64"+v.name+" replaces n > 0 numbers, a multiple of 8, by their exponentials.")
	x, n := loadGP("x"), loadGP("n")
	Label("loop")
	f := v.loaded(Mem{Base: x})
	v.exactExp(f)
	VMOVUPD(f, Mem{Base: x})
	ADDQ(Imm(uint64(v.bytes)), x)
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// twoMoments generates the function that computes means and variances of Beta distributions.
func twoMoments(v *vector64) {
	function("betaMoments"+v.name, "func(mean, variance, a, b *float64, n int)", "betaMoments"+v.name+" computes BetaMoments for n > 0 distributions, a multiple of 8.")
	mean, variance, a, b, n := loadGP("mean"), loadGP("variance"), loadGP("a"), loadGP("b"), loadGP("n")
	one := v.loaded(v.float(1))
	Label("loop")
	x, y, s := v.loaded(Mem{Base: a}), v.loaded(Mem{Base: b}), v.new()
	VADDPD(y, x, s)
	VDIVPD(s, x, x)
	VDIVPD(s, y, y)
	VADDPD(one, s, s)
	VMOVUPD(x, Mem{Base: mean})
	VMULPD(y, x, x)
	VDIVPD(s, x, x)
	VMOVUPD(x, Mem{Base: variance})
	for _, p := range []GPVirtual{mean, variance, a, b} {
		ADDQ(Imm(uint64(v.bytes)), p)
	}
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// parameter loads a parameter into all lanes.
func (v *vector64) parameter(name string) VecVirtual {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := v.new()
	VBROADCASTSD(c.Addr, r)
	return r
}

// betaPoint is what terms need to know of points.
type betaPoint struct{ x, y, logX, logY VecVirtual }

// point computes it from logits. With e = exp(−|z|), one of x and y is 1/(1+e), the other e/(1+e).
func (v *vector64) point(logits Mem) (p betaPoint) {
	logX, logY, e, below := v.sides(logits)
	one, whole := v.new(), v.new()
	VMOVUPD(v.float(1), one)
	v.exp(e)
	VADDPD(one, e, whole)
	VDIVPD(whole, one, one)
	VMULPD(one, e, whole)
	p.x, p.y = v.choose(below, whole, one), v.choose(below, one, whole)
	l := v.log1p(e)
	VSUBPD(l, logX, logX)
	VSUBPD(l, logY, logY)
	p.logX, p.logY = logX, logY
	return p
}

// sides returns of logits z min(z, 0), min(−z, 0), −|z|, and where z is negative.
func (v *vector64) sides(logits Mem) (negative, positive, both VecVirtual, below Op) {
	z, zero := v.new(), v.new()
	VMOVUPD(logits, z)
	VXORPD(zero, zero, zero)
	negative, positive, both = v.new(), v.new(), v.new()
	VMINPD(zero, z, negative)
	VSUBPD(z, zero, positive)
	VMINPD(zero, positive, positive)
	VADDPD(negative, positive, both)
	return negative, positive, both, v.less(z, zero)
}

// betaMoments are sums over terms with the density φ: Σ φ λⁱ for i from 0 to 5, Σ φ s λⁱ for i from 0 to 3, and Σ φ s² λⁱ for i of 0
// and 1, with s = A + B.
type betaMoments [12]betaSum

// betaSum is a sum over terms: a register, or memory where there are too few of them.
type betaSum = Op

// sum returns a sum that is zero.
func (v *vector64) sum() betaSum {
	zero := v.new()
	VXORPD(zero, zero, zero)
	return v.hold(zero)
}

// add adds x to a sum, or x·y if y is not nil.
func (v *vector64) add(s betaSum, x, y VecVirtual) {
	to, ok := s.(VecVirtual)
	if !ok {
		to = v.new()
		VMOVUPD(s, to)
	}
	if y == nil {
		VADDPD(x, to, to)
	} else {
		VFMADD231PD(x, y, to)
	}
	if !ok {
		VMOVUPD(to, s)
	}
}

// betaDensity is a term at points: φ, λ and s as in betaMoments.
type betaDensity struct{ f, lambda, s VecVirtual }

// set copies another density.
func (t betaDensity) set(from betaDensity) {
	VMOVAPD(from.f, t.f)
	VMOVAPD(from.lambda, t.lambda)
	VMOVAPD(from.s, t.s)
}

// density computes a term at points; its A, B and C are the given number of bytes apart.
func (v *vector64) density(p betaPoint, at GPVirtual, apart int) betaDensity {
	a, b, f := v.new(), v.new(), v.new()
	VBROADCASTSD(Mem{Base: at}, a)
	VBROADCASTSD(Mem{Base: at, Disp: apart}, b)
	VBROADCASTSD(Mem{Base: at, Disp: 2 * apart}, f)
	VFMADD231PD(p.logX, a, f)
	VFMADD231PD(p.logY, b, f)
	v.exp(f)
	lambda, s := v.new(), v.new()
	VADDPD(a, b, s)
	VMULPD(p.y, a, lambda)
	VFNMADD231PD(p.x, b, lambda)
	return betaDensity{f, lambda, s}
}

// addTerm adds a term to the sums. It overwrites its density.
func (v *vector64) addTerm(t betaDensity, sum betaMoments) {
	f, lambda, s := t.f, t.lambda, t.s
	fs := v.new()
	VMULPD(s, f, fs)
	v.add(sum[6], fs, nil)
	v.add(sum[10], fs, s)
	VMULPD(lambda, fs, fs)
	v.add(sum[7], fs, nil)
	v.add(sum[11], fs, s)
	v.add(sum[0], f, nil)
	for i := 1; i <= 4; i++ {
		VMULPD(lambda, f, f)
		v.add(sum[i], f, nil)
		if i == 2 || i == 3 {
			v.add(sum[6+i], f, s)
		}
	}
	v.add(sum[5], f, lambda)
}

// derivatives sets the rows of dst to the density and its derivatives: with q = xy, τ = y − x and
// S_i, T_i and U_i the sums of betaMoments,
//
//	S₀,   S₁,   S₂ − qT₀,   S₃ − 3qT₁ − qτT₀,
//	S₄ − 6qT₂ − 4qτT₁ + 3q²U₀ + (2q² − qτ²)T₀,
//	S₅ − 10qT₃ − 10qτT₂ + 15q²U₁ + (10q² − 5qτ²)T₁ + 10q²τU₀ + (8q²τ − qτ³)T₀.
func (v *vector64) derivatives(p betaPoint, sum betaMoments, dst func(d int) Mem) {
	times := func(x, y VecVirtual) VecVirtual {
		z := v.new()
		VMULPD(x, y, z)
		return z
	}
	by := func(x VecVirtual, c float64) VecVirtual {
		z := v.new()
		VMULPD(v.float(c), x, z)
		return z
	}
	store := func(d int, x VecVirtual) { VMOVUPD(x, dst(d)) }
	q, turn := times(p.x, p.y), v.new()
	VSUBPD(p.x, p.y, turn)
	qt := times(q, turn)
	qq := times(q, q)
	store(0, v.loaded(sum[0]))
	store(1, v.loaded(sum[1]))
	x := v.loaded(sum[2])
	VFNMADD231PD(sum[6], q, x)
	store(2, x)
	x = v.loaded(sum[3])
	VFNMADD231PD(sum[7], by(q, 3), x)
	VFNMADD231PD(sum[6], qt, x)
	store(3, x)
	qtt := times(qt, turn)
	x = v.loaded(sum[4])
	VFNMADD231PD(sum[8], by(q, 6), x)
	VFNMADD231PD(sum[7], by(qt, 4), x)
	VFMADD231PD(sum[10], by(qq, 3), x)
	c := by(qq, 2)
	VSUBPD(qtt, c, c)
	VFMADD231PD(sum[6], c, x)
	store(4, x)
	x = v.loaded(sum[5])
	VFNMADD231PD(sum[9], by(q, 10), x)
	VFNMADD231PD(sum[8], by(qt, 10), x)
	VFMADD231PD(sum[11], by(qq, 15), x)
	c = by(qq, 10)
	VFNMADD231PD(v.float(5), qtt, c)
	VFMADD231PD(sum[7], c, x)
	c = times(qq, turn)
	VFMADD231PD(sum[10], by(c, 10), x)
	VMULPD(v.float(8), c, c)
	VFNMADD231PD(turn, qtt, c)
	VFMADD231PD(sum[6], c, x)
	store(5, x)
}

// logGamma generates the function that takes logarithms, and those of the gamma function.
func logGamma(v *vector64) {
	function("logGamma"+v.name, "func(gamma, log, x *float64, n int)",
		"logGamma"+v.name+" computes LogGamma for n numbers, a multiple of 8.")
	gamma, log, from, n := loadGP("gamma"), loadGP("log"), loadGP("x"), loadGP("n")
	Label("loop")
	x := v.new()
	VMOVUPD(Mem{Base: from}, x)
	Comment("ln x")
	VMOVUPD(v.log(x), Mem{Base: log})
	Comment("p = x(x+1)...(x+9) and z = x + 10 for x < 10, otherwise p = 1 and z = x")
	ten := v.new()
	VMOVUPD(v.float(10), ten)
	small := v.less(x, ten)
	p, z := v.copy(x), v.copy(x)
	for range 9 {
		VADDPD(v.float(1), z, z)
		VMULPD(z, p, p)
	}
	VADDPD(v.float(1), z, z)
	one := v.new()
	VMOVUPD(v.float(1), one)
	p, z = v.choose(small, p, one), v.choose(small, z, x)
	Comment("Stirling's formula at z, less ln p")
	r, u := v.new(), v.new()
	VDIVPD(z, one, r)
	VMULPD(r, r, u)
	q := v.horner(u, -691./360360, 1./1188, -1./1680, 1./1260, -1./360, 1./12)
	VMULPD(r, q, q)
	VADDPD(v.float(halfLog2Pi), q, q)
	VSUBPD(z, q, q)
	half := v.new()
	VSUBPD(v.float(0.5), z, half)
	VFMADD231PD(v.log(z), half, q)
	VSUBPD(v.log(p), q, q)
	VMOVUPD(q, Mem{Base: gamma})
	for _, at := range []GPVirtual{gamma, log, from} {
		ADDQ(Imm(uint64(v.bytes)), at)
	}
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// digammaLog generates the function that takes digamma functions less logarithms.
func digammaLog(v *vector64) {
	function("digammaLog"+v.name, "func(dst, a, c *float64, n int)",
		"digammaLog"+v.name+" computes DigammaLog for n numbers, a multiple of 8.")
	dst, a, c, n := loadGP("dst"), loadGP("a"), loadGP("c"), loadGP("n")
	Label("loop")
	x := v.new()
	VMOVUPD(Mem{Base: a}, x)
	Comment("p = (x+1)...(x+10) and its derivative, z = x + 10")
	p, slope, z := v.new(), v.new(), v.new()
	VADDPD(v.float(1), x, z)
	VMOVAPD(z, p)
	VMOVUPD(v.float(1), slope)
	for range 9 {
		VADDPD(v.float(1), z, z)
		VFMADD213PD(p, z, slope)
		VMULPD(z, p, p)
	}
	Comment("for x < 10 the sum is slope/p, otherwise 0, and z = x")
	ten, zero := v.new(), v.new()
	VMOVUPD(v.float(10), ten)
	VXORPD(zero, zero, zero)
	small := v.less(x, ten)
	VDIVPD(p, slope, slope)
	sum := v.choose(small, slope, zero)
	z = v.choose(small, z, x)
	Comment("Stirling's series at z, and ln(z/c)")
	one, r, u := v.new(), v.new(), v.new()
	VMOVUPD(v.float(1), one)
	VDIVPD(z, one, r)
	VMULPD(r, r, u)
	q := v.horner(u, -1./12, 691./32760, -1./132, 1./240, -1./252, 1./120, -1./12)
	VMULPD(u, q, q)
	VFMADD231PD(v.float(0.5), r, q)
	VSUBPD(sum, q, q)
	ratio := v.new()
	VDIVPD(Mem{Base: c}, z, ratio)
	VADDPD(v.log(ratio), q, q)
	VMOVUPD(q, Mem{Base: dst})
	for _, at := range []GPVirtual{dst, a, c} {
		ADDQ(Imm(uint64(v.bytes)), at)
	}
	SUBQ(Imm(uint64(v.bytes/8)), n)
	JG(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

const halfLog2Pi = 0.91893853320467274178

var inf = math.Inf(1)

// less compares lanes, and so does atMost.
func (v *vector64) less(x, y VecVirtual) Op   { return v.compare(1, x, y) }
func (v *vector64) atMost(x, y VecVirtual) Op { return v.compare(2, x, y) }

func (v *vector64) compare(predicate uint64, x, y VecVirtual) Op {
	if v.masked() {
		k := K()
		VCMPPD(Imm(predicate), y, x, k)
		return k
	}
	m := v.new()
	VCMPPD(Imm(predicate), y, x, m)
	return m
}

// choose returns yes where the mask is set, and no elsewhere.
func (v *vector64) choose(mask, yes Op, no VecVirtual) VecVirtual {
	r := v.new()
	if v.masked() {
		VBLENDMPD(yes, no, mask, r)
	} else {
		VBLENDVPD(mask, yes, no, r)
	}
	return r
}

// log returns ln x of positive normal x. With x = 2ᵉ m, m from √½ to √2, and s = (m−1)/(m+1), it is
// e ln 2 + 2 artanh s.
func (v *vector64) log(x VecVirtual) VecVirtual {
	var root, bias uint64 = 0x3fe6a09e667f3bcd, 1024 << 52 // of √½, and such that no exponent is negative
	e, m := v.new(), v.new()
	VPSUBQ(v.bits(root-bias), x, e)
	VPSRLQ(Imm(52), e, e)
	VPSLLQ(Imm(52), e, m)
	VPSUBQ(m, x, m)
	VPADDQ(v.bits(bias), m, m)
	VPADDQ(v.bits(0x43300000<<32), e, e) // as the last bits of 2⁵²
	VSUBPD(v.float(1<<52+1024), e, e)
	s, t := v.new(), v.new()
	VADDPD(v.float(1), m, t)
	VSUBPD(v.float(1), m, s)
	VDIVPD(t, s, s)
	VMULPD(s, s, t)
	c := make([]float64, 10)
	for i := range c {
		c[len(c)-1-i] = 2 / float64(2*i+1)
	}
	q := v.horner(t, c...)
	VMULPD(s, q, q)
	VFMADD231PD(v.float(ln2Low), e, q)
	VFMADD231PD(v.float(ln2High), e, q)
	return q
}

// bits is a constant vector of integers.
func (v *vector64) bits(b uint64) Op { return v.float(math.Float64frombits(b)) }

// log1p returns ln(1+e) for e from 0 to 1: with s = e/(2+e) ≤ 1/3 it is 2 artanh s.
func (v *vector64) log1p(e VecVirtual) VecVirtual {
	s, t := v.new(), v.new()
	VADDPD(v.float(2), e, t)
	VDIVPD(t, e, s)
	VMULPD(s, s, t)
	c := make([]float64, 15)
	for i := range c {
		c[len(c)-1-i] = 2 / float64(2*i+1)
	}
	q := v.horner(t, c...)
	VMULPD(s, q, q)
	return q
}

// horner returns c[0]·xⁿ + … + c[n] by multiply-adds.
func (v *vector64) horner(x VecVirtual, c ...float64) VecVirtual {
	p := v.new()
	VMOVUPD(v.float(c[0]), p)
	for _, a := range c[1:] {
		VFMADD213PD(v.float(a), x, p)
	}
	return p
}

func (v *vector64) copy(x VecVirtual) VecVirtual {
	y := v.new()
	VMOVAPD(x, y)
	return y
}

// loaded returns a copy in a register of its own.
func (v *vector64) loaded(x Op) VecVirtual {
	y := v.new()
	VMOVUPD(x, y)
	return y
}

var constants64 = map[uint64]Mem{}

// float is a constant vector, in a register if it was kept, otherwise a memory operand.
func (v *vector64) float(x float64) Op {
	if r, ok := v.kept[x]; ok {
		return r
	}
	return constant64(x)
}

// keep loads constants into registers, where there are enough.
func (v *vector64) keep(list ...float64) {
	if v.kept == nil {
		return
	}
	for _, x := range list {
		r := v.new()
		VMOVUPD(constant64(x), r)
		v.kept[x] = r
	}
}

// constant64 is a constant vector of eight equal numbers.
func constant64(x float64) Mem {
	if m, ok := constants64[math.Float64bits(x)]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("double%016x", math.Float64bits(x)), RODATA|NOPTR)
	for i := range 8 {
		DATA(8*i, U64(math.Float64bits(x)))
	}
	constants64[math.Float64bits(x)] = m
	return m
}
