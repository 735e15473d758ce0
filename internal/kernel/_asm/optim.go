package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func optimGroup() {
	masks = maskTable()

	function("adamAVX2", "func(w, m, v, d, f *float32, n int)",
		"adamAVX2 computes, for i < n, with the factors f of type adamFactors,",
		"",
		"\tg = scale*d[i] + decay*w[i]",
		"\tm[i] = beta1*m[i] + gain1*g",
		"\tv[i] = beta2*v[i] + gain2*g*g",
		"\tw[i] = keep*w[i] - rate*m[i]/(sqrt(v[i])*root + ep)")
	flushSubnormals()
	f := loadGP("f")
	c := ymms(10)
	for i := range c {
		VBROADCASTSS(Mem{Base: f, Disp: 4 * i}, c[i])
	}
	elementwise(1, []string{"w", "m", "v", "d"}, func(l lane) { adam(c, l.load, l.store) })

	adamAVX512()

	function("sgdAVX2", "func(w, v, d, f *float32, n int)",
		"sgdAVX2 computes, for i < n, with the factors f of type sgdFactors,",
		"",
		"\tg = scale*d[i] + decay*w[i]",
		"\tv[i] = momentum*v[i] + g",
		"\tw[i] -= fromV*v[i] + fromG*g")
	flushSubnormals()
	f = loadGP("f")
	c = ymms(5)
	for i := range c {
		VBROADCASTSS(Mem{Base: f, Disp: 4 * i}, c[i])
	}
	elementwise(1, []string{"w", "v", "d"}, func(l lane) {
		g, w, v := l.load("d"), l.load("w"), l.load("v")
		VMULPS(c[0], g, g)
		VFMADD231PS(c[1], w, g)
		VFMADD213PS(g, c[2], v)
		l.store(v, "v")
		VFNMADD231PS(c[3], v, w)
		VFNMADD231PS(c[4], g, w)
		l.store(w, "w")
	})
}

// adam generates a step for the elements that load loads, with the factors c.
func adam(c []VecVirtual, load func(name string) VecVirtual, store func(v VecVirtual, name string)) {
	scale, decay, beta1, gain1, beta2, gain2, keep, rate, root, ep := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9]
	g, w := load("d"), load("w")
	VMULPS(scale, g, g)
	VFMADD231PS(decay, w, g)
	m := load("m")
	VMULPS(beta1, m, m)
	VFMADD231PS(gain1, g, m)
	store(m, "m")
	v := load("v")
	VMULPS(g, g, g)
	VMULPS(gain2, g, g)
	VFMADD231PS(beta2, v, g)
	store(g, "v")
	VSQRTPS(g, g)
	VFMADD213PS(ep, root, g)
	VMULPS(rate, m, m)
	VDIVPS(g, m, m)
	VFMSUB213PS(m, keep, w)
	store(w, "w")
}

// adamAVX512 generates the steps of adamAVX2 for sixteen elements at a time.
func adamAVX512() {
	function("adamAVX512", "func(w, m, v, d, f *float32, n int)", "adamAVX512 is adamAVX2 to the bit, for n ≥ 1.")
	flushSubnormals()
	f := loadGP("f")
	c := zmms(10)
	for i := range c {
		VBROADCASTSS(Mem{Base: f, Disp: 4 * i}, c[i])
	}
	ptr, n := map[string]GPVirtual{}, loadGP("n")
	for _, name := range []string{"w", "m", "v", "d"} {
		ptr[name] = loadGP(name)
	}
	chunk16("elements", n, func(live Register) {
		adam(c, func(name string) VecVirtual {
			x := ZMM()
			VMOVUPS_Z(Mem{Base: ptr[name]}, live, x)
			return x
		}, func(x VecVirtual, name string) { VMOVUPS(x, live, Mem{Base: ptr[name]}) })
	}, ptr["w"], ptr["m"], ptr["v"], ptr["d"])
	restoreMode()
	VZEROUPPER()
	RET()
}
