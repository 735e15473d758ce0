package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// voteFlags is whether a class has a vote, for 0, 1 and 2 votes, and whether it has both.
var voteFlags Mem

func votesGroup() {
	live := liveLanes()
	voteFlags = GLOBL("voteFlags", RODATA|NOPTR)
	for i, x := range []float64{0, 1, 1, 0, 0, 1} {
		DATA(8*i, U64(math.Float64bits(x)))
	}
	floatMasks := maskTable()
	// Of ten components, the last two take half of a vector.
	twoVotes("AVX512", live, floatMasks, &vector64{name: "AVX512", new: ZMM, bytes: 64}, &vector64{name: "Short", new: YMM, bytes: 32, short: true})
	twoVotes("AVX2", live, floatMasks, &vector64{name: "AVX2", new: YMM, bytes: 32})
	clampLogits()
	stopGradients()
}

// liveLanes is a table of masks for the lanes of float64: 8 times all ones, then 8 zeros.
func liveLanes() Mem {
	m := GLOBL("liveLanes", RODATA|NOPTR)
	for i := range 16 {
		x := uint64(0)
		if i < 8 {
			x = 1<<64 - 1
		}
		DATA(8*i, U64(x))
	}
	return m
}

// order returns a table of indices for VPERMPS: of lanes pairs, all first numbers and then all second ones, or, if
// together is set, the inverse.
func order(name string, lanes int, together bool) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 2 * lanes {
		from := i%lanes*2 + i/lanes
		if together {
			from = i/2 + i%2*lanes
		}
		DATA(4*i, U32(from))
	}
	return m
}

// voteLane are the numbers of components in the lanes of a vector.
type voteLane struct{ a, b, sum, p, t VecVirtual }

// twoVotes generates the likelihood of few votes for two classes under the components of a mixture, and its gradient.
//
// A group of components, one per lane, has four vectors in work: weight, likelihood, and the derivatives of its
// logarithm with respect to log a and log b. The second pass needs the sums over all components of the first. Groups are as long as the first
// kind of vectors while more components are left than the second kind has lanes.
func twoVotes(name string, live, floatMasks Mem, kinds ...*vector64) {
	function("twoVotes"+name, "func(work *float64, grad, pairs, e *float32, k, s0, s1 int, scale float64, sums *float64)",
		"twoVotes"+name+" computes twoVotesGeneric for k components (k ≥ 1). It reads up to 16 elements after e and",
		"writes work for k rounded up to a multiple of 8; there is no gradient if grad is nil.")
	work, e, left := loadGP("work"), loadGP("e"), loadGP("k")
	alpha := GP64()
	LEAQ(Mem{Base: e, Index: left, Scale: 4}, alpha)
	weights, totals := make([]VecVirtual, len(kinds)), make([]VecVirtual, len(kinds))
	for i, v := range kinds {
		weights[i], totals[i] = v.new(), v.new()
		VXORPD(weights[i], weights[i], weights[i])
		VXORPD(totals[i], totals[i], totals[i])
	}
	eachKind(kinds, "likelihood", left, func(v *vector64, i int) {
		Comment("weights, zero where they are faint or there is no component")
		w := v.new()
		VCVTPS2PD(Mem{Base: e}, w)
		there := v.liveMask(live, left)
		VANDPD(there, w, w)
		zero, least := v.new(), v.new()
		VXORPD(zero, zero, zero)
		VMOVUPD(v.float(1e-34), least)
		w = v.choose(v.less(w, least), zero, w)
		VMOVUPD(w, Mem{Base: work})
		l := v.votePairs(alpha, order("pairsApart"+v.name, v.bytes/8, false))
		v.voteProducts(l, there, work)
		VADDPD(w, weights[i], weights[i])
		VFMADD231PD(l.p, w, totals[i])
		ADDQ(Imm(uint64(v.bytes/2)), e)
		ADDQ(Imm(uint64(v.bytes)), alpha)
		ADDQ(U32(4*v.bytes), work)
	})

	Comment("the sums over the lanes, and scale over each")
	sums := loadGP("sums")
	scale := XMM()
	VMOVSD(address("scale"), scale)
	factor := [2]VecVirtual{kinds[0].new(), kinds[0].new()}
	for i, x := range [2][]VecVirtual{weights, totals} {
		s := kinds[0].acrossLanes(x[0])
		for k := 1; k < len(kinds); k++ {
			VADDSD(kinds[k].acrossLanes(x[k]), s, s)
		}
		VMOVSD(s, Mem{Base: sums, Disp: 8 * i})
		VDIVSD(s, scale, s)
		VBROADCASTSD(s, factor[i])
	}
	work, left = loadGP("work"), loadGP("k")
	g, ga := loadGP("grad"), loadGP("pairs")
	TESTQ(g, g)
	JZ(LabelRef("done"))
	eachKind(kinds, "gradient", left, func(v *vector64, _ int) {
		of := func(x VecVirtual) VecVirtual { return x }
		if v.bytes == 32 {
			of = func(x VecVirtual) VecVirtual { return x.AsY().(VecVirtual) }
		}
		Comment("p = weight, r = responsibility, both times scale; tiny ones are 0")
		p, r, tiny, zero := v.new(), v.new(), v.new(), v.new()
		VMOVUPD(v.float(1e-30), tiny)
		VXORPD(zero, zero, zero)
		VMOVUPD(Mem{Base: work}, p)
		VMULPD(Mem{Base: work, Disp: v.bytes}, p, r)
		VMULPD(of(factor[0]), p, p)
		VMULPD(of(factor[1]), r, r)
		p = v.choose(v.less(p, tiny), zero, p)
		r = v.choose(v.less(r, tiny), zero, r)
		VSUBPD(r, p, p)
		v.storeLive(v.floats(p), Mem{Base: g}, left, 1, floatMasks)
		VSUBPD(r, zero, r)
		q0, q1, from := v.new(), v.new(), v.new()
		VMULPD(Mem{Base: work, Disp: 2 * v.bytes}, r, q0)
		VMULPD(Mem{Base: work, Disp: 3 * v.bytes}, r, q1)
		pairs := v.joined(v.floats(q0), v.floats(q1))
		VMOVUPS(order("pairsTogether"+v.name, v.bytes/8, true), from)
		VPERMPS(pairs, from, pairs)
		v.storeLive(pairs, Mem{Base: ga}, left, 2, floatMasks)
		ADDQ(Imm(uint64(v.bytes/2)), g)
		ADDQ(Imm(uint64(v.bytes)), ga)
		ADDQ(U32(4*v.bytes), work)
	})
	Label("done")
	VZEROUPPER()
	RET()
}

