package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func poolRowsGroup() {
	table := laneTable()
	for channels := 1; channels <= 6; channels++ {
		poolRows(channels, table)
	}
}

// laneTable is the global with the even numbers below 32, then the odd ones: the lanes of
// two vectors that hold even and odd positions.
func laneTable() Mem {
	m := GLOBL("evenOdd", RODATA|NOPTR)
	for i := range 32 {
		DATA(4*i, U32(uint32(i%16*2+i/16)))
	}
	return m
}

// poolRows holds two output rows of up to 32 positions in four vectors for each channel: for
// each tap, four vectors of inputs are loaded and one weight is broadcast for each channel.
func poolRows(channels int, table Mem) {
	name := fmt.Sprintf("poolRows%dAVX512", channels)
	function(name, "func(y *float32, arg *int32, ld, step int, x *float32, pitch int, off *int32, taps int, w, bias *float32, rows, n, pos, wide int, floor float32)",
		fmt.Sprintf("%s computes, for r < rows (rows ≥ 1), i < n (8 … 16), h < 2, l < 2 and c < %d, with taps ≥ 1,", name, channels),
		"",
		"\tv[h][l] = bias[c] + Σ_{t<taps} w[t*8+c] * x[(2*r+h)*pitch+2*i+l+off[t]]",
		"\ty[c*ld+r*step+i], arg[c*ld+r*step+i] = max(v[h][l], floor), pos+(2*r+h)*wide+2*i+l",
		"",
		"of the first largest v in the order of h, l, or of the last NaN.")
	Comment("K1: positions in the second vector of a row; K2: windows; then the lanes of even and of odd positions, and the floor.")
	second, windows := K(), K()
	{
		count, bits := GP64(), GP64()
		MOVQ(loadGP("n"), count)
		ones := func(k Op) {
			MOVQ(count, RCX)
			MOVL(U32(1), bits.As32())
			SHLQ(CL, bits)
			DECQ(bits)
			KMOVW(bits.As32(), k)
		}
		ones(windows)
		LEAQ(Mem{Base: count, Index: count, Scale: 1, Disp: -16}, count)
		ones(second)
	}
	even, odd, floor := ZMM(), ZMM(), ZMM()
	VMOVDQU32(table, even)
	VMOVDQU32(table.Offset(64), odd)
	VBROADCASTSS(address("floor"), floor)

	acc, in, weight := zmms(4*channels), zmms(4), ZMM()
	up, down, pitch := loadGP("x"), GP64(), loadGP("pitch")
	offEnd := loadGP("taps")
	off, w, o := GP64(), GP64(), GP64()
	{
		first := loadGP("off")
		LEAQ(Mem{Base: first, Index: offEnd, Scale: 4}, offEnd)
	}
	SHLQ(Imm(2), pitch)

	Label("row")
	Comment("Two output rows: every sum begins with the bias.")
	bias := loadGP("bias")
	for c := range channels {
		VBROADCASTSS(Mem{Base: bias, Disp: 4 * c}, acc[4*c])
		for i := 1; i < 4; i++ {
			VMOVAPS(acc[4*c], acc[4*c+i])
		}
	}
	LEAQ(Mem{Base: up, Index: pitch, Scale: 1}, down)
	Load(Param("off"), off)
	Load(Param("w"), w)
	Label("tap")
	Comment("Inputs of the upper and of the lower row, then the channels.")
	MOVLQSX(Mem{Base: off}, o)
	for h, row := range []GPVirtual{up, down} {
		VMOVUPS(Mem{Base: row, Index: o, Scale: 4}, in[2*h])
		VMOVUPS_Z(Mem{Base: row, Index: o, Scale: 4, Disp: 64}, second, in[2*h+1])
	}
	for c := range channels {
		VBROADCASTSS(Mem{Base: w, Disp: 4 * c}, weight)
		for i := range in {
			VFMADD231PS(in[i], weight, acc[4*c+i])
		}
	}
	ADDQ(Imm(32), w)
	ADDQ(Imm(4), off)
	CMPQ(off, offEnd)
	JNE(LabelRef("tap"))

	Comment("The windows, channel by channel: positions of the upper row, of the lower one, then each value in scan order.")
	upper, lower := ZMM(), ZMM()
	VPBROADCASTD(address("pos"), upper)
	VPADDD(even, upper, upper)
	VPADDD_BCST(address("wide"), upper, lower)
	y, arg, ld := loadGP("y"), loadGP("arg"), loadGP("ld")
	for c := range channels {
		v := acc[4*c : 4*c+4]
		best, at := ZMM(), ZMM()
		VMOVAPS(v[0], best)
		VPERMT2PS(v[1], even, best)
		VPERMT2PS(v[1], odd, v[0])
		VMOVAPS(v[2], v[1])
		VPERMT2PS(v[3], even, v[1])
		VPERMT2PS(v[3], odd, v[2])
		VMOVDQA32(upper, at)
		win, nan := K(), K()
		compare := func(value VecVirtual) {
			VCMPPS(Imm(3), value, value, nan) // unordered
			VCMPPS(Imm(30), best, value, win) // value > best
			KORW(nan, win, win)
			VMOVAPS(value, win, best)
		}
		one := table.Offset(64)
		compare(v[0])
		VPADDD_BCST(one, upper, win, at)
		compare(v[1])
		VMOVDQA32(lower, win, at)
		compare(v[2])
		VPADDD_BCST(one, lower, win, at)
		VMAXPS(best, floor, best) // best, if that is NaN
		VMOVUPS(best, windows, Mem{Base: y})
		VMOVDQU32(at, windows, Mem{Base: arg})
		if c < channels-1 {
			LEAQ(Mem{Base: y, Index: ld, Scale: 4}, y)
			LEAQ(Mem{Base: arg, Index: ld, Scale: 4}, arg)
		}
	}

	Comment("On to the next pooled row.")
	step := loadGP("step")
	for _, name := range []string{"y", "arg"} {
		p := loadGP(name)
		LEAQ(Mem{Base: p, Index: step, Scale: 4}, p)
		Store(p, Param(name))
	}
	pos, wide := loadGP("pos"), loadGP("wide")
	LEAQ(Mem{Base: pos, Index: wide, Scale: 2}, pos)
	Store(pos, Param("pos"))
	LEAQ(Mem{Base: up, Index: pitch, Scale: 2}, up)
	rows := loadGP("rows")
	DECQ(rows)
	Store(rows, Param("rows"))
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
