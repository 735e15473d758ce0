package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
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
	scale, decay, beta1, gain1, beta2, gain2, keep, rate, root, ep := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9]
	elementwise(1, []string{"w", "m", "v", "d"}, func(l lane) {
		g, w := l.load("d"), l.load("w")
		VMULPS(scale, g, g)
		VFMADD231PS(decay, w, g)
		m := l.load("m")
		VMULPS(beta1, m, m)
		VFMADD231PS(gain1, g, m)
		l.store(m, "m")
		v := l.load("v")
		VMULPS(g, g, g)
		VMULPS(gain2, g, g)
		VFMADD231PS(beta2, v, g)
		l.store(g, "v")
		VSQRTPS(g, g)
		VFMADD213PS(ep, root, g)
		VMULPS(rate, m, m)
		VDIVPS(g, m, m)
		VFMSUB213PS(m, keep, w)
		l.store(w, "w")
	})

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