// eachKind emits a loop over groups of components for each kind of vectors.
func eachKind(kinds []*vector64, name string, left GPVirtual, body func(v *vector64, i int)) {
	for i, v := range kinds {
		v.suffix = v.name + name
		end := 0
		if i+1 < len(kinds) {
			end = kinds[i+1].bytes / 8
			CMPQ(left, Imm(uint64(end)))
			JLE(LabelRef(name + kinds[i+1].name))
		}
		Label(name + v.name)
		body(v, i)
		SUBQ(Imm(uint64(v.bytes/8)), left)
		CMPQ(left, Imm(uint64(end)))
		JG(LabelRef(name + v.name))
		if end > 0 {
			TESTQ(left, left)
			JLE(LabelRef(name + "End"))
		}
	}
	if len(kinds) > 1 {
		Label(name + "End")
	}
}

// storeLive stores the float32 of as many components as there are in a group, so many numbers each.
func (v *vector64) storeLive(x VecVirtual, to Mem, left GPVirtual, each int, masks Mem) {
	n, most := GP64(), GP64()
	MOVQ(U32(v.bytes/8), most)
	MOVQ(left, n)
	CMPQ(n, most)
	CMOVQGT(most, n)
	if each == 2 {
		ADDQ(n, n)
	}
	if v.masked() {
		all, k := GP32(), K()
		MOVL(U32(1<<32-1), all)
		BZHIL(n.As32(), all, all)
		KMOVW(all, k)
		VMOVUPS(x, k, to)
		return
	}
	mask := YMM()
	tailMask(masks, n, mask)
	if each == 1 {
		VMASKMOVPS(x, mask.AsX(), to)
	} else {
		VMASKMOVPS(x, mask, to)
	}
}

// liveMask returns a mask of the first left lanes.
func (v *vector64) liveMask(table Mem, left GPVirtual) Mem {
	n, most, at := GP64(), GP64(), GP64()
	MOVQ(U32(v.bytes/8), most)
	MOVQ(left, n)
	CMPQ(n, most)
	CMOVQGT(most, n)
	NEGQ(n)
	LEAQ(table, at)
	return Mem{Base: at, Index: n, Scale: 8, Disp: 64}
}

