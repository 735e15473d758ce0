package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// winogradSizes are the numbers of points of minimal filtering, and
// winogradOutputs the outputs of a tile at most; see ../winograd.go.
var winogradSizes = []int{6, 8, 9}

const winogradOutputs = 7

// winogradHeld is for how many outputs of a tile after the first AVX-512 keeps the
// powers in registers: with nine points, 16 of 32.
const winogradHeld = 4

func winogradGroup() {
	for _, t := range winogradSizes {
		winogradInput(t, "AVX2")
		winogradOutput(t, 8, 8, "AVX2")
		winogradOutput(t, 16, 8, "AVX2")
		winogradOutput(t, 16, 16, "AVX512")
	}
	winogradInput(9, "AVX512")
	for tiles := 1; tiles <= 3; tiles++ {
		winogradColumns(tiles)
	}
}

// winogradInput evaluates one tile after the other: its t values are broadcast
// and multiplied by columns of the matrix, points in lanes. Up to eight points
// fill one YMM register; nine take a ZMM register, or with AVX2 a further XMM.
func winogradInput(t int, isa string) {
	name := fmt.Sprintf("winogradInput%d%s", t, isa)
	acc := []VecVirtual{YMM()}
	switch {
	case t > 8 && isa == "AVX512":
		acc = []VecVirtual{ZMM()}
	case t > 8:
		acc = []VecVirtual{YMM(), XMM()}
	}
	written := 0
	for _, v := range acc {
		written += int(v.Size()) / 4
	}
	function(name, "func(v, x *float32, n, ld int, starts *int32, nz int, in *float32)",
		fmt.Sprintf("%s computes, for r < n, z < nz (neither 0) and j < %d,", name, t),
		"",
		fmt.Sprintf("\tv[(r*nz+z)*%[1]d+j] = Σ_{i<%[1]d} in[i*16+j] * x[r*ld+starts[z]+i]", t),
		"",
		fmt.Sprintf("and writes %d elements more.", written-t))
	v, x, n, ld := loadGP("v"), loadGP("x"), loadGP("n"), loadGP("ld")
	starts, nz, in := loadGP("starts"), loadGP("nz"), loadGP("in")
	SHLQ(Imm(2), ld)
	LEAQ(Mem{Base: starts, Index: nz, Scale: 4}, nz)
	b := vectors(1, int(acc[0].Size())/4)[0]
	var held []VecVirtual
	if len(acc) == 1 {
		Comment("The matrix stays in registers.")
		held = vectors(t, int(acc[0].Size())/4)
		for i := range held {
			VMOVUPS(Mem{Base: in, Disp: 64 * i}, held[i])
		}
	}
	z, at := GP64(), GP64()
	Label("row")
	MOVQ(starts, z)
	Label("tile")
	MOVLQSX(Mem{Base: z}, at)
	LEAQ(Mem{Base: x, Index: at, Scale: 4}, at)
	for i := range t {
		VBROADCASTSS(Mem{Base: at, Disp: 4 * i}, b)
		for j := range acc {
			var column Op = Mem{Base: in, Disp: 64*i + 32*j}
			if held != nil {
				column = held[i]
			}
			value := Register(b)
			if j == 1 {
				value = b.AsX()
			}
			if i == 0 {
				VMULPS(column, value, acc[j])
			} else {
				VFMADD231PS(column, value, acc[j])
			}
		}
	}
	for j := range acc {
		VMOVUPS(acc[j], Mem{Base: v, Disp: 32 * j})
	}
	ADDQ(Imm(uint64(4*t)), v)
	ADDQ(Imm(4), z)
	CMPQ(z, nz)
	JNE(LabelRef("tile"))
	ADDQ(ld, x)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// winogradOutput interpolates one tile after the other. The sums and differences
// of the products at opposite points stay in registers for all of its outputs.
func winogradOutput(t, cb, lanes int, isa string) {
	half, zero := (t-1)/2, (t+1)%2
	name := fmt.Sprintf("winogradOutput%dx%d%s", t, cb, isa)
	function(name, "func(out, bias, prod *float32, ld int, o *int32, n int, powers *float32, m int)",
		fmt.Sprintf("%s computes, for i < n (n ≥ 1), p < m (2 ≤ m ≤ %d) and c < %d,", name, winogradOutputs, cb),
		"",
		fmt.Sprintf("\tout[(o[i]+p)*%[1]d+c] = bias[c] + Σ_{q<%[2]d} powers[p*%[2]d+q] * (P(%[3]d+2*q) ± P(%[4]d+2*q))", cb, half, zero, zero+1),
		"",
		fmt.Sprintf("with + for even p, − for odd, P(j) = prod[(j*ld+i)*%d+c]; for p = m-1 plus P(%d)%s.",
			cb, t-1, map[int]string{0: "", 1: ", for p = 0 plus P(0)"}[zero]))
	out, prod, ld, o, n := loadGP("out"), loadGP("prod"), loadGP("ld"), loadGP("o"), loadGP("n")
	powers, m, bias := loadGP("powers"), loadGP("m"), loadGP("bias")
	shift := map[int]uint64{8: 5, 16: 6}[cb]
	SHLQ(Imm(shift), ld)
	LEAQ(Mem{Base: o, Index: n, Scale: 4}, n)
	sum, diff := vectors(half, lanes), vectors(half, lanes)
	top, acc, a := vectors(1, lanes)[0], vectors(1, lanes)[0], vectors(1, lanes)[0]
	base, to := GP64(), GP64()
	var held []VecVirtual
	start := vectors(1, lanes)[0]
	if lanes == 16 {
		Comment("The powers of the first outputs stay in registers, broadcast, and so do the biases.")
		held = vectors(winogradHeld*half, lanes)
		for i := range held {
			VBROADCASTSS(Mem{Base: powers, Disp: 4 * (half + i)}, held[i])
		}
		VMOVUPS(Mem{Base: bias}, start)
	}

	Label("tile")
	MOVLQSX(Mem{Base: o}, base)
	SHLQ(Imm(shift), base)
	ADDQ(out, base)
	for part := range cb / lanes {
		disp := 4 * lanes * part
		done := fmt.Sprintf("done%d", part)
		from := GP64()
		MOVQ(prod, from)
		MOVQ(base, to)
		if held != nil {
			VMOVAPS(start, acc)
		} else {
			VMOVUPS(Mem{Base: bias, Disp: disp}, acc)
		}
		if zero == 1 {
			VADDPS(Mem{Base: from, Disp: disp}, acc, acc)
			ADDQ(ld, from)
		}
		for q := range half {
			VMOVUPS(Mem{Base: from, Disp: disp}, a)
			VMOVUPS(Mem{Base: from, Index: ld, Scale: 1, Disp: disp}, top)
			LEAQ(Mem{Base: from, Index: ld, Scale: 2}, from)
			VADDPS(top, a, sum[q])
			VSUBPS(top, a, diff[q])
			VADDPS(sum[q], acc, acc)
		}
		VMOVUPS(Mem{Base: from, Disp: disp}, top)
		for p := range winogradOutputs {
			if p > 0 {
				terms := sum
				if p%2 == 1 {
					terms = diff
				}
				if held != nil {
					VMOVAPS(start, acc)
				} else {
					VMOVUPS(Mem{Base: bias, Disp: disp}, acc)
				}
				for q := range half {
					if i := (p-1)*half + q; i < len(held) {
						VFMADD231PS(held[i], terms[q], acc)
						continue
					}
					VBROADCASTSS(Mem{Base: powers, Disp: 4 * (p*half + q)}, a)
					VFMADD231PS(a, terms[q], acc)
				}
				CMPQ(m, Imm(uint64(p+1)))
				JE(LabelRef(done))
			}
			if p < winogradOutputs-1 {
				VMOVUPS(acc, Mem{Base: to, Disp: disp + 4*cb*p})
			}
		}
		Label(done)
		LEAQ(Mem{Base: m, Disp: -1}, from)
		SHLQ(Imm(shift), from)
		VADDPS(top, acc, acc)
		VMOVUPS(acc, Mem{Base: to, Index: from, Scale: 1, Disp: disp})
	}
	ADDQ(Imm(uint64(4*cb)), prod)
	ADDQ(Imm(4), o)
	CMPQ(o, n)
	JNE(LabelRef("tile"))
	VZEROUPPER()
	RET()
}
