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
		gemmAVX512(rows, 2, false)
		gemmAVX512(rows, 2, true)
		gemmAVX512(rows, 1, true)
	}
}

const gemmSignature = "func(c *float32, ldc int, a *float32, rs, ks int, b *float32, bs, bp int, bias *float32, m, n, k int)"

func gemmDoc(name string, rows int, columns string) []string {
	return []string{
		fmt.Sprintf("%s computes, for i < m (a multiple of %d) and j < n (%s), with j = 16q + r, r < 16,", name, rows, columns),
		"",
		"\tc[i*ldc+j] = (bias ? bias[j] : c[i*ldc+j]) + Σ_{p<k} a[i*rs+p*ks] * b[q*bp+p*bs+r]",
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

// gemmFrame is what the two instruction sets share: the loops over tiles of rows, each of as many panels as it is wide,
// and the pointers. load, step and store work on one tile.
func gemmFrame(rows, wide int, loadBias func(bias GPVirtual), load, store func(c rowAddresses), step func(b []Mem, a rowAddresses)) {
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
	panels := []Mem{{Base: b}}
	if wide > 1 {
		panels = append(panels, Mem{Base: b, Index: loadGP("bp"), Scale: 4})
	}
	TESTQ(k, k)
	JZ(LabelRef("store"))
	Label("loop")
	step(panels, ar)
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
	left := loadGP("n")
	SUBQ(Imm(uint64(16*wide)), left)
	JLE(LabelRef("done"))
	Store(left, Param("n"))
	{
		c, a, m := GP64(), GP64(), GP64()
		MOVQ(kept, c)
		ADDQ(Imm(uint64(64*wide)), c)
		MOVQ(c, kept)
		Store(c, Param("c"))
		MOVQ(kept.Offset(8), a)
		Store(a, Param("a"))
		MOVQ(kept.Offset(16), m)
		Store(m, Param("m"))
		b, bp := loadGP("b"), loadGP("bp")
		for range wide {
			LEAQ(Mem{Base: b, Index: bp, Scale: 4}, b)
		}
		Store(b, Param("b"))
		bias := loadGP("bias")
		TESTQ(bias, bias)
		JZ(LabelRef("panel"))
		ADDQ(Imm(uint64(64*wide)), bias)
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
	function(name, gemmSignature, gemmDoc(name, rows, "a multiple of 16")...)
	acc, w, v := ymms(2*rows), ymms(2), YMM()
	gemmFrame(rows, 1,
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
		func(b []Mem, a rowAddresses) {
			VMOVUPS(b[0], w[0])
			VMOVUPS(b[0].Offset(32), w[1])
			for i := range rows {
				VBROADCASTSS(a.at(i), v)
				VFMADD231PS(v, w[0], acc[2*i])
				VFMADD231PS(v, w[1], acc[2*i+1])
			}
		})
}

// gemmAVX512 multiplies tiles one or two panels wide: with two, an element of A is loaded once for two multiply-adds, so that
// these and not loads are the limit. If masked, there is a single tile, whose last panel may have less than 16 columns.
func gemmAVX512(rows, wide int, masked bool) {
	name, columns := fmt.Sprintf("gemm%dx%dAVX512", rows, wide), fmt.Sprintf("a multiple of %d", 16*wide)
	if masked {
		name, columns = fmt.Sprintf("gemm%dx%dMaskedAVX512", rows, wide), fmt.Sprintf("%d to %d", 16*wide-15, 16*wide)
	}
	function(name, gemmSignature, gemmDoc(name, rows, columns)...)
	live := K()
	if masked {
		count, bits := loadGP("n"), GP64()
		if wide > 1 {
			SUBQ(Imm(uint64(16*(wide-1))), count)
		}
		MOVQ(U32(1<<16-1), bits)
		BZHIQ(count, bits, bits)
		KMOVW(bits.As32(), live)
	}
	acc, w, v := zmms(rows*wide), zmms(wide), ZMM()
	load := func(panel int, m Mem, to VecVirtual) {
		if masked && panel == wide-1 {
			VMOVUPS_Z(m, live, to)
		} else {
			VMOVUPS(m, to)
		}
	}
	gemmFrame(rows, wide,
		func(bias GPVirtual) {
			for i := range acc {
				if i < wide {
					load(i, Mem{Base: bias, Disp: 64 * i}, acc[i])
				} else {
					VMOVAPS(acc[i%wide], acc[i])
				}
			}
		},
		func(c rowAddresses) {
			for i := range acc {
				load(i%wide, c.at(i/wide).Offset(i%wide*64), acc[i])
			}
		},
		func(c rowAddresses) {
			for i := range acc {
				m := c.at(i / wide).Offset(i % wide * 64)
				if masked && i%wide == wide-1 {
					VMOVUPS(acc[i], live, m)
				} else {
					VMOVUPS(acc[i], m)
				}
			}
		},
		func(b []Mem, a rowAddresses) {
			for i := range w {
				load(i, b[i], w[i])
			}
			for i := range rows {
				if wide == 1 {
					VFMADD231PS_BCST(a.at(i), w[0], acc[i])
					continue
				}
				VBROADCASTSS(a.at(i), v)
				for j := range wide {
					VFMADD231PS(v, w[j], acc[i*wide+j])
				}
			}
		})
}
