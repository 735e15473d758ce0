package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func peakGroup() {
	peak("peakAVX2", ymms(12))
	peak("peakAVX512", zmms(16))
}

// peak is a loop of independent multiply-adds on registers.
func peak[V Op](name string, acc []V) {
	function(name, "func(n int)", name+" does n rounds of one multiply-add on each of several independent registers.")
	n := loadGP("n")
	for _, a := range acc {
		VPXORD0(a)
	}
	Label("loop")
	for _, a := range acc {
		VFMADD231PS(a, a, a)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// VPXORD0 clears a register of any width.
func VPXORD0(a Op) { VXORPS(a, a, a) }
