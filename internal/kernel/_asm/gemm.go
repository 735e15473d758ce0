package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func gemmGroup() {
	packPanel(maskTable())
	for rows := 1; rows <= 6; rows++ {
		gemmAVX2(rows)
	}
	for rows := 1; rows <= 12; rows++ {
		gemmAVX512(rows)
	}
}

const gemmSignature = "func(c *float32, ldc int, a *float32, rs, ks int, b *float32, bs, bp int, bias *float32, m, k, panels int)"

func gemmDoc(name string, rows int) []string {
	return []string{
		fmt.Sprintf("%s computes, for i < m (a multiple of %d), j < 16 and q < panels,", name, rows),
		"",
		"\tc[i*ldc+16*q+j] = (bias ? bias[16*q+j] : c[i*ldc+16*q+j]) + Σ_{p<k} a[i*rs+p*ks] * b[q*bp+p*bs+j]",
	}
}

// rowAddresses returns the addresses of n rows, stride apart, from base: bases
// are kept for every third row, the rows between by index.
type rowAddresses struct {
	base   []GPVirtual
	stride GPVirtual
}

func newRows(base GPVirtual, stride GPVirtual, n int) rowAddresses {
	r := rowAddresses{[]GPVirtual{base}, stride}
	for i := 3; i < n; i += 3 {
		p := GP64()
		prev := r.base[len(r.base)-1]
		LEAQ(Mem{Base: prev, Index: stride, Scale: 2}, p)
		ADDQ(stride, p)
		r.base = append(r.base, p)
	}
	return r
}

func (r rowAddresses) at(i int) Mem {
	m := Mem{Base: r.base[i/3]}
	if i%3 > 0 {
		m.Index, m.Scale = r.stride, uint8(i%3)
	}
	return m
}

func (r rowAddresses) advance(by GPVirtual) {
	for _, b := range r.base {
		ADDQ(by, b)
	}
}

// gemmFrame is what the two instruction sets share: the loop over tiles of rows
// and the pointers. load, step and store work on one tile.
func gemmFrame(rows int, loadBias func(bias GPVirtual), load, store func(c rowAddresses), step func(b GPVirtual, a rowAddresses)) {
	flushSubnormals()
	Comment("c, a and m of a panel change from tile to tile")
	kept := AllocLocal(24)
	for i, name := range []string{"c", "a", "m"} {
		MOVQ(loadGP(name), kept.Offset(8*i))
	}
	Label("panel")
	Label("tile")
	m := loadGP("m")
	SUBQ(Imm(uint64(rows)), m)
	JL(LabelRef("next"))
	Store(m, Param("m"))
	bias := loadGP("bias")
	TESTQ(bias, bias)
	JZ(LabelRef("present"))
	loadBias(bias)
	JMP(LabelRef("start"))
	Label("present")
	{
		c, ldc := loadGP("c"), loadGP("ldc")
		SHLQ(Imm(2), ldc)
		load(newRows(c, ldc, rows))
	}
	Label("start")
	a, rs, ks := loadGP("a"), loadGP("rs"), loadGP("ks")
	SHLQ(Imm(2), rs)
	SHLQ(Imm(2), ks)
	ar := newRows(a, rs, rows)
	b, bs, k := loadGP("b"), loadGP("bs"), loadGP("k")
	SHLQ(Imm(2), bs)
	TESTQ(k, k)
	JZ(LabelRef("store"))
	Label("loop")
	step(b, ar)
	ar.advance(ks)
	ADDQ(bs, b)
	DECQ(k)
	JNZ(LabelRef("loop"))
	Label("store")
	{
		c, ldc := loadGP("c"), loadGP("ldc")
		SHLQ(Imm(2), ldc)
		first := GP64()
		MOVQ(c, first)
		store(newRows(c, ldc, rows))
		IMUL3Q(Imm(uint64(rows)), ldc, ldc)
		ADDQ(ldc, first)
		Store(first, Param("c"))
		a, rs := loadGP("a"), loadGP("rs")
		IMUL3Q(Imm(uint64(4*rows)), rs, rs)
		ADDQ(rs, a)
		Store(a, Param("a"))
	}
	JMP(LabelRef("tile"))
	Label("next")
	left := loadGP("panels")
	DECQ(left)
	JLE(LabelRef("done"))
	Store(left, Param("panels"))
	{
		c, a, m := GP64(), GP64(), GP64()
		MOVQ(kept, c)
		ADDQ(Imm(64), c)
		MOVQ(c, kept)
		Store(c, Param("c"))
		MOVQ(kept.Offset(8), a)
		Store(a, Param("a"))
		MOVQ(kept.Offset(16), m)
		Store(m, Param("m"))
		b, bp := loadGP("b"), loadGP("bp")
		LEAQ(Mem{Base: b, Index: bp, Scale: 4}, b)
		Store(b, Param("b"))
		bias := loadGP("bias")
		TESTQ(bias, bias)
		JZ(LabelRef("panel"))
		ADDQ(Imm(64), bias)
		Store(bias, Param("bias"))
	}
	JMP(LabelRef("panel"))
	Label("done")
	restoreMode()
	VZEROUPPER()
	RET()
}

func gemmAVX2(rows int) {
	name := fmt.Sprintf("gemm%dAVX2", rows)
	function(name, gemmSignature, gemmDoc(name, rows)...)
	acc, w, v := ymms(2*rows), ymms(2), YMM()
	gemmFrame(rows,
		func(bias GPVirtual) {
			for i := range acc {
				if i < 2 {
					VMOVUPS(Mem{Base: bias, Disp: 32 * i}, acc[i])
				} else {
					VMOVAPS(acc[i%2], acc[i])
				}
			}
		},
		func(c rowAddresses) {
			for i := range acc {
				VMOVUPS(c.at(i/2).Offset(i%2*32), acc[i])
			}
		},
		func(c rowAddresses) {
			for i := range acc {
				VMOVUPS(acc[i], c.at(i/2).Offset(i%2*32))
			}
		},
		func(b GPVirtual, a rowAddresses) {
			VMOVUPS(Mem{Base: b}, w[0])
			VMOVUPS(Mem{Base: b, Disp: 32}, w[1])
			for i := range rows {
				VBROADCASTSS(a.at(i), v)
				VFMADD231PS(v, w[0], acc[2*i])
				VFMADD231PS(v, w[1], acc[2*i+1])
			}
		})
}

func gemmAVX512(rows int) {
	name := fmt.Sprintf("gemm%dAVX512", rows)
	function(name, gemmSignature, gemmDoc(name, rows)...)
	acc, w := zmms(rows), ZMM()
	gemmFrame(rows,
		func(bias GPVirtual) {
			VMOVUPS(Mem{Base: bias}, acc[0])
			for i := 1; i < rows; i++ {
				VMOVAPS(acc[0], acc[i])
			}
		},
		func(c rowAddresses) {
			for i := range acc {
				VMOVUPS(c.at(i), acc[i])
			}
		},
		func(c rowAddresses) {
			for i := range acc {
				VMOVUPS(acc[i], c.at(i))
			}
		},
		func(b GPVirtual, a rowAddresses) {
			VMOVUPS(Mem{Base: b}, w)
			for i := range acc {
				VFMADD231PS_BCST(a.at(i), w, acc[i])
			}
		})
}