// votePairs loads the parameters of a group of components.
func (v *vector64) votePairs(alpha GPVirtual, apart Mem) voteLane {
	pairs, from := v.new(), v.new()
	VMOVUPS(apart, from)
	VPERMPS(Mem{Base: alpha}, from, pairs)
	l := voteLane{a: v.new(), b: v.new(), sum: v.new(), p: v.new(), t: v.new()}
	if v.bytes == 64 {
		high := YMM()
		VCVTPS2PD(pairs.AsY(), l.a)
		VEXTRACTF64X4(Imm(1), pairs, high)
		VCVTPS2PD(high, l.b)
	} else {
		high := XMM()
		VCVTPS2PD(pairs.AsX(), l.a)
		VEXTRACTF128(Imm(1), pairs, high)
		VCVTPS2PD(high, l.b)
	}
	VADDPD(l.a, l.b, l.sum)
	return l
}

// voteProducts multiplies the likelihood out, vote by vote, and stores it and its derivatives:
//
//	u = 1/(a+b+t);  p is multiplied by u, and by a+t for t < s0, b+t for t < s1
//	up is the sum of a/(a+t) u over t < s0, down that of u over the other t
//
// Lanes without a component hold other numbers, whose products may overflow: their likelihood is set to 0.
func (v *vector64) voteProducts(l voteLane, there Mem, work GPVirtual) {
	m, t := loadGP("s0"), GP64()
	s1 := loadGP("s1")
	ADDQ(s1, m)
	CMPQ(m, Imm(2))
	JNE(LabelRef("any" + v.suffix))
	v.twoOf(l, there, work)
	JMP(LabelRef("stored" + v.suffix))
	Label("any" + v.suffix)
	side := [2]voteSide{{x: l.a, name: "s0", label: "a"}, {x: l.b, name: "s1", label: "b"}}
	u := v.new()
	Comment("t = 0, where a/(a+t) is 1")
	one := v.new()
	VMOVUPD(v.float(1), one)
	VDIVPD(l.sum, one, u)
	VMOVAPD(u, l.p)
	for i := range side {
		s := &side[i]
		s.up, s.down = v.new(), v.new()
		VXORPD(s.up, s.up, s.up)
		VMOVAPD(u, s.down)
		n := loadGP(s.name)
		TESTQ(n, n)
		JZ(LabelRef("none" + s.label + v.suffix))
		VMULPD(s.x, l.p, l.p)
		VMOVAPD(u, s.up)
		VXORPD(s.down, s.down, s.down)
		Label("none" + s.label + v.suffix)
	}
	VXORPD(l.t, l.t, l.t)
	MOVQ(U32(1), t)
	CMPQ(t, m)
	JGE(LabelRef("counted" + v.suffix))
	Label("vote" + v.suffix)
	VADDPD(v.float(1), l.t, l.t)
	VADDPD(l.t, l.sum, u)
	VMOVUPD(v.float(1), one)
	VDIVPD(u, one, u)
	VMULPD(u, l.p, l.p)
	for i := range side {
		s := &side[i]
		n, at := loadGP(s.name), v.new()
		CMPQ(t, n)
		JGE(LabelRef("other" + s.label + v.suffix))
		VADDPD(l.t, s.x, at)
		VMULPD(at, l.p, l.p)
		VDIVPD(at, s.x, at)
		VFMADD231PD(at, u, s.up)
		JMP(LabelRef("next" + s.label + v.suffix))
		Label("other" + s.label + v.suffix)
		VADDPD(u, s.down, s.down)
		Label("next" + s.label + v.suffix)
	}
	INCQ(t)
	CMPQ(t, m)
	JL(LabelRef("vote" + v.suffix))
	Label("counted" + v.suffix)
	VANDPD(there, l.p, l.p)
	VMOVUPD(l.p, Mem{Base: work, Disp: v.bytes})
	for i := range side {
		Comment("the derivative is the other parameter times up, less this one times down")
		s := side[i]
		VMULPD(side[1-i].x, s.up, s.up)
		VFNMADD231PD(s.x, s.down, s.up)
		VMOVUPD(s.up, Mem{Base: work, Disp: (2 + i) * v.bytes})
	}
	Label("stored" + v.suffix)
	VMOVUPD(Mem{Base: work, Disp: v.bytes}, l.p)
}

