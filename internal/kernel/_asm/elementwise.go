package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lane is one step of an elementwise loop: eight elements of every slice, or,
// with a mask, the last few.
type lane struct {
	ptr  map[string]GPVirtual
	disp int
	mask VecVirtual
}

func (l lane) load(name string) VecVirtual {
	v := YMM()
	at := Mem{Base: l.ptr[name], Disp: l.disp}
	if l.mask != nil {
		VMASKMOVPS(at, l.mask, v)
	} else {
		VMOVUPS(at, v)
	}
	return v
}

func (l lane) store(v VecVirtual, name string) {
	at := Mem{Base: l.ptr[name], Disp: l.disp}
	if l.mask != nil {
		VMASKMOVPS(v, l.mask, at)
	} else {
		VMOVUPS(v, at)
	}
}

// elementwise generates a function over slices of n elements, given by pointers
// of the given names: body for every eight elements, unroll of them in a row
// while there are enough, and once with a mask for the rest. So an element is
// computed by the same instructions wherever it stands.
func elementwise(unroll int, slices []string, body func(l lane)) {
	l := lane{ptr: map[string]GPVirtual{}}
	for _, name := range slices {
		l.ptr[name] = loadGP(name)
	}
	n := loadGP("n")
	loop := func(label string, steps int) {
		CMPQ(n, Imm(uint64(8*steps)))
		JL(LabelRef("after" + label))
		Label(label)
		for i := range steps {
			l.disp = 32 * i
			body(l)
		}
		l.disp = 0
		for _, name := range slices {
			ADDQ(U32(32*steps), l.ptr[name])
		}
		SUBQ(Imm(uint64(8*steps)), n)
		CMPQ(n, Imm(uint64(8*steps)))
		JGE(LabelRef(label))
		Label("after" + label)
	}
	if unroll > 1 {
		loop("many", unroll)
	}
	loop("eight", 1)
	TESTQ(n, n)
	JZ(LabelRef("done"))
	l.mask = YMM()
	tailMask(masks, n, l.mask)
	body(l)
	Label("done")
	restoreMode()
	VZEROUPPER()
	RET()
}

// savedMode is where flushSubnormals of the current function keeps the mode.
var savedMode Mem

// restoreMode undoes flushSubnormals, if it was called.
func restoreMode() {
	if savedMode.Base != nil {
		VLDMXCSR(savedMode)
		savedMode = Mem{}
	}
}

// flushSubnormals makes the rest of a function take subnormal
// numbers as zero and give zero for them: a processor is a hundred times slower
// on them, and gradients that vanish decay into them.
func flushSubnormals() {
	const flushToZero, subnormalsAreZero = 1 << 15, 1 << 6
	local := AllocLocal(8)
	VSTMXCSR(local)
	mode := GP32()
	MOVL(local, mode)
	ORL(U32(flushToZero|subnormalsAreZero), mode)
	MOVL(mode, local.Offset(4))
	VLDMXCSR(local.Offset(4))
	savedMode = local
}

// masks is the table of tailMask in the file being generated.
var masks Mem

// broadcast loads a float32 parameter into all lanes.
func broadcast(name string) VecVirtual {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	VBROADCASTSS(c.Addr, v)
	return v
}

var constants = map[uint32]Mem{}

// bits32 is a constant vector of eight equal words, a memory operand.
func bits32(b uint32) Mem {
	if m, ok := constants[b]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("word%08x", b), RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(b))
	}
	constants[b] = m
	return m
}

// float is a constant vector of eight equal numbers.
func float(x float64) Mem { return bits32(math.Float32bits(float32(x))) }

// constant loads a constant vector into a register.
func constant(m Mem) VecVirtual {
	v := YMM()
	VMOVUPS(m, v)
	return v
}

// horner returns c[0]·xⁿ + … + c[n] by multiply-adds.
func horner(x VecVirtual, c ...float64) VecVirtual {
	p := constant(float(c[0]))
	for _, a := range c[1:] {
		VFMADD213PS(float(a), x, p)
	}
	return p
}
