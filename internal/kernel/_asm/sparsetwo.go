package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// sparseDotTwo holds the gradients of rows kernel rows of up to 8 taps for two output channels: one
// channel alone waits for its multiply-adds. The channel with more winners ends alone.
func sparseDotTwo(rows int) {
	name := fmt.Sprintf("sparseDotTwo%dAVX512", rows)
	function(name, "func(dw, sum, x *float32, rows *int32, kw int, pos0, pos1 *int32, grad0, grad1 *float32, n0, n1 int)",
		fmt.Sprintf("%s computes, for i < 2, r < %d, l < kw ≤ 8 and j = 0 … n_i-1 in order,", name, rows),
		"",
		fmt.Sprintf("\tdw[(i*%d+r)*kw+l] += grad_i[j] * x[pos_i[j]+rows[r]+l]", rows),
		"\tsum[i] += grad_i[j]")
	Comment("K1: taps; where the kernel rows begin in x; gradients and their sums.")
	mask := K()
	kw := loadGP("kw")
	{
		bits := GP64()
		MOVQ(kw, RCX)
		MOVL(U32(1), bits.As32())
		SHLQ(CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), mask)
	}
	acc, sum := [2][]VecVirtual{ymms(rows), ymms(rows)}, [2]VecVirtual{XMM(), XMM()}
	each := func(move func(m Mem, v VecVirtual), single func(m Mem, v VecVirtual)) {
		dw, s, step := loadGP("dw"), loadGP("sum"), loadGP("kw")
		for i := range acc {
			for r, v := range acc[i] {
				move(Mem{Base: dw}, v)
				if i+r < rows {
					LEAQ(Mem{Base: dw, Index: step, Scale: 4}, dw)
				}
			}
			single(Mem{Base: s, Disp: 4 * i}, sum[i])
		}
	}
	each(func(m Mem, v VecVirtual) { VMOVUPS_Z(m, mask, v) }, func(m Mem, v VecVirtual) { VMOVSS(m, v) })
	ptr := make([]GPVirtual, rows)
	x, off := loadGP("x"), loadGP("rows")
	for i := range ptr {
		ptr[i] = GP64()
		MOVLQSX(Mem{Base: off, Disp: 4 * i}, ptr[i])
		LEAQ(Mem{Base: x, Index: ptr[i], Scale: 4}, ptr[i])
	}
	pos, g := [2]GPVirtual{loadGP("pos0"), loadGP("pos1")}, [2]GPVirtual{loadGP("grad0"), loadGP("grad1")}
	j, n := GP64(), GP64()
	add := func(i int) {
		at, gv := GP64(), YMM()
		MOVLQSX(Mem{Base: pos[i], Index: j, Scale: 4}, at)
		VBROADCASTSS(Mem{Base: g[i], Index: j, Scale: 4}, gv)
		VADDSS(gv.AsX(), sum[i], sum[i])
		for r, v := range acc[i] {
			t := YMM()
			VMOVUPS_Z(Mem{Base: ptr[r], Index: at, Scale: 4}, mask, t)
			VFMADD231PS(t, gv, v)
		}
	}
	XORQ(j, j)
	Load(Param("n0"), n)
	{
		other := loadGP("n1")
		CMPQ(other, n)
		CMOVQLT(other, n)
	}
	CMPQ(j, n)
	JGE(LabelRef("first"))
	Label("both")
	add(0)
	add(1)
	INCQ(j)
	CMPQ(j, n)
	JL(LabelRef("both"))
	for i, name := range []string{"first", "second"} {
		next := []string{"second", "done"}[i]
		Label(name)
		Load(Param(fmt.Sprintf("n%d", i)), n)
		CMPQ(j, n)
		JGE(LabelRef(next))
		Label(name + "Loop")
		add(i)
		INCQ(j)
		CMPQ(j, n)
		JL(LabelRef(name + "Loop"))
	}
	Label("done")
	each(func(m Mem, v VecVirtual) { VMOVUPS(v, mask, m) }, func(m Mem, v VecVirtual) { VMOVSS(v, m) })
	VZEROUPPER()
	RET()
}
