// Command asm generates the assembly of package kernel for amd64 with avo; that of
// arm64 comes from ./neon.
//
//	go run . -group conv -out ../conv_amd64.s -stubs ../conv_stubs_amd64.go -pkg kernel
//
// Each group of functions goes to one file. See the go:generate lines in
// ../impl_amd64.go, and ./check, which verifies that the files are up to date.
package main

import (
	"flag"
	"fmt"
	"os"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

var groups = map[string]func(){
	"beta":     betaGroup,
	"conv":     convGroup,
	"exp":      expGroup,
	"float64":  float64Group,
	"gemm":     gemmGroup,
	"mask":     maskGroup,
	"norm":     normGroup,
	"optim":    optimGroup,
	"panel":    panelGroup,
	"peak":     peakGroup,
	"poolrows": poolRowsGroup,
	"runs":     runsGroup,
	"sparse":   sparseGroup,
	"tails":    tailsGroup,
	"vec":      vecGroup,
	"votes":    votesGroup,
	"winograd": winogradGroup,
}

func main() {
	group := flag.String("group", "", "functions to generate")
	flag.Parse()
	f, ok := groups[*group]
	if !ok {
		fmt.Fprintf(os.Stderr, "asm: no group %q\n", *group)
		os.Exit(2)
	}
	ConstraintExpr("!purego")
	f()
	Generate()
}

// loadGP loads a parameter into a new general-purpose register.
func loadGP(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// address returns where a parameter lies in memory.
func address(name string) Mem {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// function begins a function that Go sees with the given signature; doc is
// the loop it computes.
func function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

// ymms returns n new vector registers.
func ymms(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = YMM()
	}
	return v
}

func zmms(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = ZMM()
	}
	return v
}

// maskTable is the global from which tailMask takes its masks: 8 times all
// ones, then 8 zeros.
func maskTable() Mem {
	m := GLOBL("tailMasks", RODATA|NOPTR)
	for i := range 16 {
		v := uint32(0)
		if i < 8 {
			v = 0xffffffff
		}
		DATA(4*i, U32(v))
	}
	return m
}

// tailMask sets mask to ones in the first n lanes, 0 ≤ n ≤ 8.
func tailMask(table Mem, n Register, mask VecVirtual) {
	p := GP64()
	LEAQ(table, p)
	q := GP64()
	MOVQ(n, q)
	NEGQ(q)
	VMOVUPS(Mem{Base: p, Index: q, Scale: 4, Disp: 32}, mask)
}
