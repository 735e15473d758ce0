package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The rows of a block of eight terms, 64 bytes each: the fields of betaBlock.
const (
	rowA = iota
	rowB
	rowC
	rowEdges
	rowSteps = rowEdges + betaZoneCount + 1
	rowCount = rowSteps + betaZoneCount

	betaZoneCount = 5
	blockBytes    = 64 * rowCount
)

// betaTable generates the function that adds the densities at blocks of eight points, in each of those that matter there.
func betaTable(v *vector64) {
	function("betaTable"+v.name, "func(dst, z, terms *float64, offsets *uint32, n, points int)",
		"betaTable"+v.name+" computes betaSums for so many blocks of eight points and, in each, those of n blocks of terms with lo < z[7] and",
		"hi >= z[0]. dst has a row for each derivative; offsets has room for 16 numbers more than there are terms.")
	dst, z, terms := loadGP("dst"), loadGP("z"), loadGP("terms")
	stride, stop := loadGP("points"), GP64()
	SHLQ(Imm(6), stride)
	LEAQ(Mem{Base: z, Index: stride, Scale: 1}, stop)
	third := GP64()
	LEAQ(Mem{Base: dst, Index: stride, Scale: 2}, third)
	ADDQ(stride, third)
	row := func(d int) Mem {
		row := Mem{Base: dst}
		if d >= 3 {
			row, d = Mem{Base: third}, d-3
		}
		if d > 0 {
			row.Index, row.Scale = stride, uint8(d)
		}
		return row
	}
	v.keepExp(0)
	Comment("x, y and their logarithms of all points, in rows of dst: one after the other, each would wait for its long chain of operations")
	Label("points")
	point := v.point(Mem{Base: z})
	for d, x := range []VecVirtual{point.x, point.y, point.logX, point.logY} {
		VMOVUPD(x, row(d))
	}
	for _, p := range []GPVirtual{dst, third, z} {
		ADDQ(Imm(64), p)
	}
	CMPQ(z, stop)
	JB(LabelRef("points"))
	for _, p := range []GPVirtual{dst, third, z} {
		SUBQ(stride, p)
	}
	Label("block")
	Comment("the offsets of the terms that matter, eight at a time")
	first, last, offset := v.new(), v.new(), v.new()
	VBROADCASTSD(Mem{Base: z}, first)
	VBROADCASTSD(Mem{Base: z, Disp: 56}, last)
	VMOVDQU32(termOffsets(), offset)
	at, to, left := GP64(), loadGP("offsets"), loadGP("n")
	MOVQ(terms, at)
	TESTQ(left, left)
	JZ(LabelRef("selected"))
	Label("select")
	below, end, used := v.new(), v.new(), K()
	VMOVUPD(Mem{Base: at, Disp: 64 * rowEdges}, below)
	VMOVUPD(Mem{Base: at, Disp: 64 * (rowEdges + betaZoneCount)}, end)
	VCMPPD(Imm(1), last, below, used)       // <
	VCMPPD(Imm(13), first, end, used, used) // ≥
	chosen, count := v.new(), GP64()
	VPCOMPRESSD_Z(offset, used, chosen)
	VMOVDQU32(chosen, Mem{Base: to})
	KMOVW(used, count.As32())
	POPCNTL(count.As32(), count.As32())
	LEAQ(Mem{Base: to, Index: count, Scale: 4}, to)
	VPADDD(termOffsets().Offset(64), offset, offset)
	ADDQ(U32(blockBytes), at)
	DECQ(left)
	JNZ(LabelRef("select"))
	Label("selected")
	p := betaPoint{v.loaded(row(0)), v.loaded(row(1)), v.loaded(row(2)), v.loaded(row(3))}
	var sum betaMoments
	for d := range sum {
		sum[d] = v.sum()
	}
	from := loadGP("offsets")
	CMPQ(from, to)
	JE(LabelRef("done"))
	Comment("the density of a term is computed while the one before it is added: its chain of operations is long")
	next := func() betaDensity {
		term := GP64()
		MOVL(Mem{Base: from}, term.As32())
		ADDQ(terms, term)
		ADDQ(Imm(4), from)
		return v.density(p, term, 64)
	}
	now := next()
	CMPQ(from, to)
	JE(LabelRef("last"))
	Label("term")
	after := next()
	v.addTerm(now, sum)
	now.set(after)
	CMPQ(from, to)
	JNE(LabelRef("term"))
	Label("last")
	v.addTerm(now, sum)
	Label("done")
	Comment("the density and its derivatives")
	v.derivatives(p, sum, row)
	for _, p := range []GPVirtual{dst, third, z} {
		ADDQ(Imm(64), p)
	}
	CMPQ(z, stop)
	JB(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// termOffsets is the global with the offsets of the first terms, and behind it the distance to those of the next block.
func termOffsets() Mem {
	if termOffsetsTable.Symbol.Name == "" {
		termOffsetsTable = GLOBL("termOffsets", RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(8*(i%8)))
		}
		for i := range 16 {
			DATA(64+4*i, U32(blockBytes))
		}
	}
	return termOffsetsTable
}

var termOffsetsTable Mem

// The fields of ZoneRule.
const (
	ruleLogMissing = iota
	ruleLogNarrow
	ruleLogTerms
	ruleEnd
	ruleStep
	ruleLongest
	rulePower
	ruleMild
	ruleFar
	ruleTail
	ruleBend
)

// betaZones generates the function that computes the zones of terms.
func betaZones(v *vector64) {
	function("betaZones"+v.name, "func(least, blocks *float64, n int, a, b, logA, logB, logSum, logW, logBeta, rule *float64)",
		"betaZones"+v.name+" computes betaZonesGeneric for n > 0 blocks.")
	rule := loadGP("rule")
	for at := 0; at < 64; at += v.bytes {
		blocks, i := loadGP("blocks"), GP64()
		XORQ(i, i)
		row := func(i int) Mem { return Mem{Base: blocks, Disp: 64*i + at} }
		in := map[string]GPVirtual{}
		for _, name := range []string{"a", "b", "logA", "logB", "logSum", "logW", "logBeta"} {
			in[name] = loadGP(name)
		}
		of := func(name string) Mem { return Mem{Base: in[name], Index: i, Scale: 8, Disp: at} }
		by := func(field int) VecVirtual {
			x := v.new()
			VBROADCASTSD(Mem{Base: rule, Disp: 8 * field}, x)
			return x
		}
		lows, highs, widths := v.loaded(v.float(inf)), v.loaded(v.float(inf)), v.loaded(v.float(inf))
		loop := "loop" + string(rune('A'+at/v.bytes))
		Label(loop)
		zero := v.new()
		VXORPD(zero, zero, zero)
		Comment("terms to leave out: all edges are 0 but the first, +Inf, and the last, -Inf")
		logW := v.loaded(of("logW"))
		out := v.atMost(logW, by(ruleLogMissing))
		without := func(x float64, in VecVirtual) VecVirtual { return v.choose(out, v.float(x), in) }
		Comment("r = 1/A, s = 1/B; the mass that may be missing, D, and the width")
		r, s := v.loaded(of("a")), v.loaded(of("b"))
		VMOVUPD(r, row(rowA))
		VMOVUPD(s, row(rowB))
		one := v.loaded(v.float(1))
		VDIVPD(r, one, r)
		VDIVPD(s, one, s)
		logA, logB := v.loaded(of("logA")), v.loaded(of("logB"))
		narrow := by(ruleLogNarrow)
		VADDPD(logA, narrow, narrow)
		VADDPD(logB, narrow, narrow)
		VSUBPD(of("logSum"), narrow, narrow)
		VMAXPD(zero, narrow, narrow)
		missing := by(ruleLogMissing)
		VFNMADD231PD(v.float(3), narrow, missing)
		drop := v.copy(logW)
		VSUBPD(missing, drop, drop)
		VADDPD(v.float(0.7), drop, drop)
		width := v.new()
		VADDPD(r, s, width)
		VMULPD(drop, width, width)
		VADDPD(width, width, width)
		VSQRTPD(width, width)
		Comment("C, lo and hi")
		c := v.copy(logW)
		VSUBPD(of("logBeta"), c, c)
		VMOVUPD(c, row(rowC))
		lo, hi, bound := v.new(), v.new(), v.new()
		VSUBPD(logB, logA, lo)
		VADDPD(width, lo, hi)
		VSUBPD(width, lo, lo)
		VFNMADD231PD(drop, r, lo)
		VFMADD231PD(drop, s, hi)
		VSUBPD(c, missing, c)
		VADDPD(logA, c, bound)
		VMULPD(r, bound, bound)
		VMAXPD(bound, lo, lo)
		VADDPD(logB, c, bound)
		VMULPD(s, bound, bound)
		VSUBPD(bound, zero, bound)
		VMINPD(bound, hi, hi)
		end := by(ruleEnd)
		VMINPD(end, hi, hi)
		VSUBPD(end, zero, end)
		VMAXPD(end, lo, lo)
		bound = without(inf, lo)
		VMOVUPD(bound, row(rowEdges))
		VMINPD(bound, lows, lows)
		VSUBPD(hi, zero, bound)
		bound = without(inf, bound)
		VMINPD(bound, highs, highs)
		VSUBPD(bound, zero, bound)
		VMOVUPD(bound, row(rowEdges+betaZoneCount))
		VSUBPD(lo, hi, bound)
		VMINPD(without(inf, bound), widths, widths)
		Comment("the other edges")
		left, right, bend := by(ruleTail), v.loaded(of("logSum")), by(ruleBend)
		VSUBPD(right, left, left)
		VSUBPD(left, zero, right)
		VMAXPD(lo, left, left)
		VMINPD(hi, left, left)
		VMINPD(hi, right, right)
		VMAXPD(lo, right, right)
		VMOVUPD(without(0, left), row(rowEdges+2))
		VMOVUPD(without(0, right), row(rowEdges+3))
		VSUBPD(bend, left, left)
		VMAXPD(lo, left, left)
		VMOVUPD(without(0, left), row(rowEdges+1))
		VADDPD(bend, right, right)
		VMINPD(hi, right, right)
		VMOVUPD(without(0, right), row(rowEdges+4))
		Comment("steps of the middle")
		light := v.copy(logW)
		VADDPD(by(ruleLogTerms), light, light)
		VMULPD(v.float(-1./12), light, light)
		VMAXPD(zero, light, light)
		VMINPD(one, light, light)
		factor := v.loaded(one)
		VFMADD231PD(v.float(0.5), light, factor)
		VFMADD213PD(one, light, factor)
		first, second := v.new(), v.new()
		VMINPD(one, r, first)
		VMINPD(one, s, second)
		VADDPD(second, first, first)
		VSQRTPD(first, first)
		VMULPD(by(ruleStep), first, first)
		VMULPD(factor, first, first)
		VMINPD(by(ruleLongest), first, first)
		VMOVUPD(first, row(rowSteps+2))
		Comment("steps of the tails")
		power, mild, far := by(rulePower), by(ruleMild), by(ruleFar)
		VMULPD(power, r, r)
		VMULPD(power, s, s)
		for i, x := range []VecVirtual{r, s} {
			VMINPD(far, x, first)
			VMOVUPD(first, row(rowSteps+4*i))
			VMINPD(mild, x, first)
			VMOVUPD(first, row(rowSteps+1+2*i))
		}
		ADDQ(U32(blockBytes), blocks)
		ADDQ(Imm(8), i)
		n := address("n")
		left64 := GP64()
		MOVQ(n, left64)
		SHLQ(Imm(3), left64)
		CMPQ(i, left64)
		JL(LabelRef(loop))
		least := loadGP("least")
		for i, x := range []VecVirtual{lows, highs, widths} {
			VMOVUPD(x, Mem{Base: least, Disp: 64*i + at})
		}
	}
	VZEROUPPER()
	RET()
}

// betaLevels generates the function that finds the lowest level of a step in each bucket: a zone is a set of buckets, the bits of two
// masks.
func betaLevels(v *vector64) {
	function("betaLevels"+v.name, "func(levels *uint16, blocks *float64, n int, per, first float64)",
		"betaLevels"+v.name+" computes betaLevelsGeneric for n > 0 blocks.")
	blocks, n := loadGP("blocks"), loadGP("n")
	per, first := v.parameter("per"), v.parameter("first")
	sets := AllocLocal(64 * betaZoneCount)
	codes := AllocLocal(16 * betaZoneCount)
	one, two, lowest, highest, zero := v.new(), v.new(), v.new(), v.new(), v.new()
	VMOVDQU64(v.bits(1), one)
	VMOVDQU64(v.bits(2), two)
	VMOVDQU64(v.bits((1023-29)<<5), lowest)
	VMOVDQU64(v.bits(1023), highest)
	VPXORQ(zero, zero, zero)
	low, high := v.new(), v.new()
	VPTERNLOGD(U8(0xff), low, low, low)
	VPTERNLOGD(U8(0xff), high, high, high)
	Label("loop")
	edge := func(j int) (edge, bucket VecVirtual) {
		edge, bucket = v.loaded(Mem{Base: blocks, Disp: 64 * (rowEdges + j)}), v.loaded(first)
		VFMSUB231PD(per, edge, bucket)
		VCVTTPD2QQ(bucket, bucket)
		return edge, bucket
	}
	from, begin := edge(0)
	for j := range betaZoneCount {
		to, end := edge(j + 1)
		Comment("bits begin to end, if from < to")
		set, bit := v.new(), v.new()
		VPSLLVQ(end, two, set)
		VPSLLVQ(begin, one, bit)
		VPSUBQ(bit, set, set)
		VSUBPD(to, from, from)
		VPSRAQ(Imm(63), from, from)
		VPANDQ(from, set, set)
		VMOVDQU64(set, sets.Offset(64*j))
		Comment("the level of the step")
		level := v.new()
		VPSRLQ(Imm(52-5), Mem{Base: blocks, Disp: 64 * (rowSteps + j)}, level)
		VPSUBQ(lowest, level, level)
		VPMAXSQ(zero, level, level)
		VPMINSQ(highest, level, level)
		VPMOVQW(level, codes.Offset(16*j))
		from, begin = to, end
	}
	Comment("the least level of the buckets of each zone")
	for i := range 8 * betaZoneCount {
		level, lower, upper := v.new(), K(), K()
		KMOVD(sets.Offset(8*i), lower)
		KMOVD(sets.Offset(8*i+4), upper)
		VPBROADCASTW(codes.Offset(2*i), level)
		VPMINUW(level, low, lower, low)
		VPMINUW(level, high, upper, high)
	}
	ADDQ(U32(blockBytes), blocks)
	DECQ(n)
	JNZ(LabelRef("loop"))
	levels := loadGP("levels")
	VMOVDQU64(low, Mem{Base: levels})
	VMOVDQU64(high, Mem{Base: levels, Disp: 64})
	VZEROUPPER()
	RET()
}

// betaBeyond generates the function that computes masses beyond an end.
func betaBeyond(v *vector64) {
	function("betaBeyond"+v.name, "func(dst, a, both, edges *float64, n int, sign, end, small float64)",
		"betaBeyond"+v.name+" computes betaBeyondGeneric for n > 0 blocks of terms: a and edges are the rows of the parameter and the edge at",
		"that end in the first of them, both is that of A, and sign times an edge is at least end where a term matters.")
	sign, end, small := v.parameter("sign"), v.parameter("end"), v.parameter("small")
	dst, power, both, edges, n := loadGP("dst"), loadGP("a"), loadGP("both"), loadGP("edges"), loadGP("n")
	v.keepExp(0)
	Label("loop")
	for at := 0; at < 64; at += v.bytes {
		a, s, edge := v.loaded(Mem{Base: power, Disp: at}), v.loaded(Mem{Base: both, Disp: at}), v.loaded(Mem{Base: edges, Disp: at})
		Comment("s = (A+B) small, and exp(C - end a - s)")
		VADDPD(Mem{Base: both, Disp: 64*rowB + at}, s, s)
		VMULPD(small, s, s)
		f := v.loaded(Mem{Base: both, Disp: 64*rowC + at})
		VFNMADD231PD(a, end, f)
		VSUBPD(s, f, f)
		v.exp(f)
		Comment("times (1 + s/(a+1))/a = (a + 1 + s)/(a(a+1))")
		above := v.new()
		VADDPD(v.float(1), a, above)
		VADDPD(above, s, s)
		VMULPD(a, above, above)
		VDIVPD(above, s, s)
		VMULPD(s, f, f)
		VMULPD(sign, edge, edge)
		zero := v.new()
		VXORPD(zero, zero, zero)
		VMOVUPD(v.choose(v.less(edge, end), zero, f), Mem{Base: dst, Disp: at})
	}
	for _, p := range []GPVirtual{power, both, edges} {
		ADDQ(U32(blockBytes), p)
	}
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
