package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rowTiles are the numbers of runs that indexedRows computes at a time for 1 … 6
// channels.
var rowTiles = map[int][]int{
	8:  {10, 6, 4, 3, 2, 2},
	16: {10, 10, 8, 6, 4, 4},
}

// indexedRows computes tiles of runs × channels accumulators: for each b, one
// vector is loaded for each run and one weight is broadcast for each channel.
func indexedRows(channels, lanes int, isa string) {
	runs := rowTiles[lanes][channels-1]
	name := fmt.Sprintf("indexedRows%d%s", channels, isa)
	function(name, "func(out *float32, ldo int, x *float32, a *int32, na int, b *int32, nb int, w *float32)",
		fmt.Sprintf("%s computes, for r < na (a multiple of %d), l < %d and c < %d,", name, runs, lanes, channels),
		"",
		fmt.Sprintf("\tout[c*ldo+r*%d+l] += Σ_{t<nb} w[t*%d+c] * x[a[r]+l+b[t]]", lanes, channels))
	acc, held := vectors(runs*channels, lanes), vectors(min(runs, channels), lanes)
	stream := vectors(1, lanes)[0]
	ptr := make([]GPVirtual, runs)
	for i := range ptr {
		ptr[i] = GP64()
	}

	Label("tile")
	n := loadGP("na")
	SUBQ(Imm(uint64(runs)), n)
	JL(LabelRef("done"))
	Store(n, Param("na"))
	{
		x, a := loadGP("x"), loadGP("a")
		for i, p := range ptr {
			MOVLQSX(Mem{Base: a, Disp: 4 * i}, p)
			LEAQ(Mem{Base: x, Index: p, Scale: 4}, p)
		}
		ADDQ(Imm(uint64(4*runs)), a)
		Store(a, Param("a"))
	}
	sums := func(move func(m Mem, v VecVirtual)) GPVirtual {
		out, ldo := loadGP("out"), loadGP("ldo")
		first := GP64()
		MOVQ(out, first)
		for c := range channels {
			for i := range runs {
				move(Mem{Base: out, Disp: 4 * lanes * i}, acc[i*channels+c])
			}
			LEAQ(Mem{Base: out, Index: ldo, Scale: 4}, out)
		}
		return first
	}
	sums(func(m Mem, v VecVirtual) { VMOVUPS(m, v) })
	b, wp, nb := loadGP("b"), loadGP("w"), loadGP("nb")
	TESTQ(nb, nb)
	JZ(LabelRef("store"))
	LEAQ(Mem{Base: b, Index: nb, Scale: 4}, nb)
	off := GP64()
	Label("loop")
	MOVLQSX(Mem{Base: b}, off)
	// The smaller of the two sets stays in registers, the other streams.
	run := func(i int) Mem { return Mem{Base: ptr[i], Index: off, Scale: 4} }
	if channels <= runs {
		for c := range channels {
			VBROADCASTSS(Mem{Base: wp, Disp: 4 * c}, held[c])
		}
		for i := range runs {
			if channels == 1 {
				VFMADD231PS(run(i), held[0], acc[i])
				continue
			}
			VMOVUPS(run(i), stream)
			for c := range channels {
				VFMADD231PS(held[c], stream, acc[i*channels+c])
			}
		}
	} else {
		for i := range runs {
			VMOVUPS(run(i), held[i])
		}
		for c := range channels {
			VBROADCASTSS(Mem{Base: wp, Disp: 4 * c}, stream)
			for i := range runs {
				VFMADD231PS(stream, held[i], acc[i*channels+c])
			}
		}
	}
	ADDQ(Imm(uint64(4*channels)), wp)
	ADDQ(Imm(4), b)
	CMPQ(b, nb)
	JNE(LabelRef("loop"))
	Label("store")
	out := sums(func(m Mem, v VecVirtual) { VMOVUPS(v, m) })
	ADDQ(U32(4*lanes*runs), out)
	Store(out, Param("out"))
	JMP(LabelRef("tile"))
	Label("done")
	VZEROUPPER()
	RET()
}