// voteSide are the sums for one class.
type voteSide struct {
	x, up, down VecVirtual
	name, label string
}

// twoOf is voteProducts for two votes, the most common case, without branches that depend on them and with one division.
// With c = 1 if a class has a vote and d = 1 if it has both, of which the other class has none, and F = a+1 for the class with both votes
// or 1, all from
//
//	i = 1/((a+b)(a+b+1)F),  u = (a+b+1)F i,  v = (a+b)F i,  1/F = (a+b)(a+b+1)i
//
// the factor of p is 1-c + c a, times F, and the derivative
//
//	b(c u + d a v/F) - a((1-c)u + (1-d)v)
func (v *vector64) twoOf(l voteLane, there Mem, work GPVirtual) {
	one, next, both, inv := v.new(), v.new(), v.new(), v.new()
	VMOVUPD(v.float(1), one)
	VADDPD(one, l.sum, next)
	VMULPD(next, l.sum, both)
	sides := [2]struct{ x, c, d VecVirtual }{{x: l.a}, {x: l.b}}
	f := v.copy(one)
	VMOVAPD(one, l.p)
	for i, name := range []string{"s0", "s1"} {
		s := &sides[i]
		s.c, s.d = v.new(), v.new()
		n, at := loadGP(name), GP64()
		LEAQ(voteFlags, at)
		Comment("c and d of 0, 1 and 2 votes")
		VBROADCASTSD(Mem{Base: at, Index: n, Scale: 8}, s.c)
		VBROADCASTSD(Mem{Base: at, Index: n, Scale: 8, Disp: 24}, s.d)
		VFMADD231PD(s.x, s.d, f)
		t := v.new()
		VSUBPD(s.c, one, t)
		VFMADD231PD(s.c, s.x, t)
		VMULPD(t, l.p, l.p)
	}
	VMULPD(f, both, inv)
	VDIVPD(inv, one, inv)
	u, w := v.new(), v.new()
	Comment("the likelihood: the class with both votes has the further factor F")
	VMULPD(inv, f, u)
	VMULPD(u, l.sum, w)
	VMULPD(u, next, u)
	VMULPD(f, l.p, l.p)
	VMULPD(u, l.p, l.p)
	VMULPD(w, l.p, l.p)
	VANDPD(there, l.p, l.p)
	VMOVUPD(l.p, Mem{Base: work, Disp: v.bytes})
	Comment("inv = v/F from here on")
	VMULPD(both, inv, inv)
	VMULPD(w, inv, inv)
	for i := range sides {
		s, other := sides[i], sides[1-i].x
		up, down, t := v.new(), v.new(), v.new()
		VMULPD(s.d, s.x, up)
		VMULPD(inv, up, up)
		VFMADD231PD(u, s.c, up)
		VSUBPD(s.c, one, down)
		VMULPD(u, down, down)
		VSUBPD(s.d, one, t)
		VFMADD231PD(w, t, down)
		VMULPD(other, up, up)
		VFNMADD231PD(s.x, down, up)
		VMOVUPD(up, Mem{Base: work, Disp: (2 + i) * v.bytes})
	}
}

// acrossLanes returns the sum of the lanes of x, which it changes.
func (v *vector64) acrossLanes(x VecVirtual) VecVirtual {
	y := x
	if v.bytes == 64 {
		half := YMM()
		VEXTRACTF64X4(Imm(1), x, half)
		VADDPD(x.AsY(), half, half)
		y = half
	}
	high, s := XMM(), XMM()
	VEXTRACTF128(Imm(1), y.AsY(), high)
	VADDPD(y.AsX(), high, high)
	VUNPCKHPD(high, high, s)
	VADDSD(s, high, s)
	return s
}

// floats returns x rounded to float32, half as long a vector.
func (v *vector64) floats(x VecVirtual) VecVirtual {
	if v.bytes == 64 {
		y := YMM()
		VCVTPD2PS(x, y)
		return y
	}
	y := XMM()
	VCVTPD2PSY(x, y)
	return y
}

// joined returns a vector of two halves.
func (v *vector64) joined(low, high VecVirtual) VecVirtual {
	r := v.new()
	if v.bytes == 64 {
		VINSERTF64X4(Imm(1), high, low.AsZ(), r)
	} else {
		VINSERTF128(Imm(1), high, low.AsY(), r)
	}
	return r
}
